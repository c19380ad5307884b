//! Hooks of a real daemon: who is called for what, how it is signed, and what survives the end of the daemon.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "hooks/calls.rs"]
mod calls;
#[path = "hooks/commands.rs"]
mod commands;
#[path = "hooks/links.rs"]
mod links;
#[path = "hooks/targets.rs"]
mod targets;

use std::path::Path;
use std::process::{Command, Output};

use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::webhooks::{Call, Receiver};

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The table of a hook that calls a receiver of the test.
fn hook(name: &str, receiver: &Receiver, more: &str) -> String {
    let url = &receiver.url;
    format!(
        "[[hooks]]\nname = \"{name}\"\nurl = \"{url}\"\nsecret = \"{SECRET}\"\nallow_http = true\n\
         allow_private = true\n{more}\n"
    )
}

fn daemon(config: impl Into<String>) -> Daemon {
    Setup::new(OMNIGLOT).config(config).start()
}

/// Runs a command that uses the daemon of this data directory.
fn omniglot(data: &Path, args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(OMNIGLOT).args(args).arg("--data-dir").arg(data).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// The type and the session of each call.
fn told(calls: &[Call]) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    calls.iter().map(|call| (text(&call.json()["type"]), text(&call.json()["data"]["session_id"]))).collect()
}
