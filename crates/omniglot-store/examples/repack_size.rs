//! Measures how small the frames of a turn become at its end, and the cost of reading before and after.
//!
//! `cargo run --release -p omniglot-store --example repack_size [FRAMES]`
#![expect(clippy::print_stdout, reason = "prints what it measured")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_store::{Batch, Frame, NewEvent, NewSession, Options, RecordUpdate, SessionNo, Store};

const WORDS: [&str; 12] =
    ["the", "session", "reads", "a file", "and", "answers", "with", "one", "more", "line", "of", "text"];

fn main() -> Result<(), Box<dyn Error>> {
    let frames = std::env::args().nth(1).map_or(Ok(50_000), |text| text.parse())?;
    for per_batch in [1, 20, 200] {
        let dir = tempfile::tempdir()?;
        let store = Store::open(dir.path(), Options::default())?;
        let session = create(&store)?;
        append(&store, session, frames, per_batch)?;
        let (size, read) = (size(dir.path())?, read(&store, session, frames)?);
        println!("{frames} frames in batches of {per_batch}\n  streamed: {size}, all read in {read:.1?}");
        let start = Instant::now();
        end_turn(&store, session)?;
        let answered = start.elapsed();
        wait_until_packed(dir.path())?;
        println!("  turn.ended answered in {answered:.1?}, packed after {:.1?}", start.elapsed());
        let (size, read) = (self::size(dir.path())?, self::read(&store, session, frames)?);
        println!("  by turn:  {size}, all read in {read:.1?}");
    }
    Ok(())
}

fn create(store: &Store) -> Result<SessionNo, Box<dyn Error>> {
    let new = NewSession {
        id: SessionId::parse("size")?,
        agent: "mock".into(),
        request: "{}".into(),
        labels: Default::default(),
        created_ms: 0,
        record: RecordUpdate { fold: "{}".into(), ended: false, open_from: None },
        frames: vec![],
        copied: 0,
        blobs: vec![],
        events: vec![],
    };
    Ok(store.create(new).blocking_recv()??.no)
}

fn append(store: &Store, session: SessionNo, frames: u64, per_batch: u64) -> Result<(), Box<dyn Error>> {
    let mut last = None;
    for first in (1..=frames).step_by(usize::try_from(per_batch)?) {
        let numbers = first..(first + per_batch).min(frames + 1);
        last = Some(store.append(Batch { frames: numbers.map(native).collect(), ..Batch::new(session) }));
    }
    Ok(last.ok_or("no frames")?.blocking_recv()??)
}

/// A chunk of text as an ACP agent streams it.
fn native(no: u64) -> Frame {
    let word = |n: u64| WORDS.get((n % 12) as usize).copied().unwrap_or_default();
    let text = format!("{} {} {}", word(no * no / 7), word(no / 3), no.wrapping_mul(2_654_435_761) % 9973);
    let bytes = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"5d1c3bb0-2a2c","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
    );
    Frame { no, bytes: Bytes::from(bytes) }
}

fn end_turn(store: &Store, session: SessionNo) -> Result<(), Box<dyn Error>> {
    let (kind, json) = (UniversalEventType::TurnEnded, Bytes::from_static(b"{}"));
    let events = vec![NewEvent { seq: 1, kind, time_us: 0, json, frame_no: None }];
    Ok(store.append(Batch { events, ..Batch::new(session) }).blocking_recv()??)
}

fn wait_until_packed(dir: &Path) -> Result<(), Box<dyn Error>> {
    let database = rusqlite::Connection::open(omniglot_store::private(dir).join("omniglot.db"))?;
    let sql = "SELECT packed_frame = last_frame FROM sessions";
    while !database.query_row(sql, [], |row| row.get::<_, bool>(0))? {
        std::thread::yield_now();
    }
    Ok(())
}

fn size(dir: &Path) -> Result<String, Box<dyn Error>> {
    let database = rusqlite::Connection::open(omniglot_store::private(dir).join("omniglot.db"))?;
    let sql = "SELECT count(*), sum(length(data)), (SELECT sum(pgsize) FROM dbstat WHERE name = 'frames')
               FROM frames";
    let row = |row: &rusqlite::Row<'_>| {
        let (rows, data, pages): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("{rows} row(s), {data} bytes, {pages} on disk"))
    };
    Ok(database.query_row(sql, [], row)?)
}

/// Reads a hundred frames at a time, as a page of events with raw frames does.
fn read(store: &Store, session: SessionNo, frames: u64) -> Result<Duration, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let numbers: Vec<u64> = (1..=frames).collect();
    let start = Instant::now();
    for page in numbers.chunks(100) {
        if runtime.block_on(store.frames(session, page))?.len() != page.len() {
            return Err("a frame is missing".into());
        }
    }
    Ok(start.elapsed())
}
