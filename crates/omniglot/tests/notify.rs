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
    let children = daemon.descendants();
    assert!(children.len() >= 2, "a guard and an agent: {children:?}");
    for pid in children {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let variables = String::from_utf8_lossy(&variables);
        assert!(variables.contains("PATH="), "{pid}");
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            assert!(!variables.contains(name), "{pid} has {name}");
        }
    }
    drop(socket);
}
