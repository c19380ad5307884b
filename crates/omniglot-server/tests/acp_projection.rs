//! Every recording of every agent, projected for an ACP client.
//!
//! The messages are checked against the protocol's own schema and against the rules that clients rely on; one
//! snapshot per agent shows them in short, and a chosen few in full. `tests/acp/mapping.md` has the rows of
//! the mapping document that name a `_meta` key, verbatim.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test; helpers beside test functions count as code"
)]

#[path = "acp/captures.rs"]
mod captures;
#[path = "acp/digest.rs"]
mod digest;
#[path = "acp/keys.rs"]
mod keys;
#[path = "acp/opened.rs"]
mod opened;
#[path = "acp/rules.rs"]
mod rules;
#[path = "acp/schema.rs"]
mod schema;

use omniglot_schema::{UniversalEvent, UniversalEventType};
use omniglot_server::faces::acp::project::{Audience, Blobs, Echo, Outgoing, Projector, ResultForms};

const PLAIN: Audience =
    Audience { forms: false, notices: false, compaction: false, results: ResultForms::All };
const RICH: Audience = Audience { forms: true, notices: true, compaction: true, results: ResultForms::All };

/// Returns the messages to a client that loads the session, event by event.
fn told(events: &[UniversalEvent], audience: Audience) -> Vec<Vec<Outgoing>> {
    let mut projector = Projector::new(audience, Echo::All);
    events.iter().map(|event| projector.event(event, &Blobs::default())).collect()
}

#[test]
fn every_message_is_one_of_the_protocol_and_keeps_the_rules_that_clients_rely_on() {
    let schema = schema::Schema::load();
    for capture in captures::all() {
        for (events, audience) in capture.sessions.iter().flat_map(|events| [(events, PLAIN), (events, RICH)])
        {
            let told = told(events, audience);
            told.iter().flatten().for_each(|message| schema.assert_lawful(&capture.name, message));
            rules::assert_kept(&capture.name, events, &told);
        }
    }
}

#[test]
fn recordings_are_told_as_reviewed() {
    for (family, captures) in captures::by_family() {
        let mut text = String::new();
        for capture in captures {
            for events in &capture.sessions {
                text.push_str(&format!("== {}\n", capture.name));
                text.push_str(&digest::short(&told(events, PLAIN).concat()));
            }
        }
        insta::with_settings!({ omit_expression => true, snapshot_path => "acp/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(family, text);
        });
    }
}

#[test]
fn a_chosen_few_are_told_in_full_as_reviewed() {
    const CHOSEN: &[(&str, Audience)] = &[
        ("claude/permission_accept", PLAIN),
        ("claude/question", RICH),
        ("claude/question_reject", PLAIN),
        ("claude/crash_tool", PLAIN),
        ("codex/shell", PLAIN),
        ("codex/plan", PLAIN),
    ];
    for (name, audience) in CHOSEN {
        let events = captures::one(name);
        let told = told(&events, *audience);
        let begin = events.iter().position(|event| event.kind() == UniversalEventType::TurnStarted).unwrap();
        let text = digest::full(&told[begin..].concat());
        insta::with_settings!({ omit_expression => true, snapshot_path => "acp/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("full_{}", name.replace('/', "_")), text);
        });
    }
}

#[test]
fn a_projector_that_read_the_log_goes_on_where_another_stopped() {
    for name in ["claude/question", "codex/shell", "claude/subagent"] {
        let events = captures::one(name);
        let whole = digest::full(&told(&events, PLAIN).concat());
        for cut in 0..events.len() {
            let (before, after) = events.split_at(cut);
            let mut again = Projector::new(PLAIN, Echo::All);
            before.iter().for_each(|event| drop(again.event(event, &Blobs::default())));
            let rest: Vec<_> = after.iter().flat_map(|event| again.event(event, &Blobs::default())).collect();
            assert!(whole.ends_with(&digest::full(&rest)), "{name} after {cut}");
        }
    }
}
