//! Tests how long a turn took, by a clock that nobody sets.

use std::time::Duration;

use super::*;

fn duration(session: &Session) -> u64 {
    let ended = |emitted: &Emitted| match &emitted.event.data {
        EventData::TurnEnded(end) => Some(end.metadata.duration_ms),
        _ => None,
    };
    session.said.iter().find_map(ended).unwrap()
}

fn turn(begin: (i64, u64), end: (i64, u64)) -> u64 {
    let mut session = Session::new();
    session.end_turn();
    session.said.clear();
    let stamp = |(second, ticks)| {
        let now = Timestamp::from_second(second).unwrap();
        Stamp { ticks: Some(Duration::from_secs(ticks)), ..Stamp::agent(now, 1) }
    };
    let begun = Draft::TurnStarted(Origin::User { message_id: None, content: vec![] });
    session.timeline.apply(begun, stamp(begin), &mut session.said);
    let ended = Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn));
    session.timeline.apply(ended, stamp(end), &mut session.said);
    duration(&session)
}

#[test]
fn a_turn_takes_as_long_as_it_does_whatever_is_done_to_the_clock() {
    assert_eq!(turn((1000, 5), (1003, 8)), 3000);
    assert_eq!(turn((1000, 5), (5000, 8)), 3000, "the clock was set forward");
    assert_eq!(turn((1000, 5), (200, 8)), 3000, "and back");
}
