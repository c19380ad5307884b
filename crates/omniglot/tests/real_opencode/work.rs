//! Work that shows beside words: subagents, lists of what is to do, titles.

use omniglot_schema::{ItemKind, TodoStatus};
use omniglot_testkit::models::{Reply, Request};
use serde_json::json;

use crate::OPENCODE;

#[tokio::test]
async fn a_subagent_works_below_the_call_that_began_it() {
    let task = json!({"description": "Looks", "prompt": "Look for the walrus.", "subagent_type": "general"});
    let to_child =
        |request: &Request| request.text().contains("walrus") && !request.text().contains("Delegate");
    let stage = OPENCODE
        .stage([
            Reply::tool("task", task),
            Reply::text("The walrus sleeps.").when(to_child),
            Reply::text("It is asleep."),
        ])
        .await;
    let turn = stage.turn("Delegate it.").await;
    assert!(turn.text().ends_with("It is asleep."), "{turn}");
    let items = turn.items();
    let call = items.iter().find(|item| item.kind == ItemKind::ToolCall).unwrap();
    let child =
        items.iter().find(|item| format!("{:?}", item.content).contains("The walrus sleeps.")).unwrap();
    assert_eq!(child.parent_id.as_ref(), Some(&call.item_id), "{turn}");
    let ended = turn.ended();
    let input = |usage: &Option<omniglot_schema::Usage>| usage.as_ref().and_then(|usage| usage.input_tokens);
    assert_eq!((input(&ended.usage), input(&ended.usage_subagents)), (Some(240), Some(120)), "{turn}");
    stage.session.history().await;
}

#[tokio::test]
async fn a_list_of_things_to_do_is_state_of_the_session() {
    let todos = json!({"todos": [
        {"content": "Look", "status": "completed", "priority": "high"},
        {"content": "Leap", "status": "in_progress", "priority": "low"},
    ]});
    let stage = OPENCODE.stage([Reply::tool("todowrite", todos), Reply::text("Planned.")]).await;
    let turn = stage.turn("Plan it.").await;
    let state = stage.session.client.detail(&stage.session.id).await.unwrap().state;
    let todos = state.todos.unwrap_or_else(|| panic!("todos:\n{turn}"));
    let told: Vec<_> = todos.inline().unwrap().iter().map(|todo| (todo.text.as_str(), todo.status)).collect();
    assert_eq!(told, [("Look", TodoStatus::Completed), ("Leap", TodoStatus::InProgress)], "{turn}");
    stage.session.history().await;
}

#[tokio::test]
async fn the_exit_code_of_a_command_is_told() {
    let stage = OPENCODE.stage([crate::shell("echo out; exit 3"), Reply::text("It failed.")]).await;
    let turn = stage.turn("Run it.").await;
    let results = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        omniglot_schema::ContentPart::ToolResult { exit_code, is_error, .. } => Some((*exit_code, *is_error)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [(Some(3), Some(true))], "{turn}");
    stage.session.history().await;
}
