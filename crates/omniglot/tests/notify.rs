//! A supervisor such as systemd: it is told when the daemon is ready, alive and stopping, and agents cannot reach it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use omniglot_schema::PermissionReply;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;

/// Starts a daemon that wants to give a sign of life each 20 ms.
fn daemon(address: &str) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot"))
        .env("NOTIFY_SOCKET", address)
        .env("WATCHDOG_USEC", "40000")
        .start()
}

fn told(socket: &UnixDatagram) -> String {
    let mut text = [0; 64];
    let length = socket.recv(&mut text).unwrap();
    String::from_utf8_lossy(&text[..length]).into_owned()
}

fn all_three(socket: &UnixDatagram, mut daemon: Daemon) {
    assert_eq!(told(socket), "READY=1\n");
    assert_eq!(told(socket), "WATCHDOG=1\n");
    assert_eq!(told(socket), "WATCHDOG=1\n");
    daemon.stop();
    let last = loop {
        match told(socket).as_str() {
            "WATCHDOG=1\n" => {}
            other => break other.to_owned(),
        }
    };
    assert_eq!(last, "STOPPING=1\n");
}

#[test]
fn a_supervisor_is_told_of_the_beginning_the_life_and_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    all_three(&socket, daemon(path.to_str().unwrap()));
}

#[test]
fn a_supervisor_may_have_an_abstract_address() {
    let name = format!("omniglot-test-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    all_three(&socket, daemon(&format!("@{name}")));
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
