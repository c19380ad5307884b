//! The process of a session: one for many prompts, gone without a trace, and restarted after a crash.

use omniglot_schema::{
    CreateSessionRequest, ErrorCode, EventData, PermissionReply, QueueOnCancel, ResolvedBy, StopReason,
    UniversalEvent, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Setup, wait_gone};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Model, Reply, Role};
use omniglot_testkit::session_driver::{SessionDriver, text_of};
use rustix::process::{Pid, Signal, kill_process};

use super::CLAUDE;
use super::follow::{agent_pid, is, now, turn_after};

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[tokio::test]
async fn one_process_answers_prompt_after_prompt() {
    let fixture = CLAUDE.fixture([Reply::text("One."), Reply::text("Two.")]).await;
    fixture.turn("The first.").await;
    let pid = agent_pid(&fixture);
    fixture.turn("The second.").await;
    assert_eq!(agent_pid(&fixture), pid);
}

/// An agent that crashes in mid turn is resumed by the next prompt.
#[tokio::test]
async fn resume_after_a_crash() {
    let (endless, gate) = Reply::text("This takes a while.").hold();
    let fixture = CLAUDE.fixture([Reply::text("I will remember the walrus."), endless]).await;
    fixture.turn("Remember the walrus.").await;
    let from = now(&fixture).await;
    fixture.session.post("Tell me everything.").await;
    gate.reached().await;
    fixture.session.wait_for(from, is(UniversalEventType::ItemDelta)).await;
    kill(agent_pid(&fixture));
    let turn = turn_after(&fixture, from).await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::AgentCrashed), "{turn}");
    let next = fixture.answered("Which animal?", Reply::text("The walrus.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("The walrus.", StopReason::EndTurn), "{next}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("Remember the walrus.") && heard.contains("Which animal?"), "{heard}");
}

/// Starts a command that never ends; returns the pid of its shell.
async fn endless_shell(fixture: &Fixture) -> u32 {
    fixture.model.push((CLAUDE.shell)("echo $$ > shell; mv shell pid; while :; do sleep 1; done"));
    let session = &fixture.session;
    session.post("Wait for ever.").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(asked) = asked.data else { panic!("a permission") };
    session.reply(asked.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    let file = fixture.file("pid");
    // No event reports that a command has come so far.
    let read = tokio::task::spawn_blocking(move || {
        loop {
            match std::fs::read_to_string(&file) {
                Ok(text) => return text.trim().parse().unwrap(),
                Err(_) => std::thread::yield_now(),
            }
        }
    });
    read.await.unwrap()
}

#[tokio::test]
async fn trap_a_tool_shell_in_a_session_of_its_own_ends_with_a_terminated_session() {
    let fixture = CLAUDE.fixture([]).await;
    let shell = endless_shell(&fixture).await;
    let below = fixture.daemon.descendants();
    assert!(below.contains(&shell), "{shell} in {below:?}");
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
    below.into_iter().for_each(wait_gone);
}

/// A session whose agent waits for a permission. The model has nothing more to say: a request that comes after
/// all fails the test.
async fn asking(fixture: &Fixture) -> u64 {
    fixture.model.push((CLAUDE.make)(&fixture.file("made")));
    fixture.session.post("Make it.").await;
    fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await.sequence
}

/// How the turn after `from` went: the resolution of its request, then its end.
async fn resolved_and_ended(fixture: &Fixture, from: u64) -> (Option<ResolvedBy>, StopReason) {
    let turn = turn_after(fixture, from).await;
    let resolved = turn.events.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => data.metadata.as_ref()?.resolved_by,
        _ => None,
    });
    (resolved, turn.stop_reason())
}

#[tokio::test]
async fn a_session_that_is_terminated_while_it_asks_does_nothing_more() {
    let fixture = CLAUDE.fixture([]).await;
    let asked = asking(&fixture).await;
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
    assert_eq!(resolved_and_ended(&fixture, asked).await, (Some(ResolvedBy::Cancel), StopReason::Cancelled));
    assert_eq!(fixture.model.conversation().len(), 1);
    assert!(!fixture.file("made").exists());
}

#[tokio::test]
async fn a_session_whose_daemon_is_stopped_while_it_asks_does_nothing_more() {
    let fixture = CLAUDE.fixture([]).await;
    let asked = asking(&fixture).await;
    let fixture = fixture.restart();
    assert_eq!(resolved_and_ended(&fixture, asked).await, (Some(ResolvedBy::Restart), StopReason::Error));
    assert_eq!(fixture.model.conversation().len(), 1);
    assert!(!fixture.file("made").exists());
}

#[tokio::test]
async fn trap_a_tool_shell_in_a_session_of_its_own_ends_when_its_agent_is_killed() {
    let fixture = CLAUDE.fixture([]).await;
    let shell = endless_shell(&fixture).await;
    kill(agent_pid(&fixture));
    let turn = turn_after(&fixture, 0).await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    assert_eq!(turn.outputs().len(), 1, "{turn}");
    wait_gone(shell);
    let next = fixture.answered("Still there?", Reply::text("Yes.")).await;
    assert_eq!(next.text(), "Yes.", "{next}");
}

/// A cancel while a command runs ends it and the turn.
#[tokio::test]
async fn interrupt_ends_a_running_command() {
    let fixture = CLAUDE.fixture([]).await;
    let shell = endless_shell(&fixture).await;
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
    let turn = turn_after(&fixture, 0).await;
    assert_eq!((turn.stop_reason(), turn.outputs().len()), (StopReason::Cancelled, 1), "{turn}");
    wait_gone(shell);
    let next = fixture.answered("Still there?", Reply::text("Yes.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Yes.", StopReason::EndTurn), "{next}");
}

#[tokio::test]
async fn trap_prompts_that_wait_are_answered_in_turns_of_their_own() {
    let (slow, gate) = Reply::empty().hold();
    let fixture = CLAUDE.fixture([slow.and_text("One."), Reply::text("Two."), Reply::text("Three.")]).await;
    fixture.session.post("The first.").await;
    gate.reached().await;
    fixture.session.post("The second.").await;
    fixture.session.post("The third.").await;
    gate.open();
    let mut from = 0;
    for answer in ["One.", "Two.", "Three."] {
        let ended = fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await.sequence;
        let events = fixture.session.history_with(MIDDLE).await;
        let turn: Vec<_> =
            events.into_iter().filter(|event| (from + 1..=ended).contains(&event.sequence)).collect();
        assert_eq!(text_of(&turn), answer);
        from = ended;
    }
    let last = fixture.model.last().messages;
    let prompts = last.iter().filter(|message| message.role == Role::User).count();
    assert_eq!(prompts, 3, "{last:?}");
}

#[tokio::test]
async fn a_process_that_rests_is_ended_and_the_agent_remembers() {
    let model = Model::anthropic().reply(Reply::text("I will remember the walrus.")).start();
    let agent = RealAgent::claude(&model);
    let config = format!("[limits]\nidle_seconds = 1\n\n{}", agent.toml());
    let daemon = Setup::new(CLAUDE.program).config(config).start();
    let session =
        SessionDriver::create_with(&daemon.client, "real", &CreateSessionRequest::new("claude")).await;
    session.turn("Remember the walrus.", PermissionReply::Once).await;
    let below = daemon.descendants();
    let rests = |event: &UniversalEvent| matches!(&event.data, EventData::SessionUpdated(patch) if patch.connection == Some(None));
    session.wait_for(0, rests).await;
    below.into_iter().for_each(wait_gone);
    model.push(Reply::text("The walrus."));
    let turn = session.turn("Which animal?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "The walrus.", "{turn}");
    assert!(model.last().text().contains("Remember the walrus."));
    session.history().await;
    drop(daemon);
}

#[tokio::test]
async fn trap_a_result_that_never_comes_ends_the_turn_after_a_silence() {
    let (endless, _gate) = Reply::empty().hold();
    let model = Model::anthropic().reply(endless).start();
    let agent = RealAgent::claude(&model);
    let config = format!("[limits]\nsilence_seconds = 5\n\n{}", agent.toml());
    let daemon = Setup::new(CLAUDE.program).config(config).start();
    let session =
        SessionDriver::create_with(&daemon.client, "real", &CreateSessionRequest::new("claude")).await;
    let turn = session.turn("Say nothing.", PermissionReply::Once).await;
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::Timeout), "{turn}");
    model.push(Reply::text("Here I am."));
    let next = session.turn("Still there?", PermissionReply::Once).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Here I am.", StopReason::EndTurn), "{next}");
    session.history().await;
    drop(daemon);
}

const MIDDLE: omniglot_timeline::check::Allow =
    omniglot_timeline::check::Allow { open_turn: true, unparsed: false };
