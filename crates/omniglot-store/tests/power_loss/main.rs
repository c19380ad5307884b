//! The loss of power at any moment: whatever the disk had not flushed is gone, in part or in any order, and
//! everything that was answered is there.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed assumption fails the test")]

mod disk;
mod image;
#[path = "../store/support.rs"]
#[expect(dead_code, reason = "the tests of the log use more of it")]
mod support;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use omniglot_schema::UniversalEventType;
use omniglot_store::{Blob, ConfigKey, Durability, Options, SessionRecord, Store};

use disk::{Fact, Op};
use image::Disk;
use support::*;

const STEPS: usize = 400;
/// `cargo xtask soak --counts` tries more.
const CUTS: u64 = 80;

#[tokio::test]
async fn what_was_answered_survives_the_loss_of_power() {
    let dir = tempfile::tempdir().unwrap();
    disk::record(&omniglot_store::private(dir.path()));
    work(dir.path()).await;
    let ops = disk::recording();
    let answers = ops.iter().filter(|op| matches!(op, Op::Answered(_))).count();
    assert!(answers > STEPS / 10, "{answers} answers");

    let cuts = std::env::var("OMNIGLOT_CUTS").map_or(CUTS, |cuts| cuts.parse().unwrap());
    let seed = std::env::var("OMNIGLOT_SEED").map_or(0x5eed, |seed| seed.parse().unwrap());
    let mut dice = Dice(seed);
    for number in 0..cuts {
        let cut = usize::try_from(dice.below(ops.len() as u64)).unwrap();
        let lost = lost_after(&ops[..cut], Disk::Honest, &mut dice).await;
        assert_eq!(
            lost,
            Vec::<String>::new(),
            "cut {number} after {cut} of {} entries, seed {seed}",
            ops.len()
        );
    }
    // A disk that ignores flushes loses what was answered: the check above can fail.
    let mut lied = 0;
    for _ in 0..20 {
        lied += usize::from(!lost_after(&ops, Disk::Lying, &mut dice).await.is_empty());
    }
    assert!(lied > 0, "nothing is lost without a flush");
}

/// Everything that a log does, in an order of chance.
async fn work(dir: &Path) {
    let store = open(dir);
    let mut dice = Dice(7);
    let mut sessions: BTreeMap<String, SessionRecord> = BTreeMap::new();
    for step in 0..STEPS {
        let name = format!("s{}", dice.below(6));
        let Some(session) = sessions.get_mut(&name) else {
            let session = create(&store, &name).await;
            disk::answered(Fact::Created(name.clone(), session.epoch.clone()));
            sessions.insert(name, session);
            continue;
        };
        match dice.below(40) {
            0 => {
                disk::answered(Fact::Deleting(name.clone()));
                store.delete(session.no).await.unwrap().unwrap();
                disk::answered(Fact::Deleted(name.clone()));
                sessions.remove(&name);
            }
            1..3 => checkpoint(dir, &mut dice),
            3 => {
                let directory = format!("/{step}");
                let key = ConfigKey { directory: directory.clone(), kind: "mcp", name: "x".to_owned() };
                store.configure_directory(key, Some("{}".to_owned())).await.unwrap().unwrap();
                disk::answered(Fact::Configured(directory));
            }
            _ => {
                let last = session.last_seq + 1 + dice.below(20);
                let mut batch = deltas(session, session.last_seq + 1..=last);
                for event in &mut batch.events {
                    session.last_frame += 1;
                    event.frame_no = Some(session.last_frame);
                    batch.frames.push(native(session.last_frame));
                }
                if dice.below(6) == 0 {
                    batch.events[0].kind = UniversalEventType::TurnEnded;
                }
                if dice.below(6) == 0 {
                    let bytes = Bytes::from(vec![step as u8; 1 + dice.below(60_000) as usize]);
                    batch.blobs.push(Blob { name: format!("b{step}"), mime: "text/plain".into(), bytes });
                }
                let durability = if dice.below(3) == 0 { Durability::Power } else { Durability::Crash };
                batch.durability = durability;
                session.last_seq = last;
                append(&store, batch).await;
                if durability == Durability::Power {
                    disk::answered(Fact::Appended(name, last));
                }
            }
        }
    }
}

/// Copies the WAL into the database, as SQLite does after 32 MiB.
fn checkpoint(dir: &Path, dice: &mut Dice) {
    let mode = ["PASSIVE", "RESTART", "TRUNCATE"][dice.below(3) as usize];
    database(dir).query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
}

/// Cuts the power after these entries, starts again, and returns what was answered and is not there.
async fn lost_after(ops: &[Op], disk: Disk, dice: &mut Dice) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let private = omniglot_store::private(dir.path());
    std::fs::create_dir_all(&private).unwrap();
    image::after_power_loss(ops, disk, dice, &private);
    let options = Options { boot_id: Some("the next".to_owned()), ..Options::default() };
    let store = match Store::open(dir.path(), options) {
        Ok(store) => store,
        Err(error) => return vec![format!("the log does not open: {error:?}")],
    };
    let mut lost = vec![];
    for fact in facts(ops) {
        if !holds(&store, &fact).await {
            lost.push(format!("{fact:?}"));
        }
    }
    for session in store.list(Default::default()).await.unwrap() {
        let name = session.id.as_str();
        match store.read(session.no, after(0)).await {
            Ok(page) if disk == Disk::Honest => assert_suffix(&page.events, name, 0, session.last_seq),
            Ok(_) => {}
            Err(error) => lost.push(format!("{name}: {error}")),
        }
        let numbers: Vec<u64> = (1..=session.last_frame).collect();
        match store.frames(session.no, &numbers).await {
            Ok(frames) if frames.iter().all(|(no, bytes)| *bytes == native(*no).bytes) => {}
            other => lost.push(format!("{name}: {other:?}")),
        }
    }
    drop(store);
    lost.extend(faults(dir.path()));
    lost
}

/// Returns what was answered in the end: of two answers about one thing the later.
fn facts(ops: &[Op]) -> Vec<Fact> {
    let mut last = BTreeMap::new();
    for op in ops {
        let Op::Answered(fact) = op else { continue };
        let subject = match fact {
            Fact::Created(name, _) | Fact::Appended(name, _) | Fact::Deleting(name) | Fact::Deleted(name) => {
                name
            }
            Fact::Configured(directory) => directory,
        };
        last.insert(subject.clone(), fact.clone());
    }
    last.into_values().collect()
}

async fn holds(store: &Store, fact: &Fact) -> bool {
    let last_of = async |name: &str| {
        store.session(&id(name)).await.ok().flatten().map_or(0, |session| session.last_seq)
    };
    match fact {
        Fact::Created(name, epoch) => {
            let session = store.session(&id(name)).await.ok().flatten();
            // Events may be gone that somebody has seen: the cursors of that time are refused.
            session.is_some_and(|session| session.epoch != *epoch)
        }
        Fact::Appended(name, last) => last_of(name).await >= *last,
        Fact::Deleting(_) => true,
        // Its name may have been taken again, which was not answered yet.
        Fact::Deleted(name) => last_of(name).await <= 1,
        Fact::Configured(directory) => {
            store.directory_config(directory, "mcp").await.is_ok_and(|all| all.len() == 1)
        }
    }
}
