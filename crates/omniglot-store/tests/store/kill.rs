//! `kill -9` at any moment: every answered append is there, and nothing is half there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use omniglot_schema::UniversalEventType;
use omniglot_store::Durability;

use crate::support::*;

/// Passes the data directory to the child that this test starts from its own binary.
const ROLE: &str = "OMNIGLOT_STORE_TEST_APPEND_TO";

#[tokio::test]
async fn what_was_answered_survives_kill_9() {
    if let Some(dir) = std::env::var_os(ROLE) {
        return append_for_ever(&PathBuf::from(dir)).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = create(&store, "a").await;
    drop(store);
    for answers in [1, 40, 300] {
        let answered = run_and_kill(dir.path(), answers);
        let store = open(dir.path());
        let again = store.session(&id("a")).await.unwrap().unwrap();
        assert!(again.last_seq >= answered, "{} of {answered} answered", again.last_seq);
        assert_eq!(again.epoch, session.epoch);
        assert_suffix(&read(&store, session.no, after(0)).await.events, "a", 0, again.last_seq);
        let numbers: Vec<u64> = (1..=again.last_frame).collect();
        let frames = store.frames(session.no, &numbers).await.unwrap();
        assert_eq!(frames.len(), numbers.len());
        assert!(frames.iter().all(|(no, bytes)| *bytes == native(*no).bytes));
        drop(store);
        assert_eq!(faults(dir.path()), Vec::<String>::new());
    }
}

/// Returns the last sequence that the child reported before its death.
fn run_and_kill(dir: &Path, answers: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::what_was_answered_survives_kill_9", "--nocapture"])
        .env(ROLE, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answered =
        lines.by_ref().filter_map(|line| line.unwrap().strip_prefix("answered ")?.parse().ok());
    let last: u64 = answered.by_ref().nth(answers).unwrap();
    child.kill().unwrap();
    let last = answered.last().unwrap_or(last);
    child.wait().unwrap();
    last
}

async fn append_for_ever(dir: &Path) {
    let store = open(dir);
    let session = store.session(&id("a")).await.unwrap().unwrap();
    let mut dice = Dice(std::process::id().into());
    let mut next = session.last_seq + 1;
    let mut last_frame = session.last_frame;
    loop {
        let end = next + dice.below(30);
        let mut batch = deltas(&session, next..=end);
        for event in &mut batch.events {
            last_frame += 1;
            event.frame_no = Some(last_frame);
            batch.frames.push(native(last_frame));
        }
        // Some turns end, so that the child is also killed while it repacks frames.
        if dice.below(10) == 0 {
            batch.events[0].kind = UniversalEventType::TurnEnded;
        }
        batch.durability = if dice.below(8) == 0 { Durability::Power } else { Durability::Crash };
        next = end + 1;
        append(&store, batch).await;
        let mut out = std::io::stdout().lock();
        writeln!(out, "answered {end}").and_then(|()| out.flush()).unwrap();
    }
}
