//! Who an event is from (T2): the agent only where a frame of the agent says it, else the daemon.

use omniglot_schema::{EventData, EventSource, PermissionStatus};

use super::Session;
use crate::draft::{Body, Draft, Outcome, ToolResult, Unparsed};
use crate::timeline::{Stamp, Timestamp};

impl Session {
    /// The type and the source of each event since `from`; source and `synthetic` agree.
    fn sources(&self, from: usize) -> Vec<(&'static str, EventSource)> {
        let events = self.said.iter().skip(from).map(|emitted| &emitted.event);
        let source = |event: &omniglot_schema::UniversalEvent| {
            assert_eq!(event.synthetic, event.source == EventSource::Daemon);
            (event.kind().as_str(), event.source)
        };
        events.map(source).collect()
    }
}

const AGENT: EventSource = EventSource::Agent;
const DAEMON: EventSource = EventSource::Daemon;

#[test]
fn a_frame_that_was_not_understood_is_told_by_the_daemon_and_keeps_its_frame() {
    let mut session = Session::new();
    let from = session.said.len();
    let unparsed = Unparsed { error: "e".into(), location: "stdout".into(), raw_hash: None };
    session.timeline.unparsed(unparsed, Stamp::agent(Timestamp::UNIX_EPOCH, 7), &mut session.said);
    assert_eq!(session.sources(from), [("agent.unparsed", DAEMON)]);
    assert_eq!(session.said[from].frame, Some(7));
}

#[test]
fn the_start_of_an_item_that_the_agent_only_extended_is_the_daemons() {
    let mut session = Session::new();
    let from = session.said.len();
    session.draft(Draft::ItemDelta { key: "m".into(), delta: "Hi".into() });
    assert_eq!(session.sources(from), [("item.started", DAEMON), ("item.delta", AGENT)]);
}

#[test]
fn the_start_and_the_delta_of_an_item_that_the_agent_only_completed_are_the_daemons() {
    let mut session = Session::new();
    let from = session.said.len();
    session.end("m", Outcome::Completed, Some(Body::assistant_text("Hi")));
    let told = [("item.started", DAEMON), ("item.delta", DAEMON), ("item.completed", AGENT)];
    assert_eq!(session.sources(from), told);
}

#[test]
fn the_call_of_a_result_that_the_agent_never_started_is_the_daemons() {
    let mut session = Session::new();
    let from = session.said.len();
    session.runs("c");
    let told = [("item.started", DAEMON), ("item.completed", DAEMON), ("item.started", AGENT)];
    assert_eq!(session.sources(from), told);
}

#[test]
fn the_call_and_the_result_of_a_request_without_a_call_are_the_daemons() {
    let mut session = Session::new();
    let from = session.said.len();
    session.ask("p");
    session.resolve("p", PermissionStatus::Accept);
    let items = session.said[from..].iter().filter(|emitted| {
        matches!(emitted.event.data, EventData::ItemStarted(_) | EventData::ItemCompleted(_))
    });
    assert!(items.clone().count() == 4 && items.clone().all(|item| item.event.source == DAEMON));
}

#[test]
fn the_result_that_a_call_has_not_got_at_the_end_of_its_turn_is_the_daemons() {
    let mut session = Session::new();
    session.call("c");
    let from = session.said.len();
    session.end_turn();
    let told = [("item.started", DAEMON), ("item.completed", DAEMON), ("turn.ended", AGENT)];
    assert_eq!(session.sources(from), told);
}

#[test]
fn the_start_of_a_result_that_comes_whole_is_the_agents() {
    let mut session = Session::new();
    session.call("c");
    let from = session.said.len();
    session.finish("c", Outcome::Completed, ToolResult::default());
    assert_eq!(session.sources(from), [("item.started", AGENT), ("item.completed", AGENT)]);
}

#[test]
fn what_the_agent_says_too_late_is_the_agents_with_or_without_a_start() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.end_turn();
    let from = session.said.len();
    let late = ToolResult { output: "x".into(), ..ToolResult::default() };
    session.finish("c", Outcome::Completed, late);
    session.end("m", Outcome::Completed, Some(Body::assistant_text("Hi")));
    let item = [("item.started", AGENT), ("item.completed", AGENT)];
    assert_eq!(session.sources(from), [item, item].concat());
}
