//! What a person does with a session beside talking: stop a turn, change the model or mode, come back later.

use omniglot_schema::{EventData, PermissionReply, QueueOnCancel, SessionPatch, StopReason, UniversalEvent};

use super::Dialect;
use crate::daemon::{Daemon, wait_gone};
use crate::models::Reply;
use crate::stage::Stage;

pub async fn a_cancelled_turn_ends_and_the_next_prompt_works(agent: &Dialect) {
    let (endless, gate) = Reply::text("This takes a while.").hold();
    let stage = agent.stage([endless]).await;
    stage.session.post("Tell me everything.").await;
    gate.reached().await;
    cancelled_after(&stage, |event| matches!(event.data, EventData::ItemDelta(_))).await;
}

pub async fn a_cancel_while_the_agent_asks_rejects_the_request(agent: &Dialect) {
    let stage = agent.asking_stage().await;
    let file = stage.file("made");
    stage.model.push((agent.make)(&file));
    // The refusal may reach the model before the cancel reaches the agent; nobody waits for that answer.
    stage.model.push(Reply::empty().hold().0.forever());
    stage.session.post("Make a file.").await;
    cancelled_after(&stage, |event| matches!(event.data, EventData::PermissionRequested(_))).await;
    assert!(!file.exists());
}

pub async fn a_cancel_stops_a_running_command(agent: &Dialect) {
    let (_stage, running) = cancelled_command(agent).await;
    wait_gone(running);
}

/// For agents that leave it running: nothing outlives the agent.
pub async fn a_cancelled_command_ends_with_its_agent(agent: &Dialect) {
    let (stage, running) = cancelled_command(agent).await;
    stage.session.client.terminate(&stage.session.id).await.expect("the end of the session");
    wait_gone(running);
}

/// Cancels a turn whose command runs; gives the command's process.
async fn cancelled_command(agent: &Dialect) -> (Stage, u32) {
    let stage = agent.stage([]).await;
    stage.model.push((agent.shell)("tail -f /dev/null"));
    stage.session.post("Wait for ever.").await;
    // Some ask and some do not; the command runs in the end.
    let running = tokio::select! {
        never = allow(&stage) => never,
        running = tail(&stage.daemon) => running,
    };
    cancelled_after(&stage, |event| matches!(event.data, EventData::ItemStarted(_))).await;
    (stage, running)
}

/// Answers the request that may come; never ends.
async fn allow(stage: &Stage) -> u32 {
    let asks = |event: &UniversalEvent| matches!(event.data, EventData::PermissionRequested(_));
    if let EventData::PermissionRequested(ask) = stage.session.wait_for(0, asks).await.data {
        stage.session.reply(ask.permission_id.as_str(), PermissionReply::Once).await.expect("a reply");
    }
    std::future::pending().await
}

/// Waits until a `tail` runs below the daemon.
async fn tail(daemon: &Daemon) -> u32 {
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    loop {
        if let Some(pid) = daemon.descendants().into_iter().find(|pid| name(*pid).trim() == "tail") {
            return pid;
        }
        tokio::task::yield_now().await;
    }
}

/// Cancels the running turn when such an event has come, and sees that the session goes on.
async fn cancelled_after(stage: &Stage, wanted: impl Fn(&UniversalEvent) -> bool) {
    let seen = stage.session.wait_for(0, wanted).await.sequence;
    stage.session.client.cancel(&stage.session.id, QueueOnCancel::Keep).await.expect("a cancel");
    let ended = stage.session.wait_for(seen, |event| matches!(event.data, EventData::TurnEnded(_))).await;
    let EventData::TurnEnded(end) = ended.data else { panic!("the end of a turn") };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    let next = stage.answered("Something short, then.", Reply::text("Short.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Short.", StopReason::EndTurn), "{next}");
    stage.session.history().await;
}

pub async fn another_model_is_asked_from_then_on(agent: &Dialect) {
    let (wanted, heard) = agent.other_model;
    let stage = agent.stage([Reply::text("One."), Reply::text("Two.")]).await;
    stage.turn("The first.").await;
    assert_ne!(stage.model.last().model, heard);
    let patch = SessionPatch { model: Some(wanted.to_owned()), ..SessionPatch::default() };
    let detail = stage.session.client.patch(&stage.session.id, &patch).await.expect("another model");
    assert_eq!(detail.state.model.as_deref(), Some(wanted), "{:?}", detail.state.models);
    let turn = stage.turn("The second.").await;
    assert_eq!(turn.text(), "Two.", "{turn}");
    assert_eq!(stage.model.last().model, heard);
    stage.session.history().await;
}

pub async fn another_mode_holds_for_the_next_prompt(agent: &Dialect) {
    let stage = agent.stage([]).await;
    let patch = SessionPatch { permission_mode: Some("acceptEdits".to_owned()), ..SessionPatch::default() };
    let detail = stage.session.client.patch(&stage.session.id, &patch).await.expect("another mode");
    assert_eq!(detail.state.permission_mode.as_deref(), Some("acceptEdits"));
    stage.model.push((agent.write)(&stage.file("made.txt"), "by an accepted edit\n"));
    let turn = stage.answered("Make a file.", Reply::text("Made.")).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("Made.", 0), "{turn}");
    assert!(stage.file("made.txt").exists(), "{turn}");
    stage.session.history().await;
}

pub async fn the_agent_remembers_after_a_restart_of_the_daemon(agent: &Dialect) {
    let stage = agent.stage([Reply::text("I will remember the walrus.")]).await;
    stage.turn("Remember the word walrus.").await;
    let before = stage.session.history().await.len() as u64;
    let stage = stage.restart();
    let turn = stage.answered("Which word?", Reply::text("Walrus.")).await;
    assert_eq!(turn.text(), "Walrus.", "{turn}");
    let heard = stage.model.last().text();
    assert!(heard.contains("Remember the word walrus.") && heard.contains("Which word?"), "{heard}");
    let events = stage.session.history().await;
    let after = events.get(before as usize..).expect("later events");
    let forgot = crate::drive::labels(after).iter().any(|label| label.ends_with(".memory_lost"));
    assert!(!forgot, "{turn}");
    // What the agent replays of the past is not told again.
    assert_eq!(crate::drive::text_of(after), "Walrus.");
}
