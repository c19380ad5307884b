//! Transcripts of every agent, hostile ones and long ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_agents::Registry;
use omniglot_testkit::captures::agent_of;
use omniglot_testkit::daemon::Daemon;
use serde_json::{Value, json};

use crate::OMNIGLOT;
use crate::browser::Screen;
use crate::stored::{Stored, import};

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniglot-agents/captures")
}

/// Imports every session of these recordings; returns their ids.
fn import_captures(daemon: &Daemon, agent: &str, folder: &str, files: &[PathBuf]) -> Vec<String> {
    let output = Command::new(OMNIGLOT).args(["convert", "--from", agent]).args(files).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut sessions = BTreeMap::<String, Vec<Value>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        sessions.entry(event["session_id"].as_str().unwrap().to_owned()).or_default().push(event);
    }
    sessions
        .iter()
        .map(|(session, events)| {
            let id = format!("{folder}.{session}").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            import(daemon, &id, agent, events);
            id
        })
        .collect()
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    files
}

/// Shows every session of the recordings whose folder's name begins with one of these.
fn shows_all(names: &[&str], fewest: usize) {
    let mut screen = Screen::open();
    let mut ids = vec![];
    for folder in fs::read_dir(captures()).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let agent = agent_of(name, Registry::default().ids());
        if names.contains(&agent) {
            ids.extend(import_captures(screen.daemon(), agent, name, &recordings(&folder)));
        }
    }
    assert!(ids.len() >= fewest, "only {} sessions were found", ids.len());
    screen.play("captures.mjs", json!({ "sessions": ids }));
    screen.leave();
}

/// Every agent is in one of the tests below.
const AGENTS: [&[&str]; 3] = [
    &["claude", "claude-acp", "amp"],
    &["codex", "codex-acp", "copilot", "gemini", "qwen"],
    &["opencode", "pi"],
];

#[test]
fn every_recording_of_claude_and_amp_is_shown_whole() {
    shows_all(AGENTS[0], 100);
}

#[test]
fn every_recording_of_codex_and_agents_of_acp_is_shown_whole() {
    shows_all(AGENTS[1], 100);
}

#[test]
fn every_recording_of_opencode_and_pi_is_shown_whole() {
    shows_all(AGENTS[2], 80);
}

#[test]
fn no_folder_of_recordings_is_left_out() {
    for folder in fs::read_dir(captures()).unwrap().map(|entry| entry.unwrap().path()) {
        let agent = agent_of(folder.file_name().unwrap().to_str().unwrap(), Registry::default().ids());
        assert!(AGENTS.concat().contains(&agent), "{agent}");
    }
}

#[test]
fn the_work_of_a_subagent_stands_below_its_call() {
    let mut screen = Screen::open();
    let file = captures().join("claude-2.1.325/subagent.jsonl");
    let ids = import_captures(screen.daemon(), "claude", "claude", &[file]);
    screen.play("subagent.mjs", json!({ "session": ids[0] }));
    screen.leave();
}

#[test]
fn a_hostile_transcript_runs_nothing_hides_nothing_and_leaves_the_page_usable() {
    let mut screen = Screen::open();
    let mut stored = Stored::new();
    let html = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script><b>bold</b>";
    stored.turn(html, |stored| {
        stored.says(&[html, "\n\n[click](javascript:window.hacked=1) ![i](http://192.0.2.1/a.png) "]);
        stored.says(&["\u{1b}[31mred\u{1b}[0m \u{202e}txt.exe\u{202c} \u{0}nul \u{2066}isolated\u{2069}"]);
        stored.says(&[
            "```html\n<iframe src=//192.0.2.1></iframe>\n```\n\n| a | b |\n|---|---|\n| <i>c</i> | d |",
        ]);
        let thought = json!([{"type": "reasoning", "text": html, "visibility": "public"}]);
        stored.item("message", "assistant", &thought, &[html]);
        let odd = "an item of no known kind";
        stored.item("unknown", "assistant", &json!([{"type": "text", "text": odd}]), &[odd]);
    });
    import(screen.daemon(), "hostile", "mock", &stored.events);
    let long = "x".repeat(10 << 20);
    let unclosed = "[".repeat(50_000) + &"*_`".repeat(50_000);
    let quotes = "> ".repeat(20_000) + &"- ".repeat(20_000);
    // Each of these took seconds to read: so many of them take longer than a script waits.
    let slow = [
        "`".repeat(65_000),
        format!("# {}x\n", " ".repeat(1_990)).repeat(30),
        format!("|a\n{}x|\n", " ".repeat(1_990)).repeat(30),
    ];
    let escapes = "\u{1b}".repeat(64_000);
    let apart = "\u{1b}a".repeat(30_000);
    let texts = [
        ("long", vec![long]),
        ("unclosed", vec![unclosed]),
        ("nested", vec![quotes]),
        ("slow", slow.iter().cycle().take(30).cloned().collect()),
        ("escapes", vec![escapes]),
        ("apart", vec![apart]),
    ];
    for (id, texts) in texts {
        let mut stored = Stored::new();
        stored.turn("A long one.", |stored| texts.iter().for_each(|text| stored.says(&[text])));
        import(screen.daemon(), id, "mock", &stored.events);
    }
    let mut stored = Stored::new();
    stored.turn("Change it.", |stored| {
        let lines: Vec<_> = (1..=1_000).map(|line| format!("+{line}")).collect();
        let lines = lines.join("\n");
        let diffs =
            [format!("@@ -0,0 +1,1000 @@\n{lines}"), format!("@@ -0,0 +1 @@\n+{}end\n", "x".repeat(3_000))];
        let parts =
            diffs.map(|diff| json!({"type": "file_ref", "path": "a", "action": "patch", "diff": diff}));
        stored.item("message", "assistant", &json!(parts), &[]);
        let elsewhere = json!([
            {"type": "file_ref", "path": "a", "action": "patch", "diff_blob": "@192.0.2.1/diff"},
            {"type": "image", "path": "@192.0.2.1/image", "mime": "image/png"},
        ]);
        stored.item("message", "assistant", &elsewhere, &[]);
    });
    import(screen.daemon(), "hidden", "mock", &stored.events);
    screen.play("hostile.mjs", json!({}));
    screen.leave();
}

#[test]
fn a_session_of_a_hundred_thousand_events_costs_little_and_can_be_scrolled() {
    let mut screen = Screen::open();
    let mut stored = Stored::new();
    let pieces = ["word "; 44];
    for turn in 1..=2_000 {
        stored.turn(&format!("Message {turn}."), |stored| stored.says(&pieces));
    }
    assert!(stored.events.len() >= 100_000, "{}", stored.events.len());
    import(screen.daemon(), "big", "mock", &stored.events);
    screen.play("big.mjs", json!({}));
    screen.leave();
}
