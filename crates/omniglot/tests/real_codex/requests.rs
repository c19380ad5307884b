//! Codex's requests to a person: commands, patches, tools of MCP servers, questions; and every way to answer.

use omniglot_schema::{
    CreateSessionRequest, EventData, McpCommand, McpServerConfig, PermissionReply, PermissionReplyRequest,
    PermissionStatus, QuestionReplyRequest, QueueOnCancel, ResolvedBy, StopReason, UniversalEvent,
    UniversalEventType,
};
use omniglot_testkit::agents::{RealAgent, mcp_server};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Model, Reply, Request};
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::text_of;
use serde_json::json;

use crate::{CODEX, CUT, ended_so, escalated, is};

/// Returns the resolutions of a session's permissions, in order.
fn resolutions(events: &[UniversalEvent]) -> Vec<(PermissionStatus, Option<ResolvedBy>)> {
    let resolved = events.iter().filter_map(|event| match &event.data {
        EventData::PermissionResolved(data) => {
            Some((data.status, data.metadata.as_ref().and_then(|metadata| metadata.resolved_by)))
        }
        _ => None,
    });
    resolved.collect()
}

fn touch(fixture: &Fixture, name: &str) -> Reply {
    escalated(&format!("touch {}", fixture.file(name).display()))
}

#[tokio::test]
async fn a_command_that_leaves_the_sandbox_runs_when_it_is_accepted() {
    let fixture = CODEX.fixture([]).await;
    fixture.model.push(touch(&fixture, "made"));
    let turn = fixture.answered("Make it.", Reply::text("Made.")).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Made.", StopReason::EndTurn), "{turn}");
    let [asked] = turn.asked().try_into().unwrap_or_else(|_| panic!("one permission:\n{turn}"));
    let metadata = asked.metadata.as_ref().unwrap();
    assert!(asked.action.contains("touch"), "{turn}");
    assert_eq!(metadata.detail.as_deref(), Some("May I?"), "{turn}");
    assert!(metadata.pattern.as_deref().is_some_and(|pattern| pattern.contains("touch")), "{turn}");
    assert!(metadata.item_id.is_some(), "{turn}");
    assert!(fixture.file("made").exists(), "{turn}");
    let person = Some(ResolvedBy::Person);
    assert_eq!(resolutions(&fixture.session.history().await), [(PermissionStatus::Accept, person)]);
}

#[tokio::test]
async fn a_command_that_is_accepted_for_the_session_is_not_asked_about_again() {
    let fixture = CODEX.fixture([]).await;
    for reply in [touch(&fixture, "made"), touch(&fixture, "made"), Reply::text("Twice.")] {
        fixture.model.push(reply);
    }
    let turn = fixture.session.turn("Make it twice.", PermissionReply::Always).await;
    assert_eq!((turn.text().as_str(), turn.asked().len(), turn.outputs().len()), ("Twice.", 1, 2), "{turn}");
    let person = Some(ResolvedBy::Person);
    assert_eq!(resolutions(&fixture.session.history().await), [(PermissionStatus::AcceptForSession, person)]);
}

#[tokio::test]
async fn a_declined_command_does_not_run_and_the_turn_goes_on() {
    let fixture = CODEX.fixture([]).await;
    fixture.model.push(touch(&fixture, "made"));
    fixture.model.push(Reply::text("Then not."));
    let turn = fixture.session.turn("Make it.", PermissionReply::Reject).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Then not.", StopReason::EndTurn), "{turn}");
    assert!(!fixture.file("made").exists(), "{turn}");
    assert!(fixture.model.last().tool_results().concat().contains("rejected"), "{turn}");
    fixture.session.history().await;
}

/// A rejection with a word goes on and the model hears it.
#[tokio::test]
async fn permissions_reject_with_words() {
    const WORDS: &str = "Use cat instead.";
    // The refusal may reach the model before the message does.
    let script = || {
        let refused =
            |request: &Request| !request.tool_results().is_empty() && !request.text().contains(WORDS);
        Model::responses().side(refused, Reply::text("Why? "))
    };
    let fixture = Dialect { script, ..CODEX }.fixture([]).await;
    fixture.model.push(touch(&fixture, "made"));
    fixture.model.push(Reply::text("Then with cat."));
    fixture.session.post("Make it.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(asked) = asked.data else { unreachable!() };
    let reply = PermissionReplyRequest { reply: PermissionReply::Reject, message: Some(WORDS.to_owned()) };
    let permission = asked.permission_id.to_string();
    fixture.session.client.reply_permission(&fixture.session.id, &permission, &reply).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.model.last().text().contains(WORDS));
    assert!(!fixture.file("made").exists());
    let events = fixture.session.history().await;
    assert_eq!(resolutions(&events), [(PermissionStatus::Reject, Some(ResolvedBy::Person))]);
    let text = text_of(&events);
    assert!(text.contains(WORDS) && text.ends_with("Then with cat."), "{text}");
}

#[tokio::test]
async fn more_rights_are_a_permission_that_is_granted_or_not() {
    let agent = |model: &_| RealAgent::codex(model).arg("--enable").arg("request_permissions_tool");
    let fixture = Dialect { agent, ..CODEX }.fixture([]).await;
    let rights = json!({"file_system": {"write": ["/var/elsewhere"]}});
    let ask = || Reply::tool("request_permissions", json!({"reason": "May I go?", "permissions": rights}));
    for (reply, granted) in [(PermissionReply::Reject, false), (PermissionReply::Once, true)] {
        fixture.model.push(ask());
        fixture.model.push(Reply::text("I see."));
        let turn = fixture.session.turn("Ask for more.", reply).await;
        assert_eq!((turn.text().as_str(), turn.asked().len()), ("I see.", 1), "{turn}");
        let asked = turn.asked();
        assert!(asked[0].action.contains("/var/elsewhere"), "{turn}");
        let detail = asked[0].metadata.as_ref().and_then(|metadata| metadata.detail.as_deref());
        assert_eq!(detail, Some("May I go?"), "{turn}");
        assert_eq!(turn.calls(), ["request_permissions"], "{turn}");
        assert_eq!(turn.outputs(), [if granted { "accepted" } else { "rejected" }], "{turn}");
        let last = fixture.model.last();
        let told = last.tool_results();
        assert_eq!(told.last().unwrap().contains("/var/elsewhere"), granted, "{told:?}");
    }
    fixture.session.history().await;
}

#[tokio::test]
async fn a_cancel_while_a_permission_waits_ends_the_turn_and_nothing_runs() {
    let fixture = CODEX.fixture([]).await;
    fixture.model.push(touch(&fixture, "made"));
    fixture.session.post("Make it.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
    fixture.session.wait_for(asked.sequence, ended_so(StopReason::Cancelled)).await;
    let next = fixture.answered("Talk instead.", Reply::text("Gladly.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Gladly.", StopReason::EndTurn), "{next}");
    assert!(!fixture.file("made").exists());
    let events = fixture.session.history().await;
    assert_eq!(resolutions(&events), [(PermissionStatus::Reject, Some(ResolvedBy::Cancel))]);
}

pub(crate) fn with_tiny_server(request: &mut CreateSessionRequest) {
    let server = McpServerConfig::Local {
        command: McpCommand::Line(mcp_server()),
        args: vec![],
        cwd: None,
        env: None,
        enabled: None,
        timeout_ms: None,
    };
    request.mcp = Some([("tiny".to_owned(), server)].into_iter().collect());
}

#[tokio::test]
async fn a_tool_of_an_mcp_server_is_a_permission_that_can_be_rejected() {
    let add = || Reply::tool(CODEX.mcp_tool, json!({"a": 1, "b": 2}));
    let fixture = CODEX.fixture_with([add(), Reply::text("Then not.")], with_tiny_server).await;
    let turn = fixture.session.turn("Add.", PermissionReply::Reject).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("Then not.", 1), "{turn}");
    assert_eq!(turn.asked()[0].metadata.as_ref().unwrap().tool.as_deref(), Some("mcp__tiny__add"), "{turn}");
    assert!(!turn.outputs().concat().contains("sum 3"), "{turn}");
    for reply in [add(), add(), Reply::text("Three.")] {
        fixture.model.push(reply);
    }
    let turn = fixture.session.turn("Add now.", PermissionReply::Always).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("Three.", 1), "{turn}");
    assert_eq!(turn.outputs(), ["sum 3", "sum 3"], "{turn}");
    fixture.session.history().await;
}

/// Opens a session whose model asks for a colour.
async fn asked_for_a_colour() -> (Fixture, String) {
    let options = json!([
        {"label": "Red", "description": "As fire"},
        {"label": "Blue", "description": "As water"},
    ]);
    let question =
        json!({"id": "colour", "header": "Colour", "question": "Which colour?", "options": options});
    let call = Reply::tool("request_user_input", json!({"questions": [question]}));
    let plan = |request: &mut CreateSessionRequest| request.agent_mode = Some("plan".to_owned());
    let fixture = CODEX.fixture_with([call], plan).await;
    fixture.session.post("Paint it.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::QuestionRequested)).await;
    let EventData::QuestionRequested(asked) = asked.data else { unreachable!() };
    assert_eq!((asked.prompt.as_str(), asked.options.len()), ("Which colour?", 2));
    (fixture, asked.question_id.to_string())
}

/// An answer to a question reaches the model.
#[tokio::test]
async fn questions() {
    let (fixture, question) = asked_for_a_colour().await;
    fixture.model.push(Reply::text("Blue it is."));
    let reply = QuestionReplyRequest { answers: vec![vec!["Blue".to_owned()]] };
    fixture.session.client.reply_question(&fixture.session.id, &question, &reply).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.model.last().tool_results().concat().contains("Blue"));
    fixture.session.history().await;
}

#[tokio::test]
async fn a_question_that_is_rejected_lets_the_turn_go_on() {
    let (fixture, question) = asked_for_a_colour().await;
    fixture.model.push(Reply::text("Without a colour, then."));
    fixture.session.client.reject_question(&fixture.session.id, &question).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    fixture.session.history().await;
}

#[tokio::test]
async fn a_cancel_while_a_question_waits_ends_the_turn() {
    let (fixture, _) = asked_for_a_colour().await;
    assert!(!fixture.session.history_with(CUT).await.is_empty());
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::Cancelled)).await;
    let next = fixture.answered("Never mind.", Reply::text("As you like.")).await;
    assert_eq!(next.text(), "As you like.", "{next}");
    fixture.session.history().await;
}
