//! A supervisor such as systemd: it is told when the daemon is ready, alive and stopping, and agents cannot reach it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::mpsc;

use omniglot_schema::PermissionReply;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;

/// Starts a daemon that gives a sign of life each 200 ms.
fn daemon(address: &str) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot"))
        .env("NOTIFY_SOCKET", address)
        .env("WATCHDOG_USEC", "400000")
        .start()
}

/// Reads all the time, as a supervisor does: a socket has room for few messages.
fn reading(socket: UnixDatagram) -> mpsc::Receiver<String> {
    let (sender, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = [0; 64];
        while let Ok(length) = socket.recv(&mut text)
            && sender.send(String::from_utf8_lossy(&text[..length]).into_owned()).is_ok()
        {}
    });
    told
}

fn all_three(socket: UnixDatagram, address: &str) {
    let told = reading(socket);
    let mut daemon = daemon(address);
    assert_eq!(told.recv().unwrap(), "READY=1\n");
    assert_eq!(told.recv().unwrap(), "WATCHDOG=1\n");
    assert_eq!(told.recv().unwrap(), "WATCHDOG=1\n");
    daemon.stop();
    let last = told.iter().find(|message| message != "WATCHDOG=1\n");
    assert_eq!(last.unwrap(), "STOPPING=1\n");
}

#[test]
fn a_supervisor_is_told_of_the_beginning_the_life_and_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    all_three(socket, path.to_str().unwrap());
}

#[test]
fn a_supervisor_may_have_an_abstract_address() {
    let name = format!("omniglot-test-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    all_three(socket, &format!("@{name}"));
}

#[tokio::test]
async fn no_child_of_the_daemon_can_reach_the_supervisor() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let daemon = daemon(path.to_str().unwrap());
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    // Others than the guard and the agent come and go; one that is about to start still looks like the daemon.
    let children = daemon.descendants().into_iter().filter_map(|pid| {
        let read = |what| String::from_utf8(std::fs::read(format!("/proc/{pid}/{what}")).ok()?).ok();
        read("cmdline").filter(|command| !command.is_empty() && !command.contains("\0serve\0"))?;
        Some((pid, read("environ")?))
    });
    let children: Vec<_> = children.filter(|(_, variables)| variables.contains("PATH=")).collect();
    assert!(children.len() >= 2, "a guard and an agent: {children:?}");
    for (pid, variables) in children {
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            assert!(!variables.contains(name), "{pid} has {name}");
        }
    }
    drop(socket);
}
