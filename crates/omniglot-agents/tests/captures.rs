//! Every recording of every agent, replayed to its reviewed transcript.
//!
//! A new agent's recordings are picked up by their folder. The snapshots are read like code: a line
//! that is wrong is a bug, even if it was always so.

#![expect(clippy::unwrap_used, reason = "a helper of tests; the exemption sees only the tests themselves")]

use std::fs;
use std::path::Path;

use omniglot_agents::registry::{Protocol, translator};
use omniglot_agents::replay::{self, show};
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_testkit::validate::assert_lawful_but;
use omniglot_timeline::Identity;
use omniglot_timeline::check::Allow;

#[test]
fn captures_replay_to_their_drafts() {
    insta::glob!("../captures", "*/*.jsonl", |capture| {
        let text = fs::read_to_string(capture).unwrap();
        let shown = show::drafts(&mut *translator(Protocol::Acp), &text).unwrap();
        insta::assert_snapshot!("drafts", shown);
    });
}

#[test]
fn captures_replay_to_their_transcripts() {
    insta::glob!("../captures", "*/*.jsonl", |capture| {
        let text = fs::read_to_string(capture).unwrap();
        let events = replay::events(&mut *translator(Protocol::Acp), &text, identity(capture)).unwrap();
        let unparsed = events.iter().filter(|event| event.kind() == UniversalEventType::AgentUnparsed);
        assert_eq!(unparsed.count(), refused_requests(capture), "agent.unparsed in {}", capture.display());
        assert_lawful_but(&events, Allow { unparsed: true, ..Allow::default() });
        insta::assert_snapshot!("events", show::events(&events));
    });
}

/// How many requests of the agent we refuse in a recording whose client offered what we do not; in all
/// others everything is understood (T17).
fn refused_requests(capture: &Path) -> usize {
    const FILE_ACCESS: &[(&str, usize)] = &[("gemini/read_edit.jsonl", 3)];
    FILE_ACCESS.iter().find(|(name, _)| capture.ends_with(name)).map_or(0, |(_, count)| *count)
}

/// The session that a recording stands for, named after its agent's folder.
fn identity(capture: &Path) -> Identity {
    let agent = capture.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    Identity { session_id: SessionId::parse("recorded").unwrap(), agent }
}
