//! SSE streams cut and resumed at random in floods: nothing lost, nothing doubled, no memory kept (P1, P6).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::time::Instant;

use futures_util::StreamExt as _;
use omniglot_client::{Client, StreamFrom};
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::SessionDriver;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const FLOOD: u64 = 30_000;
const READERS: u64 = 4;
/// The number of cuts of all readers together.
const CUTS: u64 = 4_000;

/// A small seeded generator: the test is random, its failures are reproducible.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Reads until the turn has ended, disconnects at random and resumes with the last id; returns the cuts.
async fn read_with_cuts(client: Client, id: SessionId, mut dice: Dice, cuts_wanted: u64) -> u64 {
    let (mut last, mut from, mut cuts) = (0, StreamFrom::Start, 0);
    loop {
        let stream = client.sse(&id, &from, false).await.expect("every id ever issued is taken");
        let mut frames = stream.into_frames();
        // Early cuts are the interesting ones: the change from replayed to new events.
        let mut budget = dice.below(2 * FLOOD / cuts_wanted + 2) + 1;
        while let Some(frame) = frames.next().await {
            let frame = frame.expect("a frame");
            if !frame.event.is_empty() {
                continue;
            }
            let cursor = frame.id.expect("an id");
            let sequence: u64 =
                cursor.rsplit('.').next().and_then(|n| n.parse().ok()).expect("EPOCH.SEQUENCE");
            assert_eq!(sequence, last + 1, "lost or doubled after {last}");
            last = sequence;
            from = StreamFrom::Id(cursor);
            if frame.data.contains(r#""type":"turn.ended""#) {
                return cuts;
            }
            budget -= 1;
            if budget == 0 {
                break;
            }
        }
        cuts += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_cuts_during_a_flood_lose_and_double_nothing() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let readers: Vec<_> = (0..READERS)
        .map(|n| {
            let dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (n + 1));
            tokio::spawn(read_with_cuts(daemon.client.clone(), session.id.clone(), dice, CUTS / READERS))
        })
        .collect();
    session.post(&format!("[[flood:{FLOOD}]]")).await;
    let mut cuts = 0;
    for reader in readers {
        cuts += reader.await.expect("a reader");
    }
    assert!(cuts >= CUTS / 2, "only {cuts} cuts");
    let events = session.history().await;
    let deltas = events.iter().filter(|event| event.kind() == UniversalEventType::ItemDelta).count();
    assert_eq!(deltas as u64, FLOOD);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_stop_reading_do_not_grow_the_daemon() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[flood:20000]]", omniglot_schema::PermissionReply::Once).await;
    let before = daemon.rss();
    let mut stalled = vec![];
    for _ in 0..100 {
        let mut socket =
            tokio::net::TcpStream::connect(daemon.url.trim_start_matches("http://")).await.unwrap();
        let request = format!(
            "GET /v1/sessions/s/events/sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n",
            daemon.token
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        // The response has begun; from here on it is not read.
        socket.read_exact(&mut [0; 256]).await.unwrap();
        stalled.push(socket);
    }
    let began = Instant::now();
    session.turn("[[flood:100000]]", omniglot_schema::PermissionReply::Once).await;
    let after = daemon.rss();
    println!("{} KiB before, {} KiB after {:?}", before / 1024, after / 1024, began.elapsed());
    // 100 readers with a 32 KiB buffer, the connection's own buffers, and the ring of the session.
    assert!(after < before + 100 * 160 * 1024 + 16 * 1024 * 1024, "{before} grew to {after}");
}
