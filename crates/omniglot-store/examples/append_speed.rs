//! Measures the small events per second that the log commits, in batches of 200 from one and ten sessions.
//!
//! `cargo run --release -p omniglot-store --example append_speed [EVENTS]`
#![expect(clippy::print_stdout, reason = "prints what it measured")]

use std::error::Error;
use std::time::Instant;

use bytes::Bytes;
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_store::{Batch, Frame, NewEvent, NewSession, Options, RecordUpdate, SessionNo, Store};

const BATCH: u64 = 200;
const PAYLOAD: &str = r#"{"event_id":"evt_0000000000000000","sequence":123456,"time":"2025-01-01T00:00:00.000000Z","session_id":"speed","native_session_id":null,"source":"agent","synthetic":false,"type":"item.delta","data":{"item_id":"itm_0000000000000000","delta":"hello world"},"raw":null}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let events = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    for (sessions, frames) in [(1, false), (1, true), (10, false), (10, true)] {
        let dir = tempfile::tempdir()?;
        let store = Store::open(dir.path(), Options::default())?;
        let sessions: Vec<_> = (0..sessions).map(|n| create(&store, n)).collect::<Result<_, _>>()?;
        let start = Instant::now();
        append(&store, &sessions, events, frames)?;
        let rate = events as f64 / start.elapsed().as_secs_f64();
        println!("{} session(s), frames: {frames}: {rate:.0} events/s", sessions.len());
    }
    Ok(())
}

fn create(store: &Store, n: u64) -> Result<SessionNo, Box<dyn Error>> {
    let new = NewSession {
        id: SessionId::parse(&format!("speed-{n}"))?,
        agent: "mock".into(),
        request: "{}".into(),
        labels: Default::default(),
        created_ms: 0,
        record: RecordUpdate { fold: "{}".into(), ended: false, open_from: None },
        frames: vec![],
        events: vec![],
        copied: 0,
        blobs: vec![],
    };
    Ok(store.create(new).blocking_recv()??.no)
}

/// Keeps four batches in flight per session, as the runtime does.
fn append(store: &Store, sessions: &[SessionNo], events: u64, frames: bool) -> Result<(), Box<dyn Error>> {
    let mut in_flight = std::collections::VecDeque::new();
    for round in 0..events / BATCH / sessions.len() as u64 {
        for session in sessions {
            in_flight.push_back(store.append(batch(*session, round * BATCH, frames)));
            if in_flight.len() > 4 * sessions.len()
                && let Some(oldest) = in_flight.pop_front()
            {
                oldest.blocking_recv()??;
            }
        }
    }
    for answer in in_flight {
        answer.blocking_recv()??;
    }
    Ok(())
}

fn batch(session: SessionNo, after: u64, frames: bool) -> Batch {
    let (kind, json) = (UniversalEventType::ItemDelta, Bytes::from_static(PAYLOAD.as_bytes()));
    let mut batch = Batch::new(session);
    for seq in after + 1..=after + BATCH {
        let frame_no = frames.then_some(seq);
        batch.events.push(NewEvent { seq, kind, time_us: 0, json: json.clone(), frame_no });
        batch.frames.extend(frame_no.map(|no| Frame { no, bytes: json.clone() }));
    }
    batch
}
