//! Work beside text: subagents, task lists, files, exit codes.

use omniglot_schema::{ContentPart, FileAction, ItemKind, MessageAttachment, PermissionReply, TodoStatus};
use omniglot_testkit::models::{Reply, Request};
use serde_json::json;

use crate::OPENCODE;

/// A subagent works below the call that began it.
#[tokio::test]
async fn subagents() {
    let task = json!({"description": "Looks", "prompt": "Look for the walrus.", "subagent_type": "general"});
    let to_child =
        |request: &Request| request.text().contains("walrus") && !request.text().contains("Delegate");
    let fixture = OPENCODE
        .fixture([
            Reply::tool("task", task),
            Reply::text("The walrus sleeps.").when(to_child),
            Reply::text("It is asleep."),
        ])
        .await;
    let turn = fixture.turn("Delegate it.").await;
    assert!(turn.text().ends_with("It is asleep."), "{turn}");
    let items = turn.items();
    let call = items.iter().find(|item| item.kind == ItemKind::ToolCall).unwrap();
    let child =
        items.iter().find(|item| format!("{:?}", item.content).contains("The walrus sleeps.")).unwrap();
    assert_eq!(child.parent_id.as_ref(), Some(&call.item_id), "{turn}");
    let ended = turn.ended();
    let input = |usage: &Option<omniglot_schema::Usage>| usage.as_ref().and_then(|usage| usage.input_tokens);
    assert_eq!((input(&ended.usage), input(&ended.usage_subagents)), (Some(240), Some(120)), "{turn}");
    fixture.session.history().await;
}

/// A list of things to do is state of the session.
#[tokio::test]
async fn todos() {
    let todos = json!({"todos": [
        {"content": "Look", "status": "completed", "priority": "high"},
        {"content": "Leap", "status": "in_progress", "priority": "low"},
    ]});
    let fixture = OPENCODE.fixture([Reply::tool("todowrite", todos), Reply::text("Planned.")]).await;
    let turn = fixture.turn("Plan it.").await;
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let todos = state.todos.unwrap_or_else(|| panic!("todos:\n{turn}"));
    let told: Vec<_> = todos.inline().unwrap().iter().map(|todo| (todo.text.as_str(), todo.status)).collect();
    assert_eq!(told, [("Look", TodoStatus::Completed), ("Leap", TodoStatus::InProgress)], "{turn}");
    fixture.session.history().await;
}

/// The exit code of a command is told.
#[tokio::test]
async fn exit_codes() {
    let fixture = OPENCODE.fixture([crate::shell("echo out; exit 3"), Reply::text("It failed.")]).await;
    let turn = fixture.turn("Run it.").await;
    let results = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        omniglot_schema::ContentPart::ToolResult { exit_code, is_error, .. } => Some((*exit_code, *is_error)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [(Some(3), Some(true))], "{turn}");
    fixture.session.history().await;
}

/// A text file that is attached reaches the model.
#[tokio::test]
async fn file_attachments() {
    let fixture = OPENCODE.fixture([Reply::text("A walrus.")]).await;
    std::fs::write(fixture.file("animal.txt"), "the walrus sleeps\n").unwrap();
    let mut message = omniglot_testkit::session_driver::message("Which animal?");
    message.attachments = vec![MessageAttachment { path: "animal.txt".into(), mime: None, filename: None }];
    let turn = fixture.session.turn_with(&message, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("the walrus sleeps"));
    fixture.session.history().await;
}

/// Returns the changed files of a turn: path, action, and diff.
fn changes(turn: &omniglot_testkit::session_driver::Turn) -> Vec<(String, FileAction, Option<String>)> {
    let parts = turn.items().into_iter().filter(|item| item.kind == ItemKind::ToolResult);
    let changed = parts.flat_map(|item| item.content.clone()).filter_map(|part| match part {
        ContentPart::FileRef { path, action, diff, .. } if action != FileAction::Read => {
            Some((path.rsplit('/').next().unwrap_or_default().to_owned(), action, diff))
        }
        _ => None,
    });
    changed.collect()
}

#[tokio::test]
async fn a_file_that_is_written_is_told_with_its_change() {
    let fixture = OPENCODE.fixture([]).await;
    let file = fixture.file("new.txt");
    for content in ["one\n", "two\n"] {
        fixture.model.push((OPENCODE.read)(&file));
        fixture.model.push((OPENCODE.write)(&file, content));
        let turn = fixture.answered("Write.", Reply::text("Written.")).await;
        let told = changes(&turn);
        let [(name, action, Some(diff))] = told.as_slice() else { panic!("one change:\n{turn}") };
        assert_eq!(name, "new.txt");
        match content {
            "one\n" => assert!(*action == FileAction::Write && diff.contains("+one"), "{diff}"),
            _ => assert!(*action == FileAction::Patch && diff.contains("-one\n+two"), "{diff}"),
        }
    }
    fixture.session.history().await;
}

/// Models of one family receive another tool for edits.
#[tokio::test]
async fn a_patch_of_several_files_is_told_file_by_file() {
    let model = |request: &mut omniglot_schema::CreateSessionRequest| {
        request.model = Some("scripted/gpt-5-scripted".to_owned());
    };
    let fixture = OPENCODE.fixture_with([], model).await;
    std::fs::write(fixture.file("old.txt"), "one\ntwo\n").unwrap();
    let patch = "*** Begin Patch\n*** Update File: old.txt\n@@\n one\n-two\n+zwei\n*** Add File: new.txt\n+drei\n*** End Patch";
    fixture.model.push(Reply::tool("apply_patch", json!({"patchText": patch})));
    let turn = fixture.answered("Patch.", Reply::text("Patched.")).await;
    let told = changes(&turn);
    let actions: Vec<_> = told.iter().map(|(name, action, _)| (name.as_str(), *action)).collect();
    assert_eq!(actions, [("old.txt", FileAction::Patch), ("new.txt", FileAction::Write)], "{turn}");
    assert!(told[0].2.as_ref().is_some_and(|diff| diff.contains("-two\n+zwei")), "{told:?}");
    assert!(told[1].2.as_ref().is_some_and(|diff| diff.contains("+drei")), "{told:?}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_command_of_opencode_is_run_with_its_arguments() {
    let fixture = OPENCODE.fixture([]).await;
    let turn = fixture.answered("/init mind the walrus", Reply::text("Noted.")).await;
    assert!(turn.text().ends_with("Noted."), "{turn}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("AGENTS.md") && heard.contains("mind the walrus"), "{heard}");
    fixture.session.history().await;
}
