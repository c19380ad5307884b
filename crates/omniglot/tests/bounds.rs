//! Agents that say or ask too much, and a log that takes nothing: every turn ends, every command is answered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    CreateSessionRequest, EventData, ItemStatus, PermissionReply, QueueOnCancel, StopReason, UniversalEvent,
    UniversalEventType, UniversalItem,
};
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, message, status_of};
use rusqlite::Connection;

fn daemon(config: &str) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

fn database(daemon: &Daemon) -> Connection {
    Connection::open(daemon.data().join("private/omniglot.db")).unwrap()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn completed(events: &[UniversalEvent]) -> Vec<&UniversalItem> {
    fn item(event: &UniversalEvent) -> Option<&UniversalItem> {
        match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        }
    }
    events.iter().filter_map(item).collect()
}

fn tells(events: &[UniversalEvent], words: &str) -> usize {
    let shown = |item: &&UniversalItem| serde_json::to_string(&item.content).unwrap().contains(words);
    completed(events).into_iter().filter(shown).count()
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_and_its_session_goes_on() {
    let daemon = daemon("[limits]\nmax_item_bytes = 300\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("[[text:500]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    assert_eq!(turn.text().len(), 300);
    let turn = session.turn("[[text:3]]", PermissionReply::Once).await;
    assert!(!turn.text().is_empty());
    let events = session.history().await;
    let failed = completed(&events).into_iter().filter(|item| item.status == ItemStatus::Failed).count();
    assert_eq!(failed, 1);
    assert_eq!(tells(&events, "longer than the 300 bytes that `limits.max_item_bytes` allows"), 1);
}

#[tokio::test]
async fn an_agent_that_asks_without_end_is_refused_at_once() {
    let script = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read l; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x"}}'
read l
for n in 100 101 102 103 104; do
echo '{"jsonrpc":"2.0","id":'$n',"method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"t'$n'","title":"go"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"r","name":"Reject","kind":"reject_once"}]}}'
done
read l; read l; read l
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
while read l; do :; done"#;
    let command = serde_json::to_string(script).unwrap();
    let agent = format!("[agents.odd]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n");
    let daemon = daemon(&format!("[limits]\nopen_requests = 2\n{agent}"));
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await;
    session.post("ask").await;
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let events = session.history().await;
    assert_eq!(events.iter().filter(|event| is(UniversalEventType::PermissionRequested)(event)).count(), 2);
    assert_eq!(tells(&events, "the 2 open requests that `limits.open_requests` allows"), 1);
}

#[tokio::test]
async fn a_turn_whose_event_the_log_refuses_ends_with_an_error_and_the_session_goes_on() {
    let daemon = daemon("");
    let session = SessionDriver::create(&daemon.client, "s").await;
    // The message that the agent completes is refused, as a row that is too big is; one that failed is not.
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON events
        WHEN NEW.type = 'item.completed' AND NEW.payload LIKE '%assistant%\"status\":\"completed\"%'
        BEGIN SELECT RAISE(ABORT, 'too big'); END";
    database(&daemon).execute_batch(refuse).unwrap();
    session.post("[[text:2]]").await;
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    database(&daemon).execute_batch("DROP TRIGGER refuse").unwrap();
    let events = session.history().await;
    let told = |event: &UniversalEvent| match &event.data {
        EventData::Error(error) => error.message.contains("the log did not take what was said in this turn"),
        _ => false,
    };
    assert!(events.iter().any(told), "{events:#?}");
    let turn = session.turn("[[text:2]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn the_messages_that_a_terminate_drops_are_named_in_the_log() {
    let daemon = daemon("");
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    let waiting = session.post("more").await.message_id;
    daemon.client.terminate(&session.id).await.unwrap();
    let events = session.history().await;
    assert_eq!(tells(&events, &format!("not delivered: {waiting}")), 1);
}

#[tokio::test]
async fn a_log_that_takes_nothing_keeps_nobody_waiting_and_no_agent_working() {
    let daemon = daemon("[limits]\ncommit_seconds = 1\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    let began = session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    let other = SessionDriver::create(&daemon.client, "t").await;
    other.post("[[silence]]").await;
    other.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    let agents = daemon.descendants();
    assert!(agents.len() >= 2, "{agents:?}");

    let lock = database(&daemon);
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The first command that finds no room is answered, and so are those that stop an agent.
    let posted = daemon.client.post(&other.id, &message("more"), None).await;
    assert_eq!(status_of(posted), 503);
    assert_eq!(status_of(daemon.client.cancel(&session.id, QueueOnCancel::Keep).await), 503);
    assert_eq!(status_of(daemon.client.terminate(&session.id).await), 503);
    assert_eq!(status_of(daemon.client.terminate(&other.id).await), 503);
    agents.into_iter().for_each(wait_gone);
    lock.execute_batch("ROLLBACK").unwrap();

    let ended = session.wait_for(began.sequence, is(UniversalEventType::TurnEnded)).await;
    session.wait_for(ended.sequence, is(UniversalEventType::SessionEnded)).await;
    other.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    session.history().await;
}
