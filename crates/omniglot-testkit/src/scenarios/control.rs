//! A person's control of a session beside prompts: cancel a turn, change the model or mode, resume later.

use omniglot_schema::{
    CreateSessionRequest, EventData, ItemKind, PermissionReply, QueueOnCancel, SessionPatch, StopReason,
    UniversalEvent,
};

use super::Dialect;
use crate::daemon::{Daemon, Setup, wait_gone};
use crate::fixture::Fixture;
use crate::models::Reply;
use crate::session_driver::{SessionDriver, labels, text_of};

/// A cancelled turn ends and the next prompt works.
pub async fn interrupt(agent: &Dialect) {
    let (endless, gate) = Reply::text("This takes a while.").hold();
    let fixture = agent.fixture([endless]).await;
    fixture.session.post("Tell me everything.").await;
    gate.reached().await;
    cancelled_after(&fixture, |event| matches!(event.data, EventData::ItemDelta(_))).await;
}

pub async fn a_cancel_while_the_agent_asks_rejects_the_request(agent: &Dialect) {
    let fixture = agent.asking_fixture().await;
    let file = fixture.file("made");
    fixture.model.push((agent.make)(&file));
    // The refusal may reach the model before the cancel reaches the agent; no test waits for that answer.
    fixture.model.push(Reply::empty().hold().0.forever());
    fixture.session.post("Make a file.").await;
    cancelled_after(&fixture, |event| matches!(event.data, EventData::PermissionRequested(_))).await;
    assert!(!file.exists());
}

/// A cancel stops a running command.
pub async fn interrupt_ends_a_running_command(agent: &Dialect) {
    let (_fixture, running) = cancelled_command(agent).await;
    wait_gone(running);
}

/// For agents that leave the command running: no process outlives the agent.
pub async fn a_cancelled_command_ends_with_its_agent(agent: &Dialect) {
    let (fixture, running) = cancelled_command(agent).await;
    fixture.session.client.terminate(&fixture.session.id).await.expect("the end of the session");
    wait_gone(running);
}

/// Also for agents whose process is a server that lives on.
pub async fn a_terminated_session_stops_its_running_command(agent: &Dialect) {
    let (fixture, running) = running_command(agent).await;
    fixture.session.client.terminate(&fixture.session.id).await.expect("the end of the session");
    wait_gone(running);
    let ended = fixture.session.wait_for(0, |event| matches!(event.data, EventData::TurnEnded(_))).await;
    let EventData::TurnEnded(end) = ended.data else { panic!("the end of a turn") };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    fixture.session.history().await;
}

/// A chain of short commands that asks nobody stops between two of them: the model is not called any more.
pub async fn a_terminated_session_makes_no_more_calls_of_the_model(agent: &Dialect) {
    let model = (agent.script)().reply((agent.shell)("echo again").forever()).start();
    let real = (agent.agent)(&model);
    // Some agents skip permissions as root in a sandbox only.
    let daemon = Setup::new(agent.program).config(format!("sandbox = true\n{}", real.toml())).start();
    let mut request = CreateSessionRequest::new(real.name());
    request.permission_mode = Some("bypass".to_owned());
    let session = SessionDriver::create_with(&daemon.client, "chain", &request).await;
    session.post("Go on for ever.").await;
    let result = |event: &UniversalEvent| matches!(&event.data, EventData::ItemCompleted(data) if data.item.kind == ItemKind::ToolResult);
    let first = session.wait_for(0, result).await.sequence;
    session.wait_for(first, result).await;
    session.client.terminate(&session.id).await.expect("the end of the session");
    // A title is asked for without tools.
    let calls = || model.requests().iter().filter(|request| !request.tools.is_empty()).count();
    let before = calls();
    model.push(Reply::text("Other."));
    // A call of the first session would take the answer of the second.
    let other = SessionDriver::create_with(&daemon.client, "other", &request).await;
    let turn = other.turn("And you?", PermissionReply::Reject).await;
    assert_eq!(turn.text(), "Other.", "{turn}");
    assert_eq!(calls(), before + 1);
    session.history().await;
    drop(daemon);
}

/// Cancels a turn whose command runs; gives the command's process.
async fn cancelled_command(agent: &Dialect) -> (Fixture, u32) {
    let (fixture, running) = running_command(agent).await;
    cancelled_after(&fixture, |event| matches!(event.data, EventData::ItemStarted(_))).await;
    (fixture, running)
}

/// Begins a turn whose command never ends; gives the command's process.
async fn running_command(agent: &Dialect) -> (Fixture, u32) {
    let fixture = agent.fixture([]).await;
    fixture.model.push((agent.shell)("tail -f /dev/null"));
    fixture.session.post("Wait for ever.").await;
    // Some agents ask for permission and some do not; the command runs in either case.
    let running = tokio::select! {
        never = allow(&fixture) => never,
        running = tail(&fixture.daemon) => running,
    };
    (fixture, running)
}

/// Answers a permission request, if one arrives; never ends.
async fn allow(fixture: &Fixture) -> u32 {
    let asks = |event: &UniversalEvent| matches!(event.data, EventData::PermissionRequested(_));
    if let EventData::PermissionRequested(ask) = fixture.session.wait_for(0, asks).await.data {
        fixture.session.reply(ask.permission_id.as_str(), PermissionReply::Once).await.expect("a reply");
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

/// Cancels the running turn after such an event, and checks that the session continues.
async fn cancelled_after(fixture: &Fixture, wanted: impl Fn(&UniversalEvent) -> bool) {
    let seen = fixture.session.wait_for(0, wanted).await.sequence;
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.expect("a cancel");
    let ended = fixture.session.wait_for(seen, |event| matches!(event.data, EventData::TurnEnded(_))).await;
    let EventData::TurnEnded(end) = ended.data else { panic!("the end of a turn") };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    let next = fixture.answered("Something short, then.", Reply::text("Short.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Short.", StopReason::EndTurn), "{next}");
    fixture.session.history().await;
}

/// Another model is asked from then on.
pub async fn model_switch(agent: &Dialect) {
    let (wanted, heard) = agent.other_model;
    let fixture = agent.fixture([Reply::text("One."), Reply::text("Two.")]).await;
    fixture.turn("The first.").await;
    assert_ne!(fixture.model.last().model, heard);
    let patch = SessionPatch { model: Some(wanted.to_owned()), ..SessionPatch::default() };
    let detail = fixture.session.client.patch(&fixture.session.id, &patch).await.expect("another model");
    assert_eq!(detail.state.model.as_deref(), Some(wanted), "{:?}", detail.state.models);
    let turn = fixture.turn("The second.").await;
    assert_eq!(turn.text(), "Two.", "{turn}");
    assert_eq!(fixture.model.last().model, heard);
    fixture.session.history().await;
}

/// Another mode holds for the next prompt.
pub async fn mode_switch(agent: &Dialect) {
    let fixture = agent.fixture([]).await;
    let patch = SessionPatch { permission_mode: Some("acceptEdits".to_owned()), ..SessionPatch::default() };
    let detail = fixture.session.client.patch(&fixture.session.id, &patch).await.expect("another mode");
    assert_eq!(detail.state.permission_mode.as_deref(), Some("acceptEdits"));
    fixture.model.push((agent.write)(&fixture.file("made.txt"), "by an accepted edit\n"));
    let turn = fixture.answered("Make a file.", Reply::text("Made.")).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("Made.", 0), "{turn}");
    assert!(fixture.file("made.txt").exists(), "{turn}");
    fixture.session.history().await;
}

/// The agent remembers after each restart of the daemon: Gemini forgot at the second (A16).
pub async fn resume_after_a_restart(agent: &Dialect) {
    let mut fixture = agent.fixture([Reply::text("I will remember the walrus.")]).await;
    fixture.turn("Remember the word walrus.").await;
    let said = [("Which word?", "Walrus."), ("Which word was it?", "Still walrus.")];
    for (question, answer) in said {
        let before = fixture.session.history().await.len();
        fixture = fixture.restart();
        let turn = fixture.answered(question, Reply::text(answer)).await;
        assert_eq!(turn.text(), answer, "{turn}");
        let heard = fixture.model.last().text();
        assert!(heard.contains("Remember the word walrus.") && heard.contains(question), "{heard}");
        let events = fixture.session.history().await;
        let after = events.get(before..).expect("later events");
        let forgot = labels(after).iter().any(|label| label.ends_with(".memory_lost"));
        assert!(!forgot, "{turn}");
        // The history that the agent replays is not emitted again.
        assert_eq!(text_of(after), answer);
    }
}
