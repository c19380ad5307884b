//! The whole path with a real daemon and a real child process: create, prompt, answer, crash, resume.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use futures_util::StreamExt as _;
use omniglot_client::{SseItem, StreamFrom};
use omniglot_schema::{
    ContentPart, EventData, PermissionReply, ResolvedBy, Resume, SessionStatus, StopReason, UniversalEvent,
    UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, message, status_of, text_of};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

#[tokio::test]
async fn a_turn_streams_text_tools_a_permission_a_diff_and_usage() {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "# Hello\n").unwrap();
    let session = SessionDriver::create(&daemon.client, "demo").await;
    let turn = session.turn("add a line at the end of README.md", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    assert!(std::fs::read_to_string(daemon.work().join("README.md")).unwrap().lines().count() > 1);
    let diff = turn.events.iter().any(|event| match &event.data {
        EventData::ItemCompleted(data) => {
            data.item.content.iter().any(|part| matches!(part, ContentPart::FileRef { diff: Some(_), .. }))
        }
        _ => false,
    });
    assert!(diff, "an edit shows its diff");
    let EventData::TurnEnded(end) = &turn.events.last().unwrap().data else { unreachable!() };
    assert!(end.metadata.usage.as_ref().unwrap().total_tokens.unwrap() > 0);
    session.history().await;
}

#[tokio::test]
async fn kill_9_in_mid_turn_loses_nothing_that_was_served() {
    let mut daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text]]", PermissionReply::Once).await;
    session.post("[[text]] [[permission]]").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    session.post("[[recall]]").await;
    let mut served: Vec<String> = vec![];
    let mut stream = session.watch(StreamFrom::Start).await;
    while let Some(item) = stream.next().await {
        match item.unwrap() {
            SseItem::Event { json, .. } => served.push(json),
            SseItem::CaughtUp => break,
            SseItem::Deleted => unreachable!(),
        }
    }
    assert!(served.len() as u64 >= asked.sequence);
    let below = daemon.descendants();
    assert!(!below.is_empty());
    daemon.kill();
    for pid in below {
        omniglot_testkit::daemon::wait_gone(pid);
    }

    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    // The queued message is delivered without a further request.
    let recalled = session
        .wait_for(served.len() as u64, |event| match &event.data {
            EventData::TurnEnded(end) => end.metadata.stop_reason == StopReason::EndTurn,
            _ => false,
        })
        .await;
    let history = session.history().await;
    for (event, json) in history.iter().zip(&served) {
        assert_eq!(&serde_json::to_string(event).unwrap(), json);
    }
    assert!(history.len() > served.len());
    let resolved = history.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => data.metadata.as_ref()?.resolved_by,
        _ => None,
    });
    assert_eq!(resolved, Some(ResolvedBy::Restart));
    let error = history.iter().find_map(|event| match &event.data {
        EventData::Error(error) => error.code,
        _ => None,
    });
    assert_eq!(error, Some(omniglot_schema::ErrorCode::DaemonRestarted));
    let since_restart: Vec<_> =
        history.iter().filter(|e| e.sequence > served.len() as u64).cloned().collect();
    assert!(text_of(&since_restart).contains("[[text]]"), "the agent remembers: {}", text_of(&since_restart));
    assert!(recalled.sequence <= history.last().unwrap().sequence);
}

#[tokio::test]
async fn a_crash_ends_the_session_and_the_next_message_resumes_it() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("[[crash]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::Error);
    assert_eq!(turn.error().unwrap().code, Some(omniglot_schema::ErrorCode::AgentCrashed));
    let ended = session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let EventData::SessionEnded(data) = &ended.data else { unreachable!() };
    assert_eq!(data.exit_code, Some(7));
    assert!(data.stderr.as_ref().unwrap().head.is_some());
    assert!(daemon.client.detail(&session.id).await.unwrap().info.ended);

    let turn = session.turn("[[recall]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let resumed = session.wait_for(ended.sequence, is(UniversalEventType::SessionStarted)).await;
    let EventData::SessionStarted(data) = &resumed.data else { unreachable!() };
    let metadata = data.metadata.as_ref().unwrap();
    assert_eq!((metadata.resumed, metadata.resume), (Some(true), Some(Resume::Native)));
    session.history().await;
}

#[tokio::test]
async fn a_permission_is_answered_once_by_anybody() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[permission]]").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = &asked.data else { unreachable!() };
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert_eq!(detail.status, SessionStatus::Waiting);
    assert_eq!(detail.pending.len(), 1);
    let id = ask.permission_id.as_str();
    session.reply(id, PermissionReply::Once).await.unwrap();
    assert_eq!(status_of(session.reply(id, PermissionReply::Once).await), 409);
    assert_eq!(status_of(session.reply("perm_none", PermissionReply::Once).await), 404);
    session.wait_for(asked.sequence, is(UniversalEventType::TurnEnded)).await;
    session.history().await;
}

#[tokio::test]
async fn an_always_holds_for_the_session_also_after_a_restart() {
    let mut daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let first = session.turn("[[permission]]", PermissionReply::Always).await;
    assert!(first.events.iter().any(|event| event.kind() == UniversalEventType::PermissionResolved));
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    // The agent receives `once` each time, so that it asks again.
    for granted in 1..=2 {
        let again = session.turn("[[permission]]", PermissionReply::Reject).await;
        assert!(!again.events.iter().any(|event| event.kind() == UniversalEventType::PermissionRequested));
        assert_eq!(daemon.client.detail(&session.id).await.unwrap().stats.granted, granted);
    }
    session.history().await;
}

#[tokio::test]
async fn messages_wait_their_turn_and_can_be_taken_back() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[permission]]").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let second = session.post("[[text:2]]").await;
    let third = session.post("[[text:3]]").await;
    assert_eq!(second.delivered, omniglot_schema::Delivered::Queued);
    let queue = daemon.client.detail(&session.id).await.unwrap().state.queue.unwrap();
    assert_eq!(
        queue.inline().unwrap().iter().map(|m| &m.message_id).collect::<Vec<_>>(),
        [&second.message_id, &third.message_id]
    );
    daemon.client.remove_queued(&session.id, &second.message_id).await.unwrap();
    assert_eq!(status_of(daemon.client.remove_queued(&session.id, &second.message_id).await), 404);
    let reject = omniglot_schema::MessageRequest {
        delivery: Some(omniglot_schema::Delivery::Reject),
        ..message("[[text]]")
    };
    assert_eq!(status_of(daemon.client.post(&session.id, &reject, None).await), 409);
    let EventData::PermissionRequested(ask) = &asked.data else { unreachable!() };
    session.reply(ask.permission_id.as_str(), PermissionReply::Reject).await.unwrap();
    let third_turn = session
        .wait_for(asked.sequence, |event| match &event.data {
            EventData::TurnStarted(turn) => turn.metadata.message_id.as_ref() == Some(&third.message_id),
            _ => false,
        })
        .await;
    session.wait_for(third_turn.sequence, is(UniversalEventType::TurnEnded)).await;
    let history = session.history().await;
    assert_eq!(history.iter().filter(|event| event.kind() == UniversalEventType::TurnStarted).count(), 2);
}

#[tokio::test]
async fn a_full_queue_says_so() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    for _ in 0..64 {
        session.post("[[text:1]]").await;
    }
    assert_eq!(status_of(daemon.client.post(&session.id, &message("one more"), None).await), 429);
    daemon.client.cancel(&session.id, omniglot_schema::QueueOnCancel::Drop).await.unwrap();
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let history = session.history().await;
    assert_eq!(history.iter().filter(|event| event.kind() == UniversalEventType::TurnStarted).count(), 1);
}

#[tokio::test]
async fn terminate_ends_the_process_and_delete_forgets_the_session() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let below = daemon.descendants();
    daemon.client.terminate(&session.id).await.unwrap();
    for pid in below {
        omniglot_testkit::daemon::wait_gone(pid);
    }
    daemon.client.terminate(&session.id).await.unwrap();
    let history = session.history().await;
    assert_eq!(history.last().unwrap().kind(), UniversalEventType::SessionEnded);
    daemon.client.delete(&session.id).await.unwrap();
    assert_eq!(status_of(daemon.client.detail(&session.id).await), 404);
}

#[tokio::test]
async fn sessions_do_not_disturb_each_other() {
    let daemon = daemon();
    let (a, b) =
        tokio::join!(SessionDriver::create(&daemon.client, "a"), SessionDriver::create(&daemon.client, "b"));
    let (crashed, talked) = tokio::join!(
        a.turn("[[crash]]", PermissionReply::Once),
        b.turn("[[text:50]]", PermissionReply::Once)
    );
    assert_eq!(crashed.stop_reason(), StopReason::Error);
    assert_eq!(talked.stop_reason(), StopReason::EndTurn);
    for session in [&a, &b] {
        let events = session.history().await;
        assert!(events.iter().all(|event| event.session_id == session.id));
    }
    let listed = daemon.client.list(&Default::default()).await.unwrap();
    assert_eq!(listed.len(), 2);
}
