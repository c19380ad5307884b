//! Results of tools beside their text: exit codes, new files, subagents, secrets that stay secret, todos.

use omniglot_client::EventsQuery;
use omniglot_schema::{
    ContentPart, CreateSessionRequest, ItemKind, ItemRole, McpCommand, McpServerConfig, MessageAttachment,
    PermissionReply, ReasoningVisibility, TodoStatus,
};
use omniglot_testkit::agents::mcp_server;
use omniglot_testkit::models::{Reply, Request};
use omniglot_testkit::session_driver::{Turn, labels};
use serde_json::json;

use super::CLAUDE;

fn results(turn: &Turn) -> Vec<(Option<bool>, Option<i64>)> {
    let parts = turn.items().into_iter().flat_map(|item| &item.content);
    let results = parts.filter_map(|part| match part {
        ContentPart::ToolResult { is_error, exit_code, .. } => Some((*is_error, *exit_code)),
        _ => None,
    });
    results.collect()
}

/// A shell command tells its exit code.
#[tokio::test]
async fn exit_codes() {
    let fixture =
        CLAUDE.fixture([(CLAUDE.shell)("echo out; echo err >&2; exit 3"), Reply::text("It failed.")]).await;
    let turn = fixture.turn("Run it.").await;
    assert_eq!(results(&turn), [(Some(true), Some(3))], "{turn}");
    let output = turn.outputs().concat();
    assert!(output.contains("out") && output.contains("err"), "{output}");
    fixture.model.push((CLAUDE.shell)("true"));
    let turn = fixture.answered("And this.", Reply::text("It worked.")).await;
    assert_eq!(results(&turn), [(Some(false), Some(0))], "{turn}");
}

#[tokio::test]
async fn a_new_file_is_shown_as_a_diff() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("new.txt");
    fixture.model.push((CLAUDE.write)(&file, "first\nsecond\n"));
    let turn = fixture.answered("Write it.", Reply::text("Written.")).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\nsecond\n");
    assert!(turn.diffs().concat().contains("+first\n+second"), "{turn}");
}

/// The file that a diff makes of `old`, to the letter.
fn patched(old: &str, diff: &str) -> String {
    let (mut rest, mut taken, mut new) = (old.split_inclusive('\n'), 0, String::new());
    for line in diff.split_inclusive('\n').skip_while(|line| !line.starts_with("@@")) {
        let (sign, text) = line.split_at(1);
        match sign {
            "+" => new.push_str(text),
            "-" | " " => {
                assert_eq!(rest.next(), Some(text), "{diff}");
                taken += 1;
                new.push_str(if sign == " " { text } else { "" });
            }
            "@" => {
                let first = line.split(['-', ',']).nth(1).and_then(|number| number.parse::<usize>().ok());
                let skipped = first.expect("a line number") - 1 - taken;
                new.extend(rest.by_ref().take(skipped));
                taken += skipped;
            }
            _ => panic!("{diff}"),
        }
    }
    new.extend(rest);
    new
}

#[tokio::test]
async fn the_diff_of_an_edit_applies_to_a_file_that_is_indented_with_tabs() {
    let fixture = CLAUDE.fixture([]).await;
    let (file, old) = (fixture.file("main.go"), "package a\n\nfunc f() {\n\tif x {\n\t\ty()\n\t}\n}\n");
    std::fs::write(&file, old).unwrap();
    fixture.model.push((CLAUDE.read)(&file));
    fixture.model.push((CLAUDE.edit)(&file, "\t\ty()\n", "\t\tz()\n\t\tw()\n"));
    let turn = fixture.answered("Edit it.", Reply::text("Edited.")).await;
    let edited = std::fs::read_to_string(&file).unwrap();
    assert!(edited.contains("\t\tz()\n\t\tw()\n"), "{turn}");
    assert_eq!(patched(old, &turn.diffs().concat()), edited, "{turn}");
    fixture.model.push((CLAUDE.write)(&file, "package a\n\nfunc g() {\n\ty()\n}\n"));
    let turn = fixture.answered("Write it.", Reply::text("Written.")).await;
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(patched(&edited, &turn.diffs().concat()), written, "{turn}");
}

/// A thought that only its maker can read is private.
#[tokio::test]
async fn reasoning_that_is_not_shown() {
    let fixture = CLAUDE.fixture([Reply::empty().and_redacted_thinking().and_text("I have thought.")]).await;
    let turn = fixture.turn("Think.").await;
    let private =
        turn.items().into_iter().flat_map(|item| &item.content).any(|part| {
            matches!(part, ContentPart::Reasoning { visibility: ReasoningVisibility::Private, .. })
        });
    assert!(private, "{turn}");
    assert_eq!(turn.text(), "I have thought.", "{turn}");
}

fn of_subagent(request: &Request) -> bool {
    request.messages.first().is_some_and(|message| message.text().contains("Report its first line."))
}

/// A subagent works below the call that spawned it.
#[tokio::test]
async fn subagents() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("notes.txt");
    std::fs::write(&file, "walrus\n").unwrap();
    let task = json!({"description": "Look at the notes", "subagent_type": "general-purpose",
        "run_in_background": false, "prompt": "Report its first line."});
    fixture.model.push(Reply::tool("Agent", task));
    fixture.model.push((CLAUDE.read)(&file).when(of_subagent));
    fixture.model.push(Reply::text("It says walrus.").when(of_subagent));
    fixture.model.push(Reply::text("The subagent is back."));
    let turn = fixture.turn("Delegate.").await;
    let items = turn.items();
    let spawned = items.iter().find(|item| item.kind == ItemKind::ToolCall && item.parent_id.is_none());
    let spawned = spawned.unwrap_or_else(|| panic!("a call:\n{turn}"));
    let below: Vec<_> =
        items.iter().filter(|item| item.parent_id.as_ref() == Some(&spawned.item_id)).collect();
    let kinds: Vec<_> = below.iter().map(|item| item.kind).collect();
    assert!(kinds.contains(&ItemKind::ToolCall) && kinds.contains(&ItemKind::ToolResult), "{turn}");
    let said = below.iter().any(|item| {
        item.role == Some(ItemRole::Assistant) && item.content == [ContentPart::text("It says walrus.")]
    });
    assert!(said, "{turn}");
    let tokens = |usage: &Option<omniglot_schema::Usage>| {
        usage.as_ref().map(|usage| (usage.input_tokens.unwrap(), usage.output_tokens.unwrap()))
    };
    let ended = turn.ended();
    assert_eq!((tokens(&ended.usage), tokens(&ended.usage_subagents)), (Some((240, 30)), Some((240, 30))));
}

#[tokio::test]
async fn what_a_subagent_edits_and_writes_is_told_with_its_change() {
    let edits = |request: &mut CreateSessionRequest| request.permission_mode = Some("acceptEdits".to_owned());
    let fixture = CLAUDE.fixture_with([], edits).await;
    let (old, new) = (fixture.file("old.go"), fixture.file("new.txt"));
    std::fs::write(&old, "a\n\tb\nc\n").unwrap();
    let task = json!({"description": "Edit", "subagent_type": "general-purpose",
        "run_in_background": false, "prompt": "Report its first line."});
    fixture.model.push(Reply::tool("Agent", task));
    fixture.model.push((CLAUDE.read)(&old).when(of_subagent));
    fixture.model.push((CLAUDE.edit)(&old, "\tb", "\tx").when(of_subagent));
    fixture.model.push((CLAUDE.write)(&new, "made\n").when(of_subagent));
    fixture.model.push(Reply::text("Edited.").when(of_subagent));
    fixture.model.push(Reply::text("The subagent is back."));
    let turn = fixture.turn("Delegate.").await;
    let diffs = turn.diffs();
    let [edited, written] = diffs[..] else { panic!("two diffs:\n{turn}") };
    assert!(edited.contains("\n-\tb\n+\tx\n"), "{edited}");
    assert!(written.starts_with("--- /dev/null\n") && written.ends_with("\n+made\n"), "{written}");
}

#[tokio::test]
async fn a_secret_of_an_mcp_server_is_in_no_event_and_no_frame() {
    let server = McpServerConfig::Local {
        command: McpCommand::Line(mcp_server()),
        args: vec![],
        cwd: None,
        env: Some([("TINY_TOKEN".to_owned(), "walrus-secret".to_owned())].into_iter().collect()),
        enabled: None,
        timeout_ms: None,
    };
    let with_server = |request: &mut CreateSessionRequest| {
        request.mcp = Some([("tiny".to_owned(), server)].into_iter().collect());
    };
    let replies = [Reply::tool(CLAUDE.mcp_tool, json!({"a": 1, "b": 2})), Reply::text("Three.")];
    let fixture = CLAUDE.fixture_with(replies, with_server).await;
    let turn = fixture.turn("Add.").await;
    assert!(turn.outputs().concat().contains("sum 3"), "{turn}");
    let query = EventsQuery { limit: Some(10_000), include_raw: true, ..EventsQuery::default() };
    let events = fixture.session.client.events(&fixture.session.id, &query).await.unwrap();
    assert!(events.events.iter().any(|event| event.raw.is_some()));
    assert!(!serde_json::to_string(&events).unwrap().contains("walrus-secret"));
    let told =
        fixture.model.requests().iter().any(|request| request.body.to_string().contains("walrus-secret"));
    assert!(!told, "the model was told a secret");
    for pid in fixture.daemon.descendants() {
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.contains("walrus-secret"), "{command}");
    }
}

/// Todos are state of the session.
#[tokio::test]
async fn todos() {
    let create = |subject: &str| json!({"subject": subject, "description": subject, "activeForm": subject});
    let begin = Reply::tool("TaskCreate", create("Inspect")).and_tool("TaskCreate", create("Fix"));
    let fixture = CLAUDE.fixture([begin]).await;
    fixture.model.push(Reply::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"})));
    fixture.model.push(Reply::tool("TaskUpdate", json!({"taskId": "2", "status": "in_progress"})));
    let turn = fixture.answered("Plan your work.", Reply::text("Planned.")).await;
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let todos = state.todos.unwrap_or_else(|| panic!("todos:\n{turn}"));
    let todos: Vec<_> =
        todos.inline().unwrap().iter().map(|todo| (todo.text.as_str(), todo.status)).collect();
    assert_eq!(todos, [("Inspect", TodoStatus::Completed), ("Fix", TodoStatus::InProgress)], "{turn}");
}

#[tokio::test]
async fn a_picture_that_a_tool_reads_is_kept_beside_its_words() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("dot.png");
    std::fs::write(&file, PIXEL).unwrap();
    fixture.model.push((CLAUDE.read)(&file));
    let turn = fixture.answered("Look at it.", Reply::text("A dot.")).await;
    let path = turn.items().into_iter().flat_map(|item| &item.content).find_map(|part| match part {
        ContentPart::Image { path, .. } => Some(path.clone()),
        _ => None,
    });
    let path = path.unwrap_or_else(|| panic!("a picture:\n{turn}"));
    let kept = fixture.session.client.blob(&path).await.unwrap();
    assert!(kept.starts_with(&PIXEL[..4]), "{path}");
    assert_eq!(fixture.model.last().images().len(), 1);
}

/// A text file that is attached reaches the model.
#[tokio::test]
async fn file_attachments() {
    let fixture = CLAUDE.fixture([Reply::text("A walrus.")]).await;
    std::fs::write(fixture.file("animal.txt"), "the walrus sleeps\n").unwrap();
    let mut message = omniglot_testkit::session_driver::message("Which animal?");
    let attachment = MessageAttachment { path: "animal.txt".into(), mime: None, filename: None };
    message.attachments = vec![attachment];
    let turn = fixture.session.turn_with(&message, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("the walrus sleeps"));
}

#[tokio::test]
async fn trap_the_blocks_of_one_answer_are_items_in_their_order() {
    let fixture = CLAUDE.fixture([]).await;
    let file = fixture.file("a.txt");
    std::fs::write(&file, "alpha\n").unwrap();
    let answer = Reply::thinking("I ponder.").and_text("I read.").with((CLAUDE.read)(&file));
    fixture.model.push(answer);
    let turn = fixture.answered("Read it.", Reply::text("Done.")).await;
    let kinds: Vec<_> = turn.items().iter().map(|item| item.kind).collect();
    let (message, call, result) = (ItemKind::Message, ItemKind::ToolCall, ItemKind::ToolResult);
    // The prompt, the thought and the text, the call and its result, the end.
    let said = kinds.iter().filter(|kind| **kind == message).count();
    assert!((3..=4).contains(&said), "{turn}");
    let place = |wanted: ItemKind| kinds.iter().position(|kind| *kind == wanted);
    assert!(place(call) < place(result) && place(call) > Some(1), "{turn}");
    assert_eq!((turn.thoughts(), turn.text().as_str()), (vec!["I ponder."], "I read.Done."), "{turn}");
}

#[tokio::test]
async fn an_mcp_server_that_does_not_start_is_a_warning() {
    let server = McpServerConfig::Local {
        command: McpCommand::Line(vec!["/nowhere/server".to_owned()]),
        args: vec![],
        cwd: None,
        env: None,
        enabled: None,
        timeout_ms: None,
    };
    let with_server = |request: &mut CreateSessionRequest| {
        request.mcp = Some([("broken".to_owned(), server)].into_iter().collect());
    };
    let fixture = CLAUDE.fixture_with([Reply::text("Hello.")], with_server).await;
    let turn = fixture.turn("Hello?").await;
    assert_eq!(turn.text(), "Hello.", "{turn}");
    let history = fixture.session.history().await;
    assert!(labels(&history).contains(&"claude.warning"), "{turn}");
    assert!(serde_json::to_string(&history).unwrap().contains("broken"), "{turn}");
}

/// One red pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00,
    0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01,
    0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60,
    0x82,
];
