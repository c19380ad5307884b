//! The clients of the SDK, old and new, used by a script: `sdk.mjs` asserts, this file prepares the daemons.

use std::path::Path;

use omniglot_testkit::clients::{library, node};
use omniglot_testkit::daemon::Daemon;
use omniglot_testkit::models::Reply;

use crate::{Real, claude_asks, claude_makes, mock};

/// The prompts of a script for each of its steps, so that the script is the same for every agent.
struct Prompts {
    provider: &'static str,
    text: &'static str,
    permission: &'static str,
    question: &'static str,
    long: &'static str,
}

const MOCK: Prompts = Prompts {
    provider: "mock",
    text: "[[text]]",
    permission: "[[permission]]",
    question: "[[question:one]]",
    long: "[[text]] [[silence]]",
};

const CLAUDE: Prompts = Prompts {
    provider: "claude",
    text: "Speak.",
    permission: "Make it.",
    question: "Ask me.",
    long: "Begin.",
};

fn script(version: &str, daemon: &Daemon, prompts: &Prompts) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencode_face/sdk.mjs");
    let file = if version == "v1" { "dist/index.js" } else { "dist/v2/index.js" };
    let library = library("opencode-sdk", &format!("node_modules/@opencode-ai/sdk/{file}"));
    let work = daemon.work();
    let url = format!("{}/opencode", daemon.url);
    let words = [version, &library, &url, &daemon.token, work.to_str().unwrap(), prompts.provider];
    let output = node(&script, &words)
        .args([prompts.text, prompts.permission, prompts.question, prompts.long])
        .output()
        .unwrap();
    let (said, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complaint}");
    assert!(said.ends_with("all done\n"), "{said}\n{complaint}");
}

fn scripted_claude() -> Real {
    let real = Real::claude();
    let made = real.file("made.txt");
    let (long, _gate) = Reply::text("This takes long ").hold();
    real.says([
        Reply::text("Hello from the model."),
        claude_makes(&made),
        Reply::text("It is made."),
        claude_asks(),
        Reply::text("Blue it is."),
        long,
    ]);
    real
}

#[test]
fn the_old_client_drives_the_mock_agent() {
    script("v1", &mock(), &MOCK);
}

#[test]
fn the_new_client_drives_the_mock_agent() {
    script("v2", &mock(), &MOCK);
}

#[test]
fn the_old_client_drives_claude() {
    let real = scripted_claude();
    script("v1", &real.daemon, &CLAUDE);
    assert!(real.file("made.txt").exists());
}

#[test]
fn the_new_client_drives_claude() {
    let real = scripted_claude();
    script("v2", &real.daemon, &CLAUDE);
    assert!(real.file("made.txt").exists());
}
