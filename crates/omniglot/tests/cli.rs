//! The real binary, as a person or a script uses it.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "cli/agents.rs"]
mod agents;
#[path = "cli/answer.rs"]
mod answer;
#[path = "cli/attach.rs"]
mod attach;
#[path = "cli/daemon.rs"]
mod daemon;
#[path = "cli/harness.rs"]
mod harness;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/newcomer.rs"]
mod newcomer;
#[path = "cli/portable.rs"]
mod portable;
#[path = "cli/questions.rs"]
mod questions;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/sessions.rs"]
mod sessions;
#[path = "cli/settings.rs"]
mod settings;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/tokens.rs"]
mod tokens;
#[path = "cli/ui.rs"]
mod ui;

use harness::{Finished, Harness};
use omniglot_schema::{ErrorCode, EventData, PermissionStatus, StopReason, UniversalEvent};
use omniglot_testkit::validate::assert_lawful;

#[test]
fn a_run_as_json_is_a_lawful_stream_from_its_beginning() {
    let harness = Harness::new();
    let run =
        harness.run(&["--scratch", "--approve", "once", "--json", "Read README.md and add a line [[demo]]"]);
    let events = run.exited(0).events();
    assert_lawful(&events);
    assert_eq!(stop_reason(&events), StopReason::EndTurn);
    assert!(resolved(&events).contains(&PermissionStatus::Accept), "{run:?}");
}

#[test]
fn a_readable_run_shows_calls_permission_diff_and_a_closing_line() {
    let harness = Harness::new();
    let run = harness.run(&["--scratch", "--approve", "once", "[[demo]]"]);
    let out = &run.exited(0).stdout;
    for words in [
        "● ",
        "? permission: ",
        "@@ ",
        "✓ allowed once",
        "── end_turn · ",
        " tokens",
        "the project stays in ",
    ] {
        assert!(out.contains(words), "{words:?} is missing in\n{out}");
    }
    assert!(!out.contains('\x1b'), "colours without a terminal:\n{out}");
}

#[test]
fn a_scratch_project_is_kept_with_the_edit() {
    let harness = Harness::new();
    let run = harness.run(&["--scratch", "--approve", "once", "[[edit]]"]);
    let place =
        run.exited(0).stdout.lines().find_map(|line| line.strip_prefix("the project stays in ")).unwrap();
    let readme = std::fs::read_to_string(format!("{place}/README.md")).unwrap();
    let diff: Vec<&str> = run.stdout.lines().filter_map(|line| line.strip_prefix("  +")).collect();
    assert_eq!(diff.len(), 1, "{run:?}");
    assert!(readme.lines().any(|line| line == diff[0]), "{diff:?} is not in\n{readme}");
}

#[test]
fn exit_codes_tell_how_a_turn_ended() {
    let harness = Harness::new();
    for (word, code, shown) in [
        ("[[text]]", 0, "── end_turn"),
        ("[[error:api]]", 1, "✗ error api_error: "),
        ("[[crash]]", 1, "✗ error agent_crashed: "),
        ("[[stop:max_tokens]]", 3, "── max_tokens"),
        ("[[stop:refusal]]", 3, "── refusal"),
    ] {
        let run = harness.run(&[word]);
        assert!(run.exited(code).stdout.contains(shown), "{word}: {run:?}");
    }
}

#[test]
fn usage_errors_exit_with_2_and_say_what_to_do() {
    let harness = Harness::new();
    for (args, words) in [
        (&["--approve", "maybe", "x"][..], "possible values: once, always, reject, ask"),
        (&["--session", "a b", "x"], "--session a b: a session id has"),
        (&["--cwd", "/no/such/place", "x"], "--cwd /no/such/place: "),
        (&["--config", "/no/such.toml", "x"], "/no/such.toml: no such file"),
        (&["  "], "the prompt is empty"),
        (&[], "PROMPT"),
    ] {
        let run = harness.run(args);
        assert!(run.exited(2).stderr.contains(words), "{args:?}: {run:?}");
    }
}

#[test]
fn an_agent_that_nobody_knows_is_refused_with_the_known_ones() {
    let harness = Harness::new();
    let run = harness.run(&["--agent", "nobody", "x"]);
    assert!(run.exited(2).stderr.contains("known agents: mock"), "{run:?}");
    assert!(run.stderr.contains("`omniglot agents list` shows all"), "{run:?}");
}

/// B9, B18: a typing error is no other model, and no agent.
#[test]
fn a_wrong_model_or_agent_ends_the_run_with_the_nearest_name() {
    let harness = Harness::new();
    let run = harness.run(&["--agent", "claud", "x"]);
    assert!(run.exited(2).stderr.contains("no agent claud; did you mean claude"), "{run:?}");
    let run = harness.run(&["--model", "mock-lage", "x"]);
    assert!(run.exited(2).stderr.contains("mock-lage; did you mean mock-large?"), "{run:?}");
    assert!(run.stderr.contains("--force-model"), "{run:?}");
    // It is passed, and this agent refuses it.
    let run = harness.run(&["--model", "mock-lage", "--force-model", "x"]);
    assert!(run.exited(2).stderr.contains("the agent refused the setting model"), "{run:?}");
}

#[test]
fn without_a_terminal_permissions_are_rejected_and_the_run_says_so_once() {
    let harness = Harness::new();
    let run = harness.run(&["--json", "[[permission]] [[permission]]"]);
    assert_eq!(run.exited(0).stderr.matches("there is no terminal to ask at").count(), 1, "{run:?}");
    let resolved = resolved(&run.events());
    assert_eq!(resolved, [PermissionStatus::Reject; 2], "{run:?}");
}

#[test]
fn prepared_answers_on_stdin_are_taken_in_order_and_their_end_rejects() {
    let harness = Harness::new();
    let mut command =
        harness.command(&["run", "--json", "--approve", "ask", "[[permission]] [[permission]]"]);
    let run = Finished::of_input(&mut command, "what?\no\n");
    assert_eq!(
        resolved(&run.exited(0).events()),
        [PermissionStatus::Accept, PermissionStatus::Reject],
        "{run:?}"
    );
    assert!(
        run.stderr.contains("[o]nce, [a]lways, [r]eject?") && run.stderr.contains("type o, a or r"),
        "{run:?}"
    );
}

#[test]
fn a_prompt_can_come_from_stdin() {
    let harness = Harness::new();
    let run = Finished::of_input(&mut harness.command(&["run", "-"]), "[[stop:max_tokens]]\n");
    run.exited(3);
}

#[test]
fn a_named_session_goes_on() {
    let harness = Harness::new();
    harness.run(&["--session", "s1", "my favourite colour is teal [[text]]"]).exited(0);
    let run = harness.run(&["--session", "s1", "--json", "[[recall]]"]);
    let events = run.exited(0).events();
    assert!(matches!(events[0].data, EventData::TurnStarted(_)), "only the new turn is shown: {run:?}");
    assert!(run.stdout.contains("teal"), "{run:?}");
    let other = harness.run(&["--session", "s1", "--agent", "other", "x"]);
    assert!(other.exited(2).stderr.contains("its agent is mock"), "{other:?}");
}

#[test]
fn a_named_session_goes_on_with_another_model_and_mode() {
    let harness = Harness::new();
    harness.run(&["--session", "s1", "[[text:1]]"]).exited(0);
    let changed = ["--session", "s1", "--model", "mock-large", "--permission-mode", "bypass"];
    let run = harness.run(&[&changed[..], &["--json", "[[permission]]"]].concat());
    let events = run.exited(0).events();
    assert!(resolved(&events).is_empty(), "{run:?}");
    let large = events.iter().any(|event| match &event.data {
        EventData::TurnEnded(end) => end.metadata.model.as_deref() == Some("mock-large"),
        _ => false,
    });
    assert!(large, "{run:?}");
    let wild = harness.run(&["--session", "s1", "--permission-mode", "wild", "[[text:1]]"]);
    assert!(wild.stderr.contains("its modes are default, acceptEdits, plan, bypass"), "{wild:?}");
    wild.exited(2);
}

#[test]
fn a_bad_configuration_is_refused_with_line_and_column() {
    let harness = Harness::new();
    harness.configure("default_agent = \"mock\"\n[agents.x]\nprotocol = \"acp\"\ncomand = [\"x\"]\n");
    for command in ["run", "serve"] {
        let args = if command == "run" { vec!["run", "x"] } else { vec!["serve", "--port", "0"] };
        let finished = Finished::of(&mut harness.command(&args));
        let stderr = &finished.exited(2).stderr;
        assert!(
            stderr.contains("omniglot.toml:4:1: unknown key `comand`; did you mean `command`?"),
            "{finished:?}"
        );
        assert!(stderr.contains("`command`"), "{finished:?}");
    }
}

#[test]
fn a_custom_acp_agent_works_and_can_be_the_default() {
    let harness = Harness::new();
    let program = env!("CARGO_BIN_EXE_omniglot");
    harness.configure(&format!(
        "default_agent = \"mine\"\n[agents.mine]\nprotocol = \"acp\"\ncommand = [{program:?}, \"mock-agent\"]\n"
    ));
    let run = harness.run(&["[[text]]"]);
    assert!(run.exited(0).stdout.starts_with("mine · session run-"), "{run:?}");
}

#[test]
fn an_agent_that_has_forgotten_its_session_says_so() {
    let harness = Harness::new();
    let program = env!("CARGO_BIN_EXE_omniglot");
    // Without a state directory the built-in agent loses its memory with its process.
    harness
        .configure(&format!("[agents.mine]\nprotocol = \"acp\"\ncommand = [{program:?}, \"mock-agent\"]\n"));
    harness.run(&["--agent", "mine", "--session", "m1", "[[text]]"]).exited(0);
    let run = harness.run(&["--session", "m1", "[[recall]]"]);
    assert!(run.exited(0).stdout.contains("does not remember what was said before"), "{run:?}");
}

#[test]
fn an_agent_whose_program_is_missing_is_named_with_the_fix() {
    let harness = Harness::new();
    harness.configure("[agents.gone]\nprotocol = \"acp\"\ncommand = [\"/no/such/program\"]\n");
    let run = harness.run(&["--agent", "gone", "x"]);
    let stderr = &run.exited(1).stderr;
    assert!(stderr.contains("/no/such/program") && stderr.contains("[agents.gone]"), "{run:?}");
}

#[test]
fn ctrl_c_cancels_the_turn() {
    let harness = Harness::new();
    let mut run = harness.start(&["run", "--json", "[[silence]]"]);
    let mut events = run.events_until(is_user_item);
    run.interrupt();
    let finished = run.finish();
    events.extend(finished.exited(130).events());
    assert_lawful(&events);
    assert_eq!(stop_reason(&events), StopReason::Cancelled);
}

#[test]
fn ctrl_c_twice_leaves_an_agent_that_does_not_listen() {
    let harness = Harness::new();
    let mut run = harness.start(&["run", "--json", "[[deaf]]"]);
    run.events_until(
        |event| matches!(&event.data, EventData::ItemDelta(data) if data.delta.contains("hear")),
    );
    run.interrupt();
    run.wait_for_stderr("once more ends the session");
    run.interrupt();
    run.finish().exited(130);
}

#[test]
fn a_run_uses_the_daemon_that_owns_the_data() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "shared", "[[text]]"]).exited(0);
    let sessions = daemon.get("/v1/sessions");
    assert!(sessions.contains("\"shared\""), "{sessions}");
    daemon.stop().exited(0);
}

#[test]
fn a_run_outlives_its_daemon_and_tells_how_the_turn_ended() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let mut run = harness.start(&["run", "--json", "[[silence]]"]);
    let mut events = run.events_until(is_user_item);
    daemon.kill();
    run.wait_for_stderr("looking for it again");
    // The command has not become the daemon itself: another one can.
    let daemon = harness.serve(&[]);
    let finished = run.finish();
    daemon.stop().exited(0);
    events.extend(finished.exited(1).events());
    assert_lawful(&events);
    assert_eq!(events.iter().find_map(error_code), Some(ErrorCode::DaemonRestarted), "{finished:?}");
}

#[test]
fn two_runs_at_once_share_one_daemon() {
    let harness = Harness::new();
    let first = harness.start(&["run", "[[text:2000]]"]);
    let second = harness.start(&["run", "[[text:2000]]"]);
    first.finish().exited(0);
    second.finish().exited(0);
}

#[test]
fn a_run_takes_the_place_of_the_run_that_served_it() {
    let harness = Harness::new();
    let mut first = harness.start(&["run", "--json", "[[silence]]"]);
    first.events_until(is_user_item);
    let mut second = harness.start(&["run", "--json", "[[silence]]"]);
    let mut events = second.events_until(is_user_item);
    first.kill();
    let finished = second.finish();
    events.extend(finished.exited(1).events());
    assert_lawful(&events);
    assert_eq!(events.iter().find_map(error_code), Some(ErrorCode::DaemonRestarted), "{finished:?}");
}

#[test]
fn the_api_description_is_printed() {
    let harness = Harness::new();
    let finished = Finished::of(&mut harness.command(&["openapi"]));
    let document: serde_json::Value = serde_json::from_str(&finished.exited(0).stdout).unwrap();
    assert!(document["paths"]["/v1/sessions/{session_id}"].is_object());
    assert!(finished.stdout.ends_with("}\n"));
}

fn stop_reason(events: &[UniversalEvent]) -> StopReason {
    match &events.last().unwrap().data {
        EventData::TurnEnded(data) => data.metadata.stop_reason,
        other => panic!("{other:?}"),
    }
}

fn error_code(event: &UniversalEvent) -> Option<ErrorCode> {
    match &event.data {
        EventData::Error(data) => data.code,
        _ => None,
    }
}

fn resolved(events: &[UniversalEvent]) -> Vec<PermissionStatus> {
    let status = |event: &UniversalEvent| match &event.data {
        EventData::PermissionResolved(data) => Some(data.status),
        _ => None,
    };
    events.iter().filter_map(status).collect()
}

fn is_user_item(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::ItemCompleted(data) if data.item.role == Some(omniglot_schema::ItemRole::User))
}
