//! The benchmark: real servers, a real agent process, real sockets; prints a table that a page can include.
//!
//! `cargo xtask bench` builds the release binary and calls this with its path. Nothing here is asserted:
//! machines differ. Lost and doubled events are counted, not guessed. With `--before PATH` the same loads run
//! against an earlier omniglot, with `--peer PATH` against the public sandbox-agent server, with the same agent.

mod agent;
mod flood;
mod idle;
mod latency;
mod ours;
mod peer;
mod pi_answer;
mod process;
mod replay;
mod shared_sessions;
mod subject;
mod subscriber;
mod table;

use std::path::PathBuf;

use anyhow::Context as _;

use ours::Ours;
use peer::Peer;
use subject::{Programs, Subject};
use table::Table;

/// The amount of load on a server.
#[derive(Clone, Copy)]
struct Loads {
    chunks: u64,
    replayed: u64,
    idle: usize,
    deltas: usize,
    /// The deltas of one answer of Pi; what it says grows with their square.
    answer: u64,
}

const FULL: Loads = Loads { chunks: 100_000, replayed: 1_000_000, idle: 1_000, deltas: 2_000, answer: 4_000 };
const QUICK: Loads = Loads { chunks: 10_000, replayed: 20_000, idle: 100, deltas: 200, answer: 500 };

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    match args.peek().map(String::as_str) {
        Some("agent") => return agent::run(),
        Some("pi") => return pi_answer::agent(true),
        Some("pi-plain") => return pi_answer::agent(false),
        _ => {}
    }
    let usage = "usage: bench PATH-OF-OMNIGLOT [--quick] [--before PATH-OF-AN-EARLIER-OMNIGLOT] \
                 [--peer PATH-OF-SANDBOX-AGENT]";
    let omniglot = absolute(args.next().context(usage)?)?;
    let (mut loads, mut before, mut peer) = (FULL, None, None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => loads = QUICK,
            "--before" => before = Some(absolute(args.next().context(usage)?)?),
            "--peer" => peer = Some(absolute(args.next().context(usage)?)?),
            _ => anyhow::bail!("{usage}"),
        }
    }
    let programs = Programs { omniglot, peer, bench: std::env::current_exe()? };
    let mut table = measure_omniglot(&programs, loads).await?;
    if let Some(omniglot) = before {
        progress("the earlier omniglot:");
        table.join("before", measure_omniglot(&Programs { omniglot, ..programs.clone() }, loads).await?);
    }
    if programs.peer.is_some() {
        measure::<Peer>(&programs, loads, &mut table).await?;
    }
    table.print();
    Ok(())
}

async fn measure_omniglot(programs: &Programs, loads: Loads) -> anyhow::Result<Table> {
    let mut table = Table::default();
    measure::<Ours>(programs, loads, &mut table).await?;
    replay::replay(programs, loads.replayed, &mut table).await?;
    progress("replay measured");
    pi_answer::measure(programs, loads.answer, &mut table).await?;
    progress("a long answer of Pi measured");
    shared_sessions::measure(programs, &mut table).await?;
    Ok(table)
}

fn absolute(path: String) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(&path).context(path)
}

async fn measure<S: Subject>(programs: &Programs, loads: Loads, table: &mut Table) -> anyhow::Result<()> {
    idle::cold_start::<S>(programs, table)?;
    idle::memory::<S>(programs, loads.idle, table).await?;
    progress(&format!("{}: start and idle memory measured", S::NAME));
    latency::deltas::<S>(programs, loads.deltas, table).await?;
    progress(&format!("{}: latency measured", S::NAME));
    for subscribers in [1, 10, 100] {
        flood::flood::<S>(programs, loads.chunks, subscribers, table).await?;
        progress(&format!("{}: flood to {subscribers} measured", S::NAME));
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "long work shows progress")]
fn progress(done: &str) {
    eprintln!("{done}");
}
