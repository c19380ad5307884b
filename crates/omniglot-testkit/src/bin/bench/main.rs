//! The benchmark: a real daemon, a real agent process, real sockets; prints a table beside its targets.
//!
//! `cargo xtask bench` builds the release binary and calls this with its path. Nothing here is asserted:
//! machines differ. Lost and doubled events are counted, not guessed.

mod agent;
mod flood;
mod idle;
mod latency;
mod subscriber;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

/// One line of the table.
struct Row {
    what: String,
    value: String,
    target: &'static str,
}

impl Row {
    fn new(what: impl Into<String>, value: impl Into<String>, target: &'static str) -> Self {
        Self { what: what.into(), value: value.into(), target }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    if first.as_deref() == Some("agent") {
        return agent::run();
    }
    let program = first.map(PathBuf::from);
    let program = program.ok_or_else(|| anyhow::anyhow!("usage: bench PATH-OF-OMNIGLOT [--quick]"))?;
    let program = std::fs::canonicalize(&program).with_context(|| program.display().to_string())?;
    let quick = args.any(|arg| arg == "--quick");
    let chunks = if quick { 10_000 } else { 100_000 };
    let mut rows = vec![idle::cold_start(&program)?];
    progress("cold start measured");
    rows.extend(idle::memory(&program, if quick { 100 } else { 1_000 }).await?);
    progress("idle memory measured");
    rows.push(latency::deltas(&program, if quick { 200 } else { 2_000 }).await?);
    progress("latency measured");
    for subscribers in [1, 10, 100] {
        rows.extend(flood::flood(&program, chunks, subscribers).await?);
        progress(&format!("flood of {chunks} chunks to {subscribers} subscribers measured"));
    }
    print(&rows);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "long work shows progress")]
fn progress(done: &str) {
    eprintln!("{done}");
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn print(rows: &[Row]) {
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (what, value) = (width(|row| row.what.chars().count()), width(|row| row.value.chars().count()));
    println!("| {:what$} | {:>value$} | target |", "measure", "here");
    println!("|{:-<w$}|{:->v$}|--------|", "", ":", w = what + 2, v = value + 2);
    for row in rows {
        println!("| {:what$} | {:>value$} | {} |", row.what, row.value, row.target);
    }
}

/// CPU time that a process has used so far, user and system.
fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    // The kernel reports to user space in hundredths of a second, whatever its own tick is.
    Ok(Duration::from_millis(ticks * 10))
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}
