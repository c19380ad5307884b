//! A daemon that listens elsewhere than on a port of loopback with plain HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "listen/tls.rs"]
mod tls;
#[path = "listen/unix.rs"]
mod unix;

use std::path::Path;
use std::process::{Command, Output};

use futures_util::StreamExt as _;
use omniglot_client::{EventStream, SseItem, StreamFrom};
use omniglot_schema::UniversalEventType;
use omniglot_testkit::daemon::Daemon;
use omniglot_testkit::session_driver::SessionDriver;

/// Runs a command on the data of a home.
fn omniglot(home: &Path, args: &[&str]) -> Output {
    omniglot_with(home, args, &[])
}

fn omniglot_with(home: &Path, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_omniglot"));
    command.args(args).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home);
    command.env("OMNIGLOT_HOME", home.join("data")).envs(variables.iter().copied());
    command.current_dir(home).output().unwrap()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && words.iter().all(|words| told.contains(words)), "{told}");
}

async fn a_stop_ends_the_turn_and_then_its_stream(mut daemon: Daemon) {
    let session = SessionDriver::create(&daemon.client, "s").await;
    let stream = session.watch(StreamFrom::Start).await;
    session.post("[[permission]]").await;
    session.wait_for(0, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    let stopped = tokio::task::spawn_blocking(move || daemon.stop());
    let kinds = until_the_end(stream).await;
    assert!(kinds.contains(&UniversalEventType::TurnEnded), "{kinds:?}");
    stopped.await.unwrap();
}

/// Reads a stream until the daemon closes it, which it does without breaking it off.
async fn until_the_end(mut stream: EventStream) -> Vec<UniversalEventType> {
    let mut kinds = vec![];
    while let Some(item) = stream.next().await {
        if let SseItem::Event { event, .. } = item.expect("the stream ends, it does not break") {
            kinds.push(event.kind());
        }
    }
    kinds
}
