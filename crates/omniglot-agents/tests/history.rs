//! Sessions that agents keep on disk, read to their reviewed transcripts.

#![expect(clippy::unwrap_used, reason = "a helper of tests; the exemption sees only the tests themselves")]

use std::fs;
use std::path::Path;

use omniglot_agents::Registry;
use omniglot_agents::replay::{self, show};
use omniglot_schema::{SessionId, UniversalEvent, UniversalEventType};
use omniglot_testkit::validate::assert_lawful_but;
use omniglot_timeline::check::Allow;

#[test]
fn a_session_on_disk_becomes_its_transcript_with_its_subagents() {
    insta::glob!("../captures-disk", "*/session.jsonl", |file| {
        let subagents = file.with_extension("").join("subagents");
        let mut text = fs::read_to_string(file).unwrap();
        for file in fs::read_dir(subagents).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                text.push('\n');
                text.push_str(&fs::read_to_string(file).unwrap());
            }
        }
        insta::assert_snapshot!("session", show::events(&converted(&text)));
    });
}

#[test]
fn the_file_of_a_subagent_is_a_conversation_of_its_own() {
    insta::glob!("../captures-disk", "*/session/subagents/*.jsonl", |file| {
        insta::assert_snapshot!("subagent", show::events(&converted(&fs::read_to_string(file).unwrap())));
    });
}

#[test]
fn a_session_on_disk_tells_the_true_time() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures-disk/claude-2.1.325/session.jsonl");
    let events = converted(&fs::read_to_string(file).unwrap());
    let first = events.first().unwrap();
    assert_eq!(first.time.to_string(), "2026-11-15T20:56:51.417Z");
}

fn converted(text: &str) -> Vec<UniversalEvent> {
    let id = SessionId::parse("kept").unwrap();
    let events = replay::convert(Registry::default().get("claude").unwrap(), id, text).unwrap();
    assert_lawful_but(&events, Allow::default());
    let unparsed = events.iter().filter(|event| event.kind() == UniversalEventType::AgentUnparsed);
    assert_eq!(unparsed.count(), 0);
    events
}
