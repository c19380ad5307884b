//! The model of a session: what was chosen, and what really runs.

use omniglot_schema::{AgentModelInfo, SessionState};

use super::{Harness, prompt};
use crate::claude::settings::preview_settings;
use crate::contract::{Carryover, Command, Input, Open, SettingsRequest};

const LISTS: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-1","response":{"models":[{"value":"default","resolvedModel":"claude-opus-5-5"},{"value":"opus","resolvedModel":"claude-opus-5-5"},{"value":"haiku","resolvedModel":"claude-haiku-5-5"}]}}}"#;

/// An open session that was started with this model, if any.
fn with(model: Option<&str>) -> Harness {
    let mut harness = Harness::default();
    let mut argv = vec!["claude".to_owned(), "--session-id".to_owned(), "s".to_owned()];
    argv.extend(model.into_iter().flat_map(|model| ["--model".to_owned(), model.to_owned()]));
    harness.step(Input::Started { argv: &argv, carryover: &Carryover::default() });
    harness.command(&Command::Open(Open { cwd: "/w".into(), ..Open::default() })).hear(LISTS);
    harness
}

/// The models that the state was said to have, when a turn begins with this one.
fn told(harness: &mut Harness, full_name: &str) -> Vec<String> {
    harness.command(&prompt("hi"));
    harness.hear(&format!(
        r#"{{"type":"system","subtype":"init","session_id":"s","model":"{full_name}","permissionMode":"default"}}"#
    ));
    harness.result("");
    let state = |line: &str| serde_json::from_str::<serde_json::Value>(line.strip_prefix("state ")?).ok();
    let said = harness.said();
    said.lines().filter_map(state).filter_map(|state| Some(state["model"].as_str()?.to_owned())).collect()
}

#[test]
fn a_model_that_nobody_chose_is_told_when_it_runs_by_its_id_in_the_list() {
    assert_eq!(told(&mut with(None), "claude-opus-5-5"), ["default"]);
    assert_eq!(told(&mut with(None), "claude-haiku-5-5"), ["haiku"]);
    assert_eq!(told(&mut with(None), "claude-other-1"), ["claude-other-1"]);
}

#[test]
fn a_chosen_model_stays_by_its_name_while_it_runs_and_gives_way_to_what_runs_instead() {
    let mut harness = with(Some("opus"));
    assert_eq!(told(&mut harness, "claude-opus-5-5"), ["opus"]);
    assert_eq!(told(&mut harness, "claude-opus-5-5"), [""; 0]);
    assert_eq!(told(&mut harness, "claude-haiku-5-5"), ["haiku"]);
    assert_eq!(told(&mut harness, "claude-haiku-5-5"), [""; 0]);
}

#[test]
fn a_chosen_model_that_is_not_listed_is_kept_unless_its_full_name_is_contradicted() {
    let mut alias = with(Some("opusplan"));
    assert_eq!(told(&mut alias, "claude-opus-5-5"), ["opusplan"]);
    assert_eq!(told(&mut alias, "claude-haiku-5-5"), [""; 0]);
    let mut full_name = with(Some("claude-old-4"));
    assert_eq!(told(&mut full_name, "claude-old-4-20240101"), ["claude-old-4"]);
    assert_eq!(told(&mut full_name, "claude-haiku-5-5"), ["haiku"]);
}

#[test]
fn the_default_is_asked_for_although_nothing_else_was_chosen() {
    let mut harness = with(None);
    harness.said();
    let requested = SettingsRequest { model: Some("default".into()), ..SettingsRequest::default() };
    harness.command(&Command::Configure(requested.clone()));
    insta::assert_snapshot!(harness.said(), @r#"send {"type":"control_request","request_id":"omniglot-2","request":{"subtype":"set_model"}}"#);
    harness.hear(r#"{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-2","response":{"model":"claude-opus-5-5"}}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    state {"model":"default"}
    configured
    "#);
    harness.command(&Command::Configure(requested));
    insta::assert_snapshot!(harness.said(), @"configured");
}

/// B9: the list has short names, and not all of them.
#[test]
fn names_that_the_cli_takes_without_listing_them_pass_with_a_warning() {
    let info =
        |id: &str| AgentModelInfo { id: id.to_owned(), name: None, variants: None, default_variant: None };
    let models = Some(vec![info("default"), info("sonnet")].into());
    let state = SessionState { models, ..SessionState::default() };
    let warnings = |model: &str| {
        let requested = SettingsRequest { model: Some(model.into()), ..SettingsRequest::default() };
        let preview = preview_settings(&state, &requested).map_err(|refusal| refusal.message)?;
        Ok::<_, String>(preview.warnings.len())
    };
    assert_eq!(warnings("sonnet"), Ok(0));
    for taken in ["opusplan", "sonnet[1m]", "claude-opus-4-1-20250805", "us.anthropic.claude-haiku-4-5"] {
        assert_eq!(warnings(taken), Ok(1), "{taken}");
    }
    let refused = "the agent does not list the model sonet; did you mean sonnet?";
    assert_eq!(warnings("sonet"), Err(refused.to_owned()));
}
