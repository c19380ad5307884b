//! `omniglot sessions`: list, show, tail, send, cancel, terminate, rm, with and without a daemon.

use std::io::{BufRead as _, BufReader};

use omniglot_schema::{EventData, SessionDetail, SessionInfo, SessionStatus, StopReason, UniversalEvent};
use omniglot_testkit::validate::assert_lawful;
use serde_json::Value;

use super::harness::{Finished, Harness};
use super::terminal::Terminal;

pub(crate) fn sessions(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(&[&["sessions"], args].concat()))
}

pub(crate) fn ids(harness: &Harness, filter: &[&str]) -> Vec<String> {
    let listed = sessions(harness, &[&["list", "--json"], filter].concat());
    let info = |line: &str| serde_json::from_str::<SessionInfo>(line).unwrap().session_id.to_string();
    listed.exited(0).stdout.lines().map(info).collect()
}

fn detail(harness: &Harness, id: &str) -> SessionDetail {
    serde_json::from_str(&sessions(harness, &["show", "--json", id]).exited(0).stdout).unwrap()
}

pub(crate) fn turn_ended(event: &UniversalEvent) -> bool {
    matches!(event.data, EventData::TurnEnded(_))
}

/// Starts a daemon in whose session `s` a turn runs that does not end by itself.
fn busy(harness: &Harness) -> super::harness::Daemon {
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    sessions(harness, &["send", "s", "[[silence]]", "--no-wait"]).exited(0);
    let mut tail = harness.start(&["sessions", "tail", "s", "--follow", "--json"]);
    let mut turns = 0;
    while turns < 2 {
        let event: UniversalEvent = serde_json::from_str(&tail.next_line()).unwrap();
        turns += usize::from(matches!(event.data, EventData::TurnStarted(_)));
    }
    daemon
}

#[test]
fn sessions_are_listed_newest_first_without_a_daemon() {
    let harness = Harness::new();
    let none = sessions(&harness, &["list"]);
    assert_eq!(none.exited(0).stdout, "");
    assert!(none.stderr.contains("there are no sessions"), "{none:?}");
    harness.run(&["--session", "first", "[[text:1]]"]).exited(0);
    harness.run(&["--session", "second", "[[text:1]]"]).exited(0);
    sessions(&harness, &["terminate", "first"]).exited(0);
    let listed = sessions(&harness, &["list"]);
    let rows: Vec<Vec<&str>> =
        listed.exited(0).stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["ID", "AGENT", "STATUS", "UPDATED", "EVENTS", "DIRECTORY", "TITLE"]);
    assert_eq!(
        (&rows[1][..3], &rows[2][..3]),
        (&["second", "mock", "idle"][..], &["first", "mock", "ended"][..])
    );
    assert_eq!(ids(&harness, &[]), ["second", "first"]);
    assert_eq!(ids(&harness, &["--ended"]), ["first"]);
    assert_eq!(ids(&harness, &["--open"]), ["second"]);
    assert_eq!(ids(&harness, &["-n", "1"]), ["second"]);
    assert_eq!(ids(&harness, &["--agent", "nobody"]), Vec::<String>::new());
    let such = sessions(&harness, &["list", "--agent", "nobody"]);
    assert!(such.exited(0).stderr.contains("there are no such sessions"), "{such:?}");
    sessions(&harness, &["list", "-n", "0"]).exited(2);
}

#[test]
fn a_list_fits_its_terminal_and_is_whole_in_a_pipe() {
    let harness = Harness::new();
    let long = "a-session-with-a-name-that-is-rather-long";
    harness.run(&["--session", long, "[[text:1]]"]).exited(0);
    let mut terminal = Terminal::run(&harness, 100, &["sessions", "list"]);
    assert!(terminal.finish().success());
    let screen = terminal.screen();
    let row = screen.lines().find(|line| line.starts_with(long)).unwrap();
    assert!(row.chars().count() <= 100 && row.contains('…'), "{screen}");
    assert!(!sessions(&harness, &["list"]).exited(0).stdout.contains('…'));
}

#[test]
fn a_session_is_shown_by_the_beginning_of_its_id() {
    let harness = Harness::new();
    for name in ["alpha-1", "alpha-2", "beta", "beta-2"] {
        harness.run(&["--session", name, "[[text:1]]"]).exited(0);
    }
    let shown = sessions(&harness, &["show", "alpha-2"]);
    assert!(
        shown
            .exited(0)
            .stdout
            .starts_with("session     alpha-2\ntitle       [[text:1]]\nagent       mock\nstatus      idle\n"),
        "{shown:?}"
    );
    assert_eq!(detail(&harness, "alpha-1").info.session_id.as_str(), "alpha-1");
    assert_eq!(detail(&harness, "beta").info.session_id.as_str(), "beta", "a whole id is never a beginning");
    let several = sessions(&harness, &["show", "alpha"]);
    assert!(
        several.exited(2).stderr.contains("2 sessions begin with alpha: alpha-2, alpha-1"),
        "{several:?}"
    );
    let none = sessions(&harness, &["show", "gamma"]);
    assert!(none.exited(1).stderr.contains("no session gamma"), "{none:?}");
    assert!(none.stderr.contains("omniglot sessions list"), "{none:?}");
    sessions(&harness, &["show", "a b"]).exited(2);
}

#[test]
fn a_transcript_reads_as_the_run_did_and_has_what_was_asked() {
    let harness = Harness::new();
    let run = harness.run(&["--session", "s", "--approve", "once", "[[demo]]"]);
    let said = run.exited(0).stdout.split_once("\n\n").unwrap().1;
    let tail = sessions(&harness, &["tail", "s"]);
    assert_eq!(tail.exited(0).stdout, format!("› [[demo]]\n\n{said}"));
    assert!(said.starts_with("~ "), "a thought is marked in a pipe: {said}");
}

#[test]
fn a_transcript_as_json_is_the_whole_stream_with_native_messages_on_demand() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[text:3]]"]).exited(0);
    let events = sessions(&harness, &["tail", "s", "--json"]).exited(0).events();
    assert_lawful(&events);
    assert!(events.iter().all(|event| event.raw.is_none()));
    let raw = sessions(&harness, &["tail", "s", "--json", "--raw"]).exited(0).events();
    assert_eq!(raw.len(), events.len());
    assert!(raw.iter().any(|event| event.raw.is_some()));
    let readable = sessions(&harness, &["tail", "s", "--raw"]);
    assert!(readable.exited(0).stdout.contains("« {\"jsonrpc\":\"2.0\""), "{readable:?}");
    sessions(&harness, &["tail", "nobody"]).exited(1);
}

#[test]
fn following_goes_on_with_the_next_turn_until_ctrl_c() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    tail.events_until(turn_ended);
    sessions(&harness, &["send", "s", "[[text:2]]"]).exited(0);
    tail.events_until(turn_ended);
    tail.interrupt();
    tail.finish().exited(130);
    daemon.stop().exited(0);
}

#[test]
fn following_ends_with_the_session_and_outlives_its_daemon() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    tail.events_until(turn_ended);
    daemon.kill();
    tail.wait_for_stderr("looking for it again");
    // The command has not become the daemon itself: another one can.
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    tail.events_until(turn_ended);
    sessions(&harness, &["rm", "s", "--yes"]).exited(0);
    let finished = tail.finish();
    assert!(finished.exited(0).stderr.contains("the session was deleted"), "{finished:?}");
    daemon.stop().exited(0);
}

#[test]
fn whoever_stops_watching_leaves_the_turns_of_others_alone() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    tail.events_until(turn_ended);
    let mut run = harness.start(&["run", "--json", "[[silence]]"]);
    let mut events = run.events_until(super::is_user_item);
    tail.interrupt();
    tail.wait_for_stderr("other turns still run here");
    run.interrupt();
    events.extend(run.finish().exited(130).events());
    assert_eq!(super::stop_reason(&events), StopReason::Cancelled);
    tail.finish().exited(130);
}

#[test]
fn following_ends_when_nobody_reads_it_any_more() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut tail =
        harness.command(&["sessions", "tail", "s", "-f", "--json"]).stdout(writer).spawn().unwrap();
    let mut first = String::new();
    let mut reader = BufReader::new(reader);
    while !first.contains("turn.ended") {
        first.clear();
        reader.read_line(&mut first).unwrap();
    }
    // From here on the session is silent.
    drop(reader);
    assert_eq!(tail.wait().unwrap().code(), Some(0));
}

/// Returns the number of queued messages in session `s`.
fn queued(harness: &Harness) -> usize {
    let queue = detail(harness, "s").state.queue;
    queue.map_or(0, |queue| queue.inline().unwrap().len())
}

#[test]
fn whoever_only_looks_delivers_nothing() {
    let harness = Harness::new();
    let daemon = busy(&harness);
    sessions(&harness, &["send", "s", "[[permission]]", "--no-wait"]).exited(0);
    daemon.kill();
    assert_eq!(ids(&harness, &[]), ["s"]);
    let closed = detail(&harness, "s");
    assert_eq!((closed.status, queued(&harness)), (SessionStatus::Idle, 1), "{closed:?}");
    let transcript = sessions(&harness, &["tail", "s"]);
    assert!(transcript.exited(0).stdout.contains("daemon_restarted"), "{transcript:?}");
    // A persistent daemon delivers it, and another client answers.
    let daemon = harness.serve(&[]);
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    tail.events_until(|event| matches!(event.data, EventData::PermissionRequested(_)));
    assert_eq!(queued(&harness), 0);
    let answered = sessions(&harness, &["answer", "s", "once"]);
    assert!(answered.exited(0).stdout.ends_with(": allowed once\n"), "{answered:?}");
    tail.events_until(turn_ended);
    daemon.stop().exited(0);
}

#[test]
fn a_message_that_waits_for_a_daemon_can_be_dropped() {
    let harness = Harness::new();
    let daemon = busy(&harness);
    sessions(&harness, &["send", "s", "[[permission]]", "--no-wait"]).exited(0);
    daemon.kill();
    assert_eq!(queued(&harness), 1);
    sessions(&harness, &["cancel", "s", "--drop-queue"]).exited(0);
    assert_eq!(queued(&harness), 0);
}

#[test]
fn a_run_whose_message_is_removed_from_the_queue_says_so_and_ends() {
    for end in [&["terminate", "s"][..], &["cancel", "s", "--drop-queue"]] {
        let harness = Harness::new();
        let daemon = busy(&harness);
        let mut run = harness.start(&["run", "--session", "s", "[[text:1]]"]);
        while !run.next_line().contains("another turn runs in this session") {}
        sessions(&harness, end).exited(0);
        let finished = run.finish();
        assert!(finished.exited(1).stderr.contains("no turn answers the message"), "{finished:?}");
        daemon.stop().exited(0);
    }
}

#[test]
fn a_message_is_sent_and_its_turn_watched() {
    let harness = Harness::new();
    harness.run(&["--session", "colours", "my favourite colour is teal [[text:1]]"]).exited(0);
    let sent = sessions(&harness, &["send", "col", "[[recall]]"]);
    assert!(sent.exited(0).stdout.contains("teal"), "{sent:?}");
    let piped = Finished::of_input(
        &mut harness.command(&["sessions", "send", "col", "-", "--json"]),
        "[[stop:refusal]]",
    );
    let events = piped.exited(3).events();
    assert!(matches!(events[0].data, EventData::TurnStarted(_)), "only the new turn is shown: {piped:?}");
    let asked = sessions(&harness, &["send", "col", "[[permission]]", "--approve", "once"]);
    assert!(asked.exited(0).stdout.contains("✓ allowed once"), "{asked:?}");
    let nobody = sessions(&harness, &["send", "nobody", "x"]);
    assert!(nobody.exited(1).stderr.contains("no session nobody"), "{nobody:?}");
    sessions(&harness, &["send", "col", "  "]).exited(2);
}

#[test]
fn a_message_that_nobody_waits_for_needs_a_daemon_that_stays() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let alone = sessions(&harness, &["send", "s", "x", "--no-wait"]);
    assert!(alone.exited(2).stderr.contains("omniglot daemon start"), "{alone:?}");
    let daemon = busy(&harness);
    let queued = sessions(&harness, &["send", "s", "[[text:1]]", "--no-wait", "--json"]);
    let receipt: Value = serde_json::from_str(&queued.exited(0).stdout).unwrap();
    assert_eq!((&receipt["sessionId"], &receipt["delivered"]), (&"s".into(), &"queued".into()));
    assert_eq!(detail(&harness, "s").status, SessionStatus::Running);
    let cancelled = sessions(&harness, &["cancel", "s", "--drop-queue"]);
    assert_eq!(cancelled.exited(0).stdout, "s: the turn is being cancelled\n");
    daemon.stop().exited(0);
}

#[test]
fn a_turn_is_cancelled_and_a_session_ended() {
    let harness = Harness::new();
    let daemon = busy(&harness);
    let cancelled = sessions(&harness, &["cancel", "s", "--json"]);
    assert_eq!(cancelled.exited(0).stdout, "{\"sessionId\":\"s\",\"done\":\"cancelled\"}\n");
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    tail.events_until(turn_ended);
    tail.events_until(turn_ended);
    assert_eq!(sessions(&harness, &["cancel", "s"]).exited(0).stdout, "s: no turn was running\n");
    assert_eq!(sessions(&harness, &["terminate", "s"]).exited(0).stdout, "s: ended\n");
    assert_eq!(sessions(&harness, &["terminate", "s"]).exited(0).stdout, "s: had ended before\n");
    assert!(detail(&harness, "s").info.ended);
    daemon.stop().exited(0);
}

#[test]
fn sessions_are_deleted_together_or_not_at_all() {
    let harness = Harness::new();
    for name in ["a", "b", "c"] {
        harness.run(&["--session", name, "[[text:1]]"]).exited(0);
    }
    let unasked = sessions(&harness, &["rm", "a"]);
    assert!(unasked.exited(2).stderr.contains("there is no terminal to ask at; give --yes"), "{unasked:?}");
    sessions(&harness, &["rm", "a", "nobody", "--yes"]).exited(1);
    assert_eq!(ids(&harness, &[]), ["c", "b", "a"]);
    assert_eq!(sessions(&harness, &["rm", "a", "b", "-y"]).exited(0).stdout, "a: deleted\nb: deleted\n");
    assert_eq!(ids(&harness, &[]), ["c"]);
    sessions(&harness, &["rm"]).exited(2);
}

#[test]
fn on_a_terminal_a_deletion_is_asked_about() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    for (answer, kept) in [("\n", true), ("y\n", false)] {
        let mut terminal = Terminal::run(&harness, 80, &["sessions", "rm", "s"]);
        terminal.read_until("[y/N] ");
        terminal.type_in(answer);
        assert!(terminal.finish().success());
        assert_eq!(!ids(&harness, &[]).is_empty(), kept);
    }
}
