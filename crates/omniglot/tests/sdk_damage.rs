//! Both SDKs at an event that the daemon cannot read: they tell it instead of trying again for ever.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::process::Command;

use omniglot_schema::PermissionReply;
use omniglot_testkit::clients::node;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::sdk::{self, succeed};
use omniglot_testkit::session_driver::SessionDriver;

/// Starts a daemon with a session `damaged`, whose fifth event cannot be read, and one that is whole.
async fn daemon() -> Daemon {
    let mut daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    for name in ["damaged", "whole"] {
        SessionDriver::create(&daemon.client, name).await.turn("[[text:5]]", PermissionReply::Once).await;
    }
    daemon.stop();
    let database = rusqlite::Connection::open(daemon.data().join("private/omniglot.db")).unwrap();
    let session = "SELECT no FROM sessions WHERE id = 'damaged'";
    let sql = format!("UPDATE events SET crc = crc + 1 WHERE seq = 5 AND session_no = ({session})");
    assert_eq!(database.execute(&sql, []).unwrap(), 1);
    drop(database);
    daemon.restart()
}

/// Runs a script of an SDK, which deletes the damaged session in the end: no check of the log could pass.
fn run(daemon: &Daemon, script: &mut Command) {
    let said = succeed(script.env("OMNIGLOT_URL", &daemon.url).env("OMNIGLOT_TOKEN", &daemon.token));
    assert!(said.ends_with("all done\n"), "{said}");
}

#[tokio::test]
async fn a_damaged_event_ends_a_stream_of_typescript() {
    let built = sdk::typescript();
    let entry = built.path().join("index.js");
    run(&daemon().await, &mut node(&sdk::path("typescript/test/damaged.mjs"), &[entry.to_str().unwrap()]));
}

#[tokio::test]
async fn a_damaged_event_ends_a_stream_of_python() {
    run(&daemon().await, sdk::python().arg(sdk::path("python/tests/damaged.py")));
}
