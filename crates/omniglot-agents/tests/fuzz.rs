//! Every adapter with input that no agent would write: recordings with broken lines, arbitrary JSON, arbitrary bytes,
//! commands at any moment.
//!
//! Nothing panics, every line is told, dropped with a reason or unparsed (T17), and the stream is lawful.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on panics")]

#[path = "fuzz/translator.rs"]
mod translator;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use omniglot_agents::http::StreamLine;
use omniglot_agents::replay::{self, ReplayError};
use omniglot_agents::{Adapter, Input, LineFault, Registry};
use omniglot_schema::SessionId;
use omniglot_testkit::captures::agent_of;
use omniglot_testkit::fuzz::{self, Edit};
use omniglot_timeline::Identity;
use omniglot_timeline::check::{Allow, check};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// Larger recordings repeat what smaller ones have, and take longer.
const LARGEST: u64 = 150_000;

static RECORDINGS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("captures")).unwrap();
    let folders = folders.map(|folder| folder.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    let is_small = |path: &PathBuf| fs::metadata(path).unwrap().len() <= LARGEST;
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|is| is == "jsonl")).filter(is_small).collect();
    files.sort();
    files
});

/// A change of one line that an agent has written.
#[derive(Debug, Clone)]
enum Break {
    Edit(Edit),
    Repeat,
    Remove,
    /// It changes places with another.
    Swap(u16),
    /// It is cut, and no JSON any more.
    Cut(u8),
    Replace(Value),
}

fn broken() -> impl Strategy<Value = (u16, Break)> {
    let what = prop_oneof![
        8 => fuzz::edit().prop_map(Break::Edit),
        2 => Just(Break::Repeat),
        2 => Just(Break::Remove),
        2 => any::<u16>().prop_map(Break::Swap),
        1 => any::<u8>().prop_map(Break::Cut),
        1 => fuzz::document().prop_map(Break::Replace),
    ];
    (any::<u16>(), what)
}

impl Break {
    fn apply(&self, line: u16, rows: &mut Vec<Value>) {
        let is_agents = |row: &Value| {
            matches!(row.get("ch").and_then(Value::as_str), Some("stdout" | "sse" | "http_res"))
        };
        let of_agent: Vec<usize> =
            (0..rows.len()).filter(|row| rows.get(*row).is_some_and(is_agents)).collect();
        if of_agent.is_empty() {
            return;
        }
        let choose = |number: u16| of_agent[usize::from(number) % of_agent.len()];
        let at = choose(line);
        match self {
            Self::Repeat => rows.insert(at, rows[at].clone()),
            Self::Remove => drop(rows.remove(at)),
            Self::Swap(other) => rows.swap(at, choose(*other)),
            Self::Edit(edit) => edit.apply(&mut rows[at]["data"]),
            Self::Replace(value) => rows[at]["data"] = value.clone(),
            Self::Cut(length) => {
                let text = rows[at]["data"].to_string();
                rows[at]["data"] = text.chars().take((*length).into()).collect::<String>().into();
            }
        }
    }
}

fn agent(capture: &Path) -> Adapter {
    let folder = capture.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let registry = Registry::default();
    *registry.get(agent_of(folder, registry.ids())).unwrap()
}

fn assert_lawful(agent: &Adapter, rows: &[Value]) -> Result<(), TestCaseError> {
    let capture: String = rows.iter().map(|row| format!("{row}\n")).collect();
    for session in replay::sessions(agent, &capture).unwrap() {
        let identity = Identity { session_id: SessionId::parse("fuzzed").unwrap(), agent: agent.id.into() };
        let events = match replay::events(agent, &session, identity) {
            Ok(events) => events,
            // A row that the format of recordings has no place for is not the adapter's, nor is another protocol.
            Err(ReplayError::Capture(_) | ReplayError::Protocol { .. }) => return Ok(()),
            Err(error @ ReplayError::Silent { .. }) => {
                let row = session.lines().nth(error.line() - 1).unwrap();
                return Err(TestCaseError::fail(format!("{}: {error}: {row}", agent.id)));
            }
        };
        let report = check(&events, Allow { unparsed: true, ..Allow::default() });
        prop_assert!(
            events.is_empty() || report.violations.is_empty(),
            "{}: {:#?}",
            agent.id,
            report.violations
        );
    }
    Ok(())
}

/// A line as a server of events might write it: an event, what frames it, or either of them broken.
fn stream_line() -> impl Strategy<Value = Vec<u8>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
    let text = prop_oneof![
        4 => (" {0,2}", fuzz::document(), "[ \r\u{a0}]{0,2}").prop_map(|(before, data, after)| format!("data:{before}{data}{after}")),
        1 => "(data|event|id|retry)?:? ?[^\r\n]{0,20}",
    ];
    prop_oneof![
        4 => text.clone().prop_map(String::into_bytes),
        2 => (text, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(text, at, byte)| {
            let mut bytes = text.into_bytes();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        }),
        1 => bytes(),
        1 => bytes().prop_map(|rest| [b"data:".as_slice(), &rest].concat()),
    ]
}

/// The recordings of which this holds for the agent, by name.
fn recordings(of: impl Fn(&Adapter) -> bool) -> Vec<&'static PathBuf> {
    RECORDINGS.iter().filter(|path| of(&agent(path))).collect()
}

#[test]
fn a_recording_with_broken_lines_replays_to_a_lawful_stream() {
    for agent in Registry::default().iter() {
        let recordings = recordings(|other| other.id == agent.id);
        if recordings.is_empty() {
            continue;
        }
        let cases = (0..recordings.len(), proptest::collection::vec(broken(), 1..8));
        let tried = TestRunner::new(fuzz::config(20)).run(&cases, |(recording, breaks)| {
            let path = recordings[recording];
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let mut rows: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
            breaks.iter().for_each(|(line, what)| what.apply(*line, &mut rows));
            assert_lawful(agent, &rows)
                .map_err(|error| TestCaseError::fail(format!("{}: {error}", path.display())))
        });
        tried.unwrap();
    }
}

proptest! {
    #![proptest_config(fuzz::config(100))]

    #[test]
    fn arbitrary_bytes_are_reported_by_every_adapter(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        fault in prop_oneof![Just(LineFault::NotJson), Just(LineFault::NotUtf8), Just(LineFault::TooLong(u64::MAX))],
    ) {
        for agent in Registry::default().iter() {
            let mut out = vec![];
            (agent.translator)().handle(Input::Garbage { line: &bytes, fault }, &mut out);
            prop_assert!(!out.is_empty(), "{} said nothing about {bytes:?}", agent.id);
        }
    }

    #[test]
    fn a_line_of_an_event_stream_is_data_only_if_it_is_a_data_line_with_json(
        line in stream_line(),
    ) {
        let json = line.strip_prefix(b"data:").and_then(|data| serde_json::from_slice::<Value>(data).ok());
        match StreamLine::read(&line) {
            StreamLine::Data(data) => {
                let data: Option<Value> = serde_json::from_str(data.get()).ok();
                // A space that JSON does not know may stand around the data.
                prop_assert!(json.is_none() || json == data, "{line:?}");
            }
            StreamLine::Framing => prop_assert!(!line.starts_with(b"data:"), "{line:?}"),
            StreamLine::Garbage => prop_assert!(json.is_none(), "{line:?}"),
        }
    }
}
