//! A process is a cache: it is stopped when idle, and the session continues with the next message.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    ContentPart, CreateSessionRequest, Delivered, EventData, PermissionReply, QueueOnCancel, StopReason,
    UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, message, session_id, status_of};

fn daemon(config: &str) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn disconnected(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::SessionUpdated(patch) if patch.connection == Some(None))
}

#[tokio::test]
async fn a_process_that_rests_is_ended_and_its_session_remembers() {
    let daemon = daemon("[limits]\nidle_seconds = 1\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:2]]", PermissionReply::Once).await;
    let below = daemon.descendants();
    session.wait_for(0, disconnected).await;
    below.into_iter().for_each(wait_gone);
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert!(!detail.info.ended && detail.state.connection.is_none());
    let turn = session.turn("[[recall]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    assert!(turn.text().contains("[[text:2]]"), "{}", turn.text());
    let events = session.history().await;
    assert!(!events.iter().any(|event| event.kind() == UniversalEventType::SessionEnded));
}

#[tokio::test]
async fn an_agent_that_cannot_remember_says_so_after_a_rest() {
    // Without a state directory the built-in agent loses its memory with its process.
    let program = env!("CARGO_BIN_EXE_omniglot");
    let config = format!(
        "[limits]\nidle_seconds = 1\n\n[agents.forgetful]\nprotocol = \"acp\"\ncommand = [\"{program}\", \"mock-agent\"]\n"
    );
    let daemon = daemon(&config);
    let session =
        SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("forgetful")).await;
    session.turn("[[text:2]]", PermissionReply::Once).await;
    let rested = session.wait_for(0, disconnected).await;
    session.turn("[[text:2]]", PermissionReply::Once).await;
    let told = session.history().await.into_iter().find(|event| match &event.data {
        EventData::ItemCompleted(data) => data.item.content.iter().any(
            |part| matches!(part, ContentPart::Status { label, .. } if label == "forgetful.memory_lost"),
        ),
        _ => false,
    });
    assert!(told.unwrap().sequence > rested.sequence);
}

#[tokio::test]
async fn the_longest_unused_process_makes_room_and_a_working_one_never_does() {
    let daemon = daemon("[limits]\nlive_agents = 2\n");
    let working = SessionDriver::create(&daemon.client, "working").await;
    working.post("[[silence]]").await;
    let old = SessionDriver::create(&daemon.client, "old").await;
    let new = SessionDriver::create(&daemon.client, "new").await;
    old.wait_for(0, disconnected).await;
    let connected = |detail: omniglot_schema::SessionDetail| detail.state.connection.is_some();
    assert!(connected(daemon.client.detail(&working.id).await.unwrap()));
    assert!(connected(daemon.client.detail(&new.id).await.unwrap()));
    assert_eq!(old.turn("[[text:1]]", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    new.wait_for(0, disconnected).await;
    let busy = daemon.client.post(&working.id, &message("later"), None).await.unwrap();
    assert_eq!(busy.delivered, omniglot_schema::Delivered::Queued);
    for session in [&old, &new] {
        session.history().await;
    }
}

#[tokio::test]
async fn no_more_agents_work_at_once_than_are_allowed() {
    let daemon = daemon("[limits]\nrunning_agents = 2\n");
    let mut sessions = vec![];
    for name in ["a", "b", "c", "d"] {
        sessions.push(SessionDriver::create(&daemon.client, name).await);
    }
    let silence = message("[[silence]]");
    let posts = sessions.iter().map(|session| daemon.client.post(&session.id, &silence, None));
    let posts = futures_util::future::join_all(posts).await;
    let mut working = vec![];
    for (session, posted) in sessions.iter().zip(posts) {
        let Err(refused) = posted else {
            working.push(session);
            continue;
        };
        let problem = refused.problem().unwrap();
        assert_eq!(problem.status, 429);
        assert!(problem.detail.as_deref().unwrap_or_default().contains("`running_agents`"), "{problem:?}");
    }
    assert_eq!(working.len(), 2);
    let created = daemon.client.create(&session_id("e"), &CreateSessionRequest::new("mock")).await;
    assert_eq!(status_of(created), 429);
    for session in working {
        assert_eq!(session.post("later").await.delivered, Delivered::Queued);
        daemon.client.cancel(&session.id, QueueOnCancel::Drop).await.unwrap();
        session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    }
    for session in &sessions {
        session.turn("[[text:1]]", PermissionReply::Once).await;
    }
}

#[tokio::test]
async fn after_a_burst_the_processes_that_were_used_first_are_ended_as_their_turns_end() {
    let daemon = daemon("[limits]\nlive_agents = 3\n");
    let mut sessions = vec![];
    for name in ["a", "b", "c", "d", "e", "f"] {
        let session = SessionDriver::create(&daemon.client, name).await;
        session.post("[[permission]]").await;
        let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
        let EventData::PermissionRequested(ask) = asked.data else { unreachable!() };
        sessions.push((session, ask.permission_id));
    }
    assert_eq!(daemon.descendants().len(), 12, "six turns run, each with a guard and an agent");
    for (session, permission) in &sessions {
        session.reply(permission.as_str(), PermissionReply::Once).await.unwrap();
        session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    }
    for (session, _) in &sessions[..3] {
        session.wait_for(0, disconnected).await;
    }
    for (session, _) in &sessions[3..] {
        let detail = daemon.client.detail(&session.id).await.unwrap();
        assert!(detail.state.connection.is_some(), "{} is within the limit", session.id);
    }
    for (session, _) in &sessions {
        session.history().await;
    }
}
