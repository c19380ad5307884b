//! Codex's own work: commands, patches, plans, child agents, and its cost.

use omniglot_schema::{
    ContentPart, CreateSessionRequest, EventData, ItemKind, MessageAttachment, PermissionReply,
    ReasoningVisibility, StopReason, TodoStatus, Usage,
};
use omniglot_testkit::models::{self, Reply};
use serde_json::json;

use crate::{CODEX, patch, shell};

/// A command that fails tells its exit code and the turn goes on.
#[tokio::test]
async fn exit_codes() {
    let fixture = CODEX.fixture([shell("echo oh-no >&2; exit 3"), Reply::text("It failed.")]).await;
    let turn = fixture.turn("Run it.").await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("It failed.", StopReason::EndTurn), "{turn}");
    let result = turn.items().into_iter().flat_map(|item| &item.content).find_map(|part| match part {
        ContentPart::ToolResult { output, is_error, exit_code, .. } => Some((output, *is_error, *exit_code)),
        _ => None,
    });
    let (output, is_error, exit_code) = result.unwrap_or_else(|| panic!("a result:\n{turn}"));
    assert!(output.contains("oh-no"), "{turn}");
    assert_eq!((is_error, exit_code), (Some(true), Some(3)), "{turn}");
    assert!(fixture.model.last().tool_results().concat().contains("oh-no"));
    fixture.session.history().await;
}

#[tokio::test]
async fn a_patch_that_adds_and_deletes_shows_a_diff_of_each_file() {
    let fixture = CODEX.fixture([]).await;
    std::fs::write(fixture.file("old.txt"), "gone\n").unwrap();
    fixture.model.push(patch("*** Add File: new.txt\n+fresh\n*** Delete File: old.txt\n"));
    let turn = fixture.answered("Swap the files.", Reply::text("Swapped.")).await;
    assert_eq!(turn.text(), "Swapped.", "{turn}");
    assert!(fixture.file("new.txt").exists() && !fixture.file("old.txt").exists(), "{turn}");
    let diffs = turn.diffs().concat();
    assert!(diffs.contains("+fresh") && diffs.contains("-gone"), "{turn}");
    fixture.session.history().await;
}

/// A plan becomes the todos of the session.
#[tokio::test]
async fn todos() {
    let steps = json!([
        {"step": "Look around", "status": "completed"},
        {"step": "Write it", "status": "in_progress"},
        {"step": "Test it", "status": "pending"},
    ]);
    let call = Reply::tool("update_plan", json!({"explanation": "As agreed", "plan": steps}));
    let fixture = CODEX.fixture([call, Reply::text("Planned.")]).await;
    let turn = fixture.turn("Make a plan.").await;
    assert_eq!(turn.text(), "Planned.", "{turn}");
    let mut arguments =
        turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
            ContentPart::ToolCall { arguments, .. } => Some(arguments),
            _ => None,
        });
    assert!(arguments.any(|text| text.contains("As agreed")), "{turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let todos = state.todos.as_ref().and_then(|todos| todos.inline()).unwrap_or_default();
    let told: Vec<_> = todos.iter().map(|todo| (todo.text.as_str(), todo.status)).collect();
    let expected = [
        ("Look around", TodoStatus::Completed),
        ("Write it", TodoStatus::InProgress),
        ("Test it", TodoStatus::Pending),
    ];
    assert_eq!(told, expected, "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn what_plan_mode_proposes_is_the_plan_of_the_session() {
    let plan = |request: &mut CreateSessionRequest| request.agent_mode = Some("plan".to_owned());
    let proposal = "I propose:\n<proposed_plan>\n# First\n\n1. Look\n</proposed_plan>\n";
    let fixture = CODEX.fixture_with([Reply::text(proposal)], plan).await;
    let turn = fixture.turn("Make a plan.").await;
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let text = state.plan.map(|plan| plan.text).unwrap_or_default();
    assert_eq!(text.trim(), "# First\n\n1. Look", "{turn}");
    assert!(!turn.text().contains("proposed_plan"), "{turn}");
    fixture.session.history().await;
}

/// A thought that only its maker can read is private.
#[tokio::test]
async fn reasoning_that_is_not_shown() {
    let fixture = CODEX.fixture([Reply::empty().and_redacted_thinking().and_text("I have thought.")]).await;
    let turn = fixture.turn("Think.").await;
    let hidden = |part: &&ContentPart| match part {
        ContentPart::Reasoning { text, visibility } => {
            text.is_empty() && *visibility == ReasoningVisibility::Private
        }
        _ => false,
    };
    assert_eq!(turn.items().into_iter().flat_map(|item| &item.content).filter(hidden).count(), 1, "{turn}");
    assert_eq!(turn.text(), "I have thought.", "{turn}");
    fixture.session.history().await;
}

/// A text file that is attached reaches the model.
#[tokio::test]
async fn file_attachments() {
    let fixture = CODEX.fixture([Reply::text("A walrus.")]).await;
    std::fs::write(fixture.file("animal.txt"), "the walrus sleeps\n").unwrap();
    let mut message = omniglot_testkit::session_driver::message("Which animal?");
    message.attachments = vec![MessageAttachment { path: "animal.txt".into(), mime: None, filename: None }];
    let turn = fixture.session.turn_with(&message, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("the walrus sleeps"));
    let named = |part: &ContentPart| matches!(part, ContentPart::FileRef { path, .. } if path.ends_with("animal.txt"));
    assert!(turn.items().into_iter().any(|item| item.content.iter().any(named)), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn the_usage_of_a_turn_is_what_its_model_calls_reported() {
    let cost = |input, cached, output, thoughts| models::Usage { input, cached, output, thoughts };
    let fixture = CODEX
        .fixture([
            shell("true").usage(cost(1000, 200, 30, 10)),
            Reply::text("One.").usage(cost(500, 700, 20, 5)),
            Reply::text("Two.").usage(cost(7, 3, 2, 1)),
        ])
        .await;
    let first = fixture.turn("The first.").await;
    let second = fixture.turn("The second.").await;
    let usage = |input, cached, output, thoughts| {
        let usage = Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            reasoning_tokens: Some(thoughts),
            cache_read_tokens: Some(cached),
            cache_write_tokens: Some(0),
            total_tokens: None,
        };
        Some(usage.with_total())
    };
    assert_eq!(first.ended().usage, usage(1500, 900, 50, 15), "{first}");
    assert_eq!(second.ended().usage, usage(7, 3, 2, 1), "{second}");
    fixture.session.history().await;
}

/// A child agent speaks below the call that started it.
#[tokio::test]
async fn subagents() {
    let fixture = CODEX.fixture([]).await;
    fixture.model.push(Reply::tool("multi_agent_v1/spawn_agent", json!({"message": "Say the child word."})));
    let child = |request: &models::Request| request.last_says("Say the child word.");
    fixture.model.push(Reply::text("Walrus, says the child.").when(child));
    let (rest, gate) = Reply::empty().hold();
    fixture.model.push(rest.and_text("The parent is done."));
    // Codex asks once more when the child's result reaches the parent before its turn is over.
    fixture.model.push(Reply::text("The parent has heard it.").forever());
    fixture.session.post("Ask a child.").await;
    let spoken = fixture
        .session
        .wait_for(0, |event| match &event.data {
            EventData::ItemCompleted(data) => {
                data.item.kind == ItemKind::Message && data.item.parent_id.is_some()
            }
            _ => false,
        })
        .await;
    gate.open();
    fixture.session.wait_for(spoken.sequence, crate::ended_so(StopReason::EndTurn)).await;
    let events = fixture.session.history().await;
    let EventData::ItemCompleted(message) = &spoken.data else { unreachable!() };
    let parent = events.iter().find_map(|event| match &event.data {
        EventData::ItemCompleted(data) if Some(&data.item.item_id) == message.item.parent_id.as_ref() => {
            Some(data.item.kind)
        }
        _ => None,
    });
    assert_eq!(parent, Some(ItemKind::ToolCall));
    let text = serde_json::to_string(&message.item.content).unwrap();
    assert!(text.contains("Walrus"), "{text}");
    let ends = events.iter().filter(|event| matches!(event.data, EventData::TurnEnded(_))).count();
    assert_eq!(ends, 1, "the child's turn is no turn of the session");
}
