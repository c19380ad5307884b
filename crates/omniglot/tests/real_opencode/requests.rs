//! OpenCode's requests to a person: permissions for commands and edits, questions; and every way to answer.

use omniglot_schema::{
    ContentPart, EventData, PermissionReply, PermissionReplyRequest, PermissionStatus, QuestionReplyRequest,
    QuestionStatus, QueueOnCancel, ResolvedBy, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Reply, Request};
use serde_json::json;

use crate::{OPENCODE, ended_so, is, shell};

fn resolutions(events: &[UniversalEvent]) -> Vec<(PermissionStatus, Option<ResolvedBy>)> {
    let resolved = events.iter().filter_map(|event| match &event.data {
        EventData::PermissionResolved(data) => Some((data.status, data.metadata.as_ref()?.resolved_by)),
        _ => None,
    });
    resolved.collect()
}

/// Posts a message and waits for the permission that it leads to.
async fn asked_about(fixture: &Fixture, text: &str) -> String {
    fixture.session.post(text).await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = asked.data else { panic!("a permission") };
    ask.permission_id.as_str().to_owned()
}

/// A rejection with a word goes on and the model hears it.
#[tokio::test]
async fn permissions_reject_with_words() {
    let fixture = OPENCODE.fixture([shell("touch made"), Reply::text("Then with cat.")]).await;
    let permission = asked_about(&fixture, "Make a file.").await;
    let reply =
        PermissionReplyRequest { reply: PermissionReply::Reject, message: Some("Use cat instead.".into()) };
    fixture.session.client.reply_permission(&fixture.session.id, &permission, &reply).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.model.last().tool_results().concat().contains("Use cat instead."));
    assert!(!fixture.file("made").exists());
    let events = fixture.session.history().await;
    assert_eq!(resolutions(&events), [(PermissionStatus::Reject, Some(ResolvedBy::Person))]);
    assert_eq!(omniglot_testkit::session_driver::text_of(&events), "Then with cat.");
}

#[tokio::test]
async fn a_permission_for_an_edit_shows_what_it_would_change() {
    let fixture = OPENCODE.fixture([]).await;
    let file = fixture.file("notes.txt");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    for reply in [(OPENCODE.read)(&file), (OPENCODE.edit)(&file, "two", "zwei"), Reply::text("Edited.")] {
        fixture.model.push(reply);
    }
    let turn = fixture.turn("Translate.").await;
    let [asked] = turn.asked().try_into().unwrap_or_else(|_| panic!("one permission:\n{turn}"));
    let metadata = asked.metadata.as_ref().unwrap();
    let [ContentPart::FileRef { path, diff: Some(diff), .. }] = metadata.files.as_slice() else {
        panic!("one changed file: {metadata:?}")
    };
    assert!(path.ends_with("notes.txt") && diff.contains("-two\n+zwei"), "{diff}");
    assert_eq!(metadata.tool.as_deref(), Some("edit"));
    assert!(metadata.item_id.is_some(), "{turn}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\nzwei\n");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_turn_that_waits_for_a_permission_can_be_cancelled_and_the_next_prompt_works() {
    let fixture = OPENCODE.fixture([shell("touch made")]).await;
    asked_about(&fixture, "Make a file.").await;
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::Cancelled)).await;
    let events = fixture.session.history().await;
    assert_eq!(resolutions(&events), [(PermissionStatus::Reject, Some(ResolvedBy::Cancel))]);
    assert!(!fixture.file("made").exists());
    let next = fixture.answered("Talk, then.", Reply::text("Gladly.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Gladly.", StopReason::EndTurn), "{next}");
    fixture.session.history().await;
}

fn question() -> Reply {
    let option = |label: &str| json!({"label": label, "description": "It is nice."});
    Reply::tool(
        "question",
        json!({"questions": [
            {"question": "Which colour?", "header": "Colour", "options": [option("Red"), option("Blue")]},
            {"question": "How many?", "header": "Number", "options": [option("One"), option("Two")]},
        ]}),
    )
}

async fn questioned(fixture: &Fixture) -> String {
    fixture.session.post("Ask me.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::QuestionRequested)).await;
    let EventData::QuestionRequested(ask) = asked.data else { panic!("a question") };
    assert_eq!(
        (ask.prompt.as_str(), ask.options.as_slice()),
        ("Which colour?", &["Red", "Blue"].map(String::from)[..])
    );
    let questions = &ask.metadata.as_ref().unwrap().questions;
    assert_eq!((questions.len(), questions[1].header.as_deref()), (2, Some("Number")));
    ask.question_id.as_str().to_owned()
}

/// An answer to a question reaches the model.
#[tokio::test]
async fn questions() {
    let fixture = OPENCODE.fixture([question(), Reply::text("Two blue ones.")]).await;
    let id = questioned(&fixture).await;
    let reply = QuestionReplyRequest { answers: vec![vec!["Blue".into()], vec!["Two".into()]] };
    fixture.session.client.reply_question(&fixture.session.id, &id, &reply).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    let heard = fixture.model.last().tool_results().concat();
    assert!(heard.contains("Blue") && heard.contains("Two"), "{heard}");
    let resolved = fixture.session.wait_for(0, is(UniversalEventType::QuestionResolved)).await;
    let EventData::QuestionResolved(data) = resolved.data else { panic!("an answer") };
    assert_eq!((data.status, data.response.as_deref()), (QuestionStatus::Answered, Some("Blue; Two")));
    fixture.session.history().await;
}

#[tokio::test]
async fn a_question_that_is_rejected_ends_the_turn_without_another_call_of_the_model() {
    let fixture = OPENCODE.fixture([question()]).await;
    let id = questioned(&fixture).await;
    fixture.session.client.reject_question(&fixture.session.id, &id).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    assert_eq!(fixture.model.conversation().len(), 1);
    let next = fixture.answered("Never mind.", Reply::text("All right.")).await;
    assert_eq!(next.text(), "All right.", "{next}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_file_outside_of_the_directory_is_asked_about() {
    let fixture = OPENCODE.fixture([]).await;
    let outside = fixture.agent.home().join("outside.txt");
    std::fs::write(&outside, "the walrus sleeps\n").unwrap();
    fixture.model.push((OPENCODE.read)(&outside));
    let turn = fixture.answered("Read it.", Reply::text("Read.")).await;
    let [asked] = turn.asked().try_into().unwrap_or_else(|_| panic!("one permission:\n{turn}"));
    assert_eq!(asked.metadata.as_ref().unwrap().tool.as_deref(), Some("external_directory"), "{turn}");
    assert!(turn.outputs().concat().contains("the walrus sleeps"), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_permission_of_a_subagent_is_asked_and_answered_like_any_other() {
    let task = json!({"description": "Makes", "prompt": "Make the walrus.", "subagent_type": "general"});
    let to_child =
        |request: &Request| request.text().contains("walrus") && !request.text().contains("Delegate");
    let fixture = OPENCODE
        .fixture([
            Reply::tool("task", task),
            shell("touch walrus").when(to_child),
            Reply::text("I made it.").when(to_child),
            Reply::text("It is made."),
        ])
        .await;
    let turn = fixture.turn("Delegate it.").await;
    let [asked] = turn.asked().try_into().unwrap_or_else(|_| panic!("one permission:\n{turn}"));
    let items = turn.items();
    let call =
        items.iter().find(|item| Some(&item.item_id) == asked.metadata.as_ref().unwrap().item_id.as_ref());
    assert!(call.is_some_and(|call| call.parent_id.is_some()), "{turn}");
    assert!(fixture.file("walrus").exists() && turn.text().ends_with("It is made."), "{turn}");
    fixture.session.history().await;
}
