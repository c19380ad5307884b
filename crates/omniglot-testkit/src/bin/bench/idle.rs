//! What a daemon costs that does nothing: its start, its memory, its idle connections.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omniglot_testkit::daemon::Setup;
use omniglot_testkit::drive::Driver;

use crate::subscriber::Subscriber;
use crate::{Row, millis};

/// From the start of the process to the first 200, the best of several.
pub(crate) fn cold_start(program: &Path) -> anyhow::Result<Row> {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let home = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(["serve", "--port", &port.to_string()])
            .env_clear()
            .env("HOME", home.path())
            .env("OMNIGLOT_HOME", home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        while !healthy(port) {
            anyhow::ensure!(began.elapsed() < Duration::from_secs(10), "no answer within ten seconds");
        }
        best = best.min(began.elapsed());
        child.kill()?;
        child.wait()?;
    }
    Ok(Row::new("cold start to /v1/health", millis(best), "≤ 30 ms"))
}

fn healthy(port: u16) -> bool {
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = format!("GET /v1/health HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let mut answer = String::new();
    let asked = socket.write_all(request.as_bytes()).and_then(|()| socket.read_to_string(&mut answer));
    asked.is_ok() && answer.starts_with("HTTP/1.0 200")
}

pub(crate) async fn memory(program: &Path, connections: usize) -> anyhow::Result<Vec<Row>> {
    let daemon = Setup::new(program).start();
    daemon.client.health().await?;
    let idle = daemon.rss();
    let session = Driver::create(&daemon.client, "idle").await;
    let events = daemon.client.detail(&session.id).await?.info.event_count;
    let before = daemon.rss();
    let mut open = vec![];
    for _ in 0..connections {
        open.push(Subscriber::connect(&daemon, "idle", events).await?);
    }
    let more = daemon.rss().saturating_sub(before);
    drop(open);
    Ok(vec![
        Row::new("idle RSS", mb(idle), "≤ 15 MB"),
        Row::new(
            format!("{connections} idle SSE connections"),
            format!("+{}", mb(more)),
            "≤ 30 MB for 1,000",
        ),
    ])
}

fn mb(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let mb = bytes as f64 / 1e6;
    format!("{mb:.1} MB")
}
