//! The agent's requests to a person: questions, the approval of a plan, permissions.

use std::path::Path;

use omniglot_schema::{
    ContentPart, CreateSessionRequest, Decide, EventData, McpCommand, McpServerConfig, PermissionReply,
    PermissionStatus, QuestionStatus, QueueOnCancel, ResolvedBy, Rule, SessionState, StopReason,
    UniversalEventType,
};
use omniglot_testkit::agents::mcp_server;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Reply, Request};
use omniglot_testkit::session_driver::{SessionDriver, Turn};
use serde_json::json;

use super::CLAUDE;
use super::follow::{answered, is, question_after, rejected, turn_after};

fn two_questions() -> Reply {
    let option = |label: &str| json!({"label": label, "description": format!("{label} it is.")});
    Reply::tool(
        "AskUserQuestion",
        json!({"questions": [
            {"question": "Which colour?", "header": "Colour", "multiSelect": false,
             "options": [option("Red"), option("Blue")]},
            {"question": "Which checks?", "header": "Checks", "multiSelect": true,
             "options": [option("fmt"), option("clippy"), option("test")]},
        ]}),
    )
}

fn permission_resolution(turn: &Turn) -> (PermissionStatus, Option<String>) {
    let resolved = turn.events.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => Some(data),
        _ => None,
    });
    let resolved = resolved.expect("a resolution");
    (resolved.status, resolved.metadata.as_ref().and_then(|metadata| metadata.message.clone()))
}

fn question_status(turn: &Turn) -> QuestionStatus {
    let resolved = turn.events.iter().find_map(|event| match &event.data {
        EventData::QuestionResolved(data) => Some(data.status),
        _ => None,
    });
    resolved.expect("a resolution")
}

/// Questions are answered with one and with several choices.
#[tokio::test]
async fn questions() {
    let fixture = CLAUDE.fixture([two_questions(), Reply::text("Red, with two checks.")]).await;
    let (asked, turn) = answered(&fixture, "Ask me.", &[&["Red"], &["fmt", "test"]]).await;
    let questions = &asked.metadata.as_ref().unwrap().questions;
    let shapes: Vec<_> = questions.iter().map(|q| (q.options.len(), q.multi_select, q.free_text)).collect();
    assert_eq!(shapes, [(2, false, true), (3, true, true)]);
    assert_eq!(questions[0].options[0].description.as_deref(), Some("Red it is."));
    assert_eq!(
        (turn.text().as_str(), question_status(&turn)),
        ("Red, with two checks.", QuestionStatus::Answered)
    );
    let heard = fixture.model.last().tool_results().concat();
    assert!(heard.contains("Red") && heard.contains("fmt, test"), "{heard}");
}

#[tokio::test]
async fn a_question_takes_an_answer_beside_its_options() {
    let fixture = CLAUDE.fixture([two_questions(), Reply::text("Green.")]).await;
    let (_, turn) = answered(&fixture, "Ask me.", &[&["Green, rather"]]).await;
    assert_eq!(turn.text(), "Green.", "{turn}");
    let heard = fixture.model.last().tool_results().concat();
    assert!(heard.contains("Green, rather"), "{heard}");
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_told_to_the_model() {
    let fixture = CLAUDE.fixture([two_questions(), Reply::text("Then I decide.")]).await;
    let session = &fixture.session;
    session.post("Ask me.").await;
    let asked = question_after(&fixture, 0).await;
    session.client.reject_question(&session.id, asked.question_id.as_str()).await.unwrap();
    let turn = turn_after(&fixture, 0).await;
    assert_eq!((turn.text().as_str(), question_status(&turn)), ("Then I decide.", QuestionStatus::Rejected));
    assert!(fixture.model.last().tool_results().concat().contains("did not answer"), "{turn}");
}

/// Opens a session in plan mode.
async fn planning() -> Fixture {
    CLAUDE.fixture_with([], |request| request.agent_mode = Some("plan".to_owned())).await
}

async fn state(fixture: &Fixture) -> SessionState {
    fixture.session.client.detail(&fixture.session.id).await.unwrap().state
}

/// Returns the file that the agent instructed the model to write its plan to.
fn plan_file(request: &Request) -> String {
    let body = request.body.to_string();
    let folder = body.find("/.claude/plans/").expect("a file for the plan");
    let begin = body[..folder].rfind(|c: char| c.is_whitespace() || "`\"'(".contains(c)).unwrap() + 1;
    let end = body[folder..].find(".md").unwrap() + folder + 3;
    body[begin..end].to_owned()
}

/// An approved plan ends plan mode.
#[tokio::test]
async fn plan_to_approve() {
    let fixture = planning().await;
    assert_eq!(state(&fixture).await.agent_mode.as_deref(), Some("plan"));
    fixture.answered("Look around.", Reply::text("I looked.")).await;
    let file = plan_file(&fixture.model.last());
    fixture.model.push((CLAUDE.write)(Path::new(&file), "1. Count the walruses.\n"));
    fixture.model.push(Reply::tool("ExitPlanMode", json!({})));
    fixture.model.push(Reply::text("I begin."));
    let (asked, turn) = answered(&fixture, "Plan it.", &[&["Approve"]]).await;
    assert_eq!(asked.options, ["Approve", "Keep planning"]);
    let shown = asked.metadata.as_ref().unwrap().questions[0].detail.clone();
    assert!(shown.is_some_and(|plan| plan.contains("Count the walruses.")), "{turn}");
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("I begin.", StopReason::EndTurn), "{turn}");
    let state = state(&fixture).await;
    let modes = (state.agent_mode.as_deref(), state.permission_mode.as_deref());
    assert_eq!(modes, (Some("build"), Some("default")));
    assert!(state.plan.is_some_and(|plan| plan.text.contains("Count the walruses.")));
}

/// The plan is submitted with the call, and in no file.
#[tokio::test]
async fn a_plan_that_is_sent_back_keeps_the_agent_planning() {
    let fixture = planning().await;
    fixture.model.push(Reply::tool("ExitPlanMode", json!({"plan": "1. Count the walruses."})));
    fixture.model.push(Reply::text("I think again."));
    let (asked, turn) = answered(&fixture, "Plan it.", &[&["Count the seals, too."]]).await;
    let shown = asked.metadata.as_ref().unwrap().questions[0].detail.as_deref();
    assert_eq!(shown, Some("1. Count the walruses."), "{turn}");
    assert_eq!(turn.text(), "I think again.", "{turn}");
    let heard = fixture.model.last().tool_results().concat();
    assert!(heard.contains("Count the seals, too."), "{heard}");
    assert_eq!(state(&fixture).await.agent_mode.as_deref(), Some("plan"));
}

#[tokio::test]
async fn a_form_of_an_mcp_server_is_a_question() {
    let mut command = mcp_server();
    *command.last_mut().unwrap() =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_claude/asking_mcp.mjs").into();
    let server = McpServerConfig::Local {
        command: McpCommand::Line(command),
        args: vec![],
        cwd: None,
        env: None,
        enabled: None,
        timeout_ms: None,
    };
    let with_server = |request: &mut CreateSessionRequest| {
        request.mcp = Some([("asker".to_owned(), server)].into_iter().collect());
        request.permission_mode = Some("acceptEdits".to_owned());
    };
    let call = Reply::tool("mcp__asker__choose", json!({}));
    let fixture = CLAUDE.fixture_with([call, Reply::text("A seal, then.")], with_server).await;
    let session = &fixture.session;
    session.post("Let me choose.").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(asked) = asked.data else { panic!("a permission") };
    session.reply(asked.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    let asked = question_after(&fixture, 0).await;
    assert_eq!(asked.options, ["walrus", "seal"]);
    let answers = omniglot_schema::QuestionReplyRequest { answers: vec![vec!["seal".to_owned()]] };
    session.client.reply_question(&session.id, asked.question_id.as_str(), &answers).await.unwrap();
    let turn = turn_after(&fixture, 0).await;
    assert!(turn.outputs().concat().contains("chosen: seal"), "{turn}");
    assert_eq!(question_status(&turn), QuestionStatus::Answered);
}

/// A rejection with a message tells the model why.
#[tokio::test]
async fn permissions_reject_with_words() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("made");
    fixture.model.push((CLAUDE.make)(&file));
    fixture.model.push(Reply::text("I will not touch it."));
    let turn = rejected(&fixture, "Make a file.", Some("We have enough files.")).await;
    assert_eq!(turn.text(), "I will not touch it.", "{turn}");
    let told = (PermissionStatus::Reject, Some("We have enough files.".to_owned()));
    assert_eq!(permission_resolution(&turn), told);
    assert!(fixture.model.last().tool_results().concat().contains("We have enough files."), "{turn}");
    assert!(!file.exists());
}

/// Rules decide what Claude asks for, before anybody is asked; the model is told which rule has denied it.
#[tokio::test]
async fn a_rule_denies_and_a_rule_allows_without_a_person() {
    for (decide, status) in
        [(Decide::Deny, PermissionStatus::Reject), (Decide::Allow, PermissionStatus::Accept)]
    {
        let fixture =
            CLAUDE.fixture_with([], |request| request.rules = vec![Rule::new("night", decide)]).await;
        let file = fixture.file("made");
        fixture.model.push((CLAUDE.make)(&file));
        fixture.model.push(Reply::text("That was it."));
        fixture.session.post("Make a file.").await;
        fixture.session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
        let events = fixture.session.history().await;
        let resolved = events.iter().find_map(|event| match &event.data {
            EventData::PermissionResolved(data) => Some(data),
            _ => None,
        });
        let resolved = resolved.expect("a resolution");
        let metadata = resolved.metadata.as_ref().unwrap();
        let told = (resolved.status, metadata.resolved_by, metadata.rule.as_deref());
        assert_eq!(told, (status, Some(ResolvedBy::Policy), Some("night")));
        assert_eq!(file.exists(), decide == Decide::Allow);
        let results = fixture.model.last().tool_results().concat();
        assert_eq!(results.contains("denied by the rule `night`"), decide == Decide::Deny, "{results}");
        let stats = fixture.daemon.client.detail(&fixture.session.id).await.unwrap().stats;
        assert_eq!(stats.unparsed, 0);
    }
}

#[tokio::test]
async fn a_permission_for_the_session_is_gone_in_another_session() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("made");
    for reply in [(CLAUDE.make)(&file), Reply::text("Done.")] {
        fixture.model.push(reply);
    }
    let turn = fixture.session.turn("Make it.", PermissionReply::Always).await;
    assert_eq!(permission_resolution(&turn).0, PermissionStatus::AcceptForSession);
    let request = CreateSessionRequest::new(fixture.agent.name());
    let other = SessionDriver::create_with(&fixture.daemon.client, "other", &request).await;
    for reply in [(CLAUDE.make)(&file), Reply::text("Done.")] {
        fixture.model.push(reply);
    }
    let turn = other.turn("Make it again.", PermissionReply::Once).await;
    assert_eq!(turn.asked().len(), 1, "{turn}");
}

#[tokio::test]
async fn a_permission_for_an_edit_shows_what_it_would_change() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("notes.txt");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    for reply in [(CLAUDE.read)(&file), (CLAUDE.edit)(&file, "two", "zwei"), Reply::text("Edited.")] {
        fixture.model.push(reply);
    }
    let turn = fixture.turn("Translate it.").await;
    let [asked] = turn.asked()[..] else { panic!("one permission:\n{turn}") };
    let files = &asked.metadata.as_ref().unwrap().files;
    let [ContentPart::FileRef { diff: Some(diff), .. }] = &files[..] else { panic!("{files:?}") };
    assert!(diff.contains("-two") && diff.contains("+zwei"), "{diff}");
}

#[tokio::test]
async fn a_cancel_while_the_agent_asks_a_question_rejects_it() {
    let fixture = CLAUDE.fixture([two_questions()]).await;
    let session = &fixture.session;
    session.post("Ask me.").await;
    session.wait_for(0, is(UniversalEventType::QuestionRequested)).await;
    session.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let turn = turn_after(&fixture, 0).await;
    assert_eq!(
        (turn.stop_reason(), question_status(&turn)),
        (StopReason::Cancelled, QuestionStatus::Rejected)
    );
    let next = fixture.answered("Go on.", Reply::text("On.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("On.", StopReason::EndTurn), "{next}");
}
