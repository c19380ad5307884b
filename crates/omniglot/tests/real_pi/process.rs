//! The process of a session with Pi.

use omniglot_schema::{ErrorCode, EventData, Resume, StopReason, UniversalEvent, UniversalEventType};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::Reply;
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::Turn;
use rustix::process::{Pid, Signal, kill_process};

use crate::own::is;

/// Kills the process of the agent itself, without a warning.
fn kill_agent(fixture: &Fixture) {
    let is_agent = |pid: &u32| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.file_name().is_some_and(|name| name == "node")
    };
    let found: Vec<u32> = fixture.daemon.descendants().into_iter().filter(is_agent).collect();
    let [pid] = found[..] else { panic!("one process of the agent: {found:?}") };
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// An agent that is killed in mid turn is resumed by its file with the next prompt.
pub(crate) async fn resume_after_a_crash(pi: &Dialect) {
    let (endless, gate) = Reply::text("This takes a while.").hold();
    let fixture = pi.fixture([Reply::text("I will remember the walrus."), endless]).await;
    let from = fixture.turn("Remember the walrus.").await.last_sequence();
    fixture.session.post("Tell me everything.").await;
    gate.reached().await;
    fixture.session.wait_for(from, is(UniversalEventType::ItemDelta)).await;
    kill_agent(&fixture);
    let last = fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await.sequence;
    let within = |event: &UniversalEvent| from < event.sequence && event.sequence <= last;
    let turn = Turn { events: fixture.session.history().await.into_iter().filter(within).collect() };
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::AgentCrashed), "{turn}");
    let next = fixture.answered("Which animal?", Reply::text("The walrus.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("The walrus.", StopReason::EndTurn), "{next}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("Remember the walrus.") && heard.contains("Which animal?"), "{heard}");
    let events = fixture.session.history().await;
    let resumed = events.iter().rev().find_map(|event| match &event.data {
        EventData::SessionStarted(data) => data.metadata.as_ref()?.resume,
        _ => None,
    });
    assert_eq!(resumed, Some(Resume::Native));
}
