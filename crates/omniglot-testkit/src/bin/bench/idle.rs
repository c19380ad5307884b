//! The cost of an idle server: its start, its memory, its idle connections.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::process::rss;
use crate::subject::{Agent, Programs, Subject};
use crate::table::Better::Less;
use crate::table::{Figure, Table};

/// Measures the time from process start to the first 200, the best of several, and the memory at that moment.
pub(crate) fn cold_start<S: Subject>(programs: &Programs, table: &mut Table) -> anyhow::Result<()> {
    let (mut best, mut memory) = (Duration::MAX, u64::MAX);
    for _ in 0..5 {
        let home = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let began = Instant::now();
        let mut command = S::command(programs, home.path(), port)?;
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let measured = first_answer(&child, port, began);
        child.kill()?;
        child.wait()?;
        let (took, bytes) = measured?;
        (best, memory) = (best.min(took), memory.min(bytes));
    }
    table.add(S::NAME, "cold start to /v1/health", Figure::millis(best), Less, "≤ 30 ms");
    table.add(S::NAME, "idle memory (RSS)", Figure::megabytes(memory), Less, "≤ 15 MB");
    Ok(())
}

fn first_answer(child: &Child, port: u16, began: Instant) -> anyhow::Result<(Duration, u64)> {
    while !healthy(port) {
        anyhow::ensure!(began.elapsed() < Duration::from_secs(10), "no answer within ten seconds");
    }
    Ok((began.elapsed(), rss(child.id())?))
}

pub(crate) fn healthy(port: u16) -> bool {
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = format!("GET /v1/health HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let mut answer = String::new();
    let asked = socket.write_all(request.as_bytes()).and_then(|()| socket.read_to_string(&mut answer));
    asked.is_ok() && answer.starts_with("HTTP/1.0 200")
}

pub(crate) async fn memory<S: Subject>(
    programs: &Programs,
    connections: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let server = S::start(programs, Agent::Mock).await?;
    let before = rss(server.pid())?;
    let mut open = vec![];
    for _ in 0..connections {
        open.push(server.subscribe().await?);
    }
    let more = rss(server.pid())?.saturating_sub(before);
    drop(open);
    let what = format!("memory for {connections} idle event streams");
    table.add(S::NAME, what, Figure::megabytes(more), Less, "≤ 30 MB for 1,000");
    Ok(())
}
