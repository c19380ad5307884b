//! Order, holds and limits of a queue, by told times.

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn call(session: &str, no: u64, since: Instant) -> Delivery {
    let session = SessionId::parse(session).unwrap();
    let event = EventId(format!("evt_{session}_{no}"));
    Delivery::new(Some(no), (session, no), (event, UniversalEventType::TurnEnded), since)
}

fn queue(limit: usize) -> Queue {
    Queue::new(limit, CommitPosition { no: 0, partly: None })
}

fn sent(next: Next) -> String {
    match next {
        Next::Send(delivery) => delivery.event.0,
        other => panic!("{other:?}"),
    }
}

fn second(_failures: u32) -> Duration {
    Duration::from_secs(1)
}

#[test]
fn a_refused_call_holds_up_its_session_and_no_other() {
    let now = Instant::now();
    let mut queue = queue(10);
    for (session, no) in [("a", 1), ("a", 2), ("b", 3)] {
        assert_eq!(queue.push(call(session, no, now)), None);
    }
    let first = EventId("evt_a_1".into());
    assert_eq!(sent(queue.next(now)), first.0);
    assert!(queue.failed(&first, Hold::Session, second, now, DAY).is_empty());
    assert_eq!(sent(queue.next(now)), "evt_b_3", "the second call of `a` does not overtake the first");
    queue.done(&EventId("evt_b_3".into()));
    assert_eq!(queue.next(now), Next::Wait(now + Duration::from_secs(1)));
    let later = now + Duration::from_secs(1);
    assert_eq!(sent(queue.next(later)), first.0);
    queue.done(&first);
    assert_eq!(sent(queue.next(later)), "evt_a_2");
}

#[test]
fn a_receiver_that_is_away_holds_up_everything() {
    let now = Instant::now();
    let mut queue = queue(10);
    queue.push(call("a", 1, now));
    queue.push(call("b", 2, now));
    assert_eq!(sent(queue.next(now)), "evt_a_1");
    queue.failed(&EventId("evt_a_1".into()), Hold::All, second, now, DAY);
    assert_eq!(queue.next(now), Next::Wait(now + Duration::from_secs(1)));
}

#[test]
fn the_cursor_stays_before_the_oldest_call_that_waits() {
    let now = Instant::now();
    let mut queue = queue(10);
    queue.push(call("a", 4, now));
    queue.push(call("b", 6, now));
    let read = CommitPosition { no: 9, partly: None };
    queue.advance(read);
    assert_eq!(queue.cursor(), CommitPosition { no: 4, partly: Some(3) });
    queue.done(&EventId("evt_b_6".into()));
    assert_eq!(queue.cursor(), CommitPosition { no: 4, partly: Some(3) });
    queue.done(&EventId("evt_a_4".into()));
    assert_eq!(queue.cursor(), read);
}

#[test]
fn a_full_queue_gives_up_its_oldest_call_but_not_the_one_under_way() {
    let now = Instant::now();
    let mut queue = queue(2);
    queue.push(call("a", 1, now));
    queue.push(call("a", 2, now));
    assert_eq!(sent(queue.next(now)), "evt_a_1");
    assert_eq!(queue.push(call("a", 3, now)).unwrap().event.0, "evt_a_2");
    queue.done(&EventId("evt_a_1".into()));
    queue.push(call("a", 4, now));
    assert_eq!(queue.push(call("a", 5, now)).unwrap().event.0, "evt_a_3");
    assert_eq!(queue.len(), 2);
}

#[test]
fn calls_that_have_waited_for_a_day_are_given_up_when_the_next_one_fails() {
    let now = Instant::now();
    let mut queue = queue(10);
    queue.push(call("a", 1, now));
    queue.push(call("b", 2, now));
    queue.push(call("c", 3, now + DAY));
    let later = now + DAY;
    assert_eq!(sent(queue.next(later)), "evt_a_1");
    let over = queue.failed(&EventId("evt_a_1".into()), Hold::All, second, later, DAY);
    assert_eq!(over.iter().map(|call| &*call.event.0).collect::<Vec<_>>(), ["evt_a_1", "evt_b_2"]);
    assert_eq!(queue.len(), 1);
}

#[test]
fn dead_letters_come_first_and_hold_no_cursor_back() {
    let now = Instant::now();
    let mut queue = queue(3);
    queue.push(call("a", 7, now));
    let dead = |no| Delivery { commit: None, ..call("a", no, now) };
    let revived = queue.revive(vec![dead(1), dead(2), dead(3)]);
    assert_eq!(revived.len(), 2, "as many as there is room for");
    assert_eq!(queue.cursor(), CommitPosition { no: 7, partly: Some(6) });
    assert_eq!(sent(queue.next(now)), "evt_a_1");
    queue.failed(&EventId("evt_a_1".into()), Hold::All, second, now, DAY);
    assert_eq!(queue.next(now), Next::Wait(now + Duration::from_secs(1)));
    assert!(queue.revive(vec![dead(1)]).is_empty(), "it waits already");
    assert_eq!(sent(queue.next(now)), "evt_a_1", "and is sent at once when somebody asks for it");
}

#[test]
fn pauses_double_up_to_ten_minutes_and_are_spread_over_their_second_half() {
    for random in [0, 1, u64::MAX / 2, u64::MAX] {
        for failures in 0..200 {
            let seconds = 2f64.powi(i32::try_from(failures).unwrap().clamp(1, 30) - 1).min(600.0);
            let pause = pause(failures, random).as_secs_f64();
            assert!(pause >= seconds / 2.0 && pause <= seconds + 1e-6, "{failures}: {pause}");
        }
    }
}
