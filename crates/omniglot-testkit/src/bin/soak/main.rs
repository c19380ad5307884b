//! The soak: one daemon under load for as long as one likes, while daemon, guards, agents and connections are killed
//! at random. `cargo xtask soak --minutes N` builds the release binary and calls this with its path.
//!
//! Every reader's history must be the log to the letter, every acknowledged message must have had its turn, nothing
//! may outlive a killed daemon, and memory, files and threads may not grow. Prints a table and fails on any breach.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

mod chance;
mod faults;
mod load;
mod reader;
mod samples;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::SessionDriver;
use tokio::sync::watch;
use tokio::time::Instant;

use chance::Chance;
use faults::Faults;
use load::Written;
use samples::Samples;

const USAGE: &str = "usage: soak PATH-OF-OMNIGLOT [--minutes N] [--sessions N] [--seed N]";
/// Readers reach the end of the log within this time once nothing is written any more.
const LAST_EVENTS: Duration = Duration::from_secs(60);

struct Arguments {
    omniglot: PathBuf,
    minutes: u64,
    sessions: usize,
    seed: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { omniglot, minutes, sessions, seed } = arguments()?;
    let mut chance = Chance::new(seed);
    let port = free_port()?;
    let config = "[limits]\nidle_seconds = 20\nrunning_agents = 256\n";
    let log = std::env::temp_dir().join(format!("omniglot-soak-{}.log", std::process::id()));
    let setup = Setup::new(omniglot).config(config).listen(format!("127.0.0.1:{port}")).log_to(&log);
    let daemon = setup.start();
    eprintln!("{minutes} min, {sessions} sessions, seed {seed}, log {}", log.display());
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let (stop, stopped) = watch::channel(false);
    let mut tasks = vec![];
    for number in 0..sessions {
        let session = SessionDriver::create(&daemon.client, &format!("s{number}")).await;
        let (last, target) = watch::channel(None);
        let readers =
            (0..2).map(|_| tokio::spawn(reader::follow(session.clone(), chance.fork(), target.clone())));
        let readers: Vec<_> = readers.collect();
        let writer = tokio::spawn(load::write(session.clone(), chance.fork(), stopped.clone()));
        tasks.push((session, writer, last, readers));
    }
    let mut faults = Faults::new(daemon, chance.fork());
    let mut samples = Samples::default();
    while Instant::now() < end {
        faults.pause(end).await;
        samples.take(faults.daemon(), minutes).await;
        faults.next().await?;
    }
    stop.send(true)?;
    let mut totals = Totals::default();
    for (session, writer, last, readers) in tasks {
        let Written { messages, log } = writer.await??;
        last.send(Some(log.len()))?;
        for reader in readers {
            let seen =
                tokio::time::timeout(LAST_EVENTS, reader).await.context("a reader waits for ever")??;
            totals.cuts += seen.cuts;
            reader::compare(&session.id, &seen, &load::log_of(&session).await?, log.len())?;
        }
        totals.turns += messages;
        totals.events += log.len();
    }
    let check = faults.finish().await?;
    println!("| | |\n|---|--:|");
    println!("| minutes, sessions, readers | {minutes}, {sessions}, {} |", sessions * 2);
    println!("| messages acknowledged, all with one turn | {} |", totals.turns);
    println!("| events, read by every reader to the letter | {} |", totals.events);
    println!("| streams cut and resumed | {} |", totals.cuts);
    print!("{check}");
    print!("{samples}");
    samples.verdict()?;
    println!("\nclean: nothing lost, nothing doubled, nothing left, nothing grows");
    let _ = std::fs::remove_file(log);
    Ok(())
}

#[derive(Default)]
struct Totals {
    turns: usize,
    events: usize,
    cuts: usize,
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut words = std::env::args().skip(1);
    let omniglot = std::path::absolute(words.next().context(USAGE)?)?;
    let mut parsed = Arguments { omniglot, minutes: 60, sessions: 8, seed: 1 };
    while let Some(word) = words.next() {
        let value: u64 = words.next().context(USAGE)?.parse().context(USAGE)?;
        match word.as_str() {
            "--minutes" => parsed.minutes = value,
            "--sessions" => parsed.sessions = usize::try_from(value)?,
            "--seed" => parsed.seed = value,
            _ => anyhow::bail!(USAGE),
        }
    }
    ensure!(parsed.minutes > 0 && parsed.sessions > 0 && parsed.seed > 0, USAGE);
    Ok(parsed)
}

/// Returns a port that is free now: a daemon that is started again must be found where it was.
fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
