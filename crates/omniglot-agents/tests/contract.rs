//! Rules of every adapter, whatever its agent says: no frame vanishes, nothing is left to chance, and
//! nothing is remembered over the end of a process.
//!
//! Runs over every agent of the registry and every protocol; a new one is found by its line there. What an
//! adapter makes of its own agent's words is judged by `captures.rs`.

#![expect(clippy::unwrap_used, reason = "a helper of tests; the exemption sees only the tests themselves")]

use std::fs;
use std::path::Path;

use omniglot_agents::replay::capture::{self, Step};
use omniglot_agents::replay::show::show_output;
use omniglot_agents::{Adapter, Carryover, Input, LineFault, Registry, Translator, acp};
use omniglot_schema::StderrOutput;
use serde_json::value::RawValue;

/// Frames that no agent should write.
const NONSENSE: &[&str] = &[
    "null",
    "0",
    "\"text\"",
    "[]",
    "{}",
    r#"{"type":"no such type"}"#,
    r#"{"jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"2.0","id":1}"#,
    r#"{"jsonrpc":"2.0","id":"no such id","result":null}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"no/such/method"}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"no such kind"}}}"#,
];

#[test]
fn every_frame_of_every_corpus_yields_an_output() {
    for_every_adapter(|adapter, corpus| {
        let mut translator = (adapter.translator)();
        for (number, step) in corpus.iter().enumerate() {
            let said = say(&mut *translator, step);
            let owed = matches!(step, Step::Frame(_) | Step::Garbage(_));
            assert!(!owed || !said.is_empty(), "{}: nothing came of step {number}: {step:?}", adapter.id);
        }
    });
}

#[test]
fn equal_inputs_give_equal_outputs() {
    for_every_adapter(|adapter, corpus| {
        let run = || run(&mut *(adapter.translator)(), corpus);
        assert_eq!(run(), run());
    });
}

#[test]
fn the_end_of_a_process_is_the_end_of_what_is_remembered() {
    for_every_adapter(|adapter, corpus| {
        let fresh = run(&mut *(adapter.translator)(), corpus);
        for cut in [corpus.len() / 3, corpus.len() / 2, corpus.len()] {
            let mut translator = (adapter.translator)();
            run(&mut *translator, corpus.get(..cut).unwrap());
            let stderr = StderrOutput::default();
            translator.handle(Input::Exited { code: None, signal: Some(9), stderr: &stderr }, &mut vec![]);
            let again = run(&mut *translator, corpus);
            assert_eq!(again, fresh, "{}, cut at step {cut}", adapter.id);
        }
    });
}

/// Every corpus goes through every adapter that is not one agent's alone: an agent may say anything, also what
/// only another one would. An adapter with quirks gets what has its agent's name.
fn for_every_adapter(test: impl Fn(&Adapter, &[Step])) {
    let (registry, corpora) = (Registry::default(), corpora());
    for adapter in registry.iter().chain([&acp::PLAIN]) {
        let has_quirks = registry.quirks(adapter.id).is_some();
        let fits = |name: &str| !has_quirks || name.starts_with(adapter.id) || name.is_empty();
        for (_, corpus) in corpora.iter().filter(|(name, _)| fits(name)) {
            test(adapter, corpus);
        }
    }
}

/// Each with the name of its agent; what no agent says has none.
fn corpora() -> Vec<(String, Vec<Step>)> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    let nonsense = NONSENSE.iter().map(|frame| Step::Frame(raw(frame))).collect();
    let mut corpora = vec![(String::new(), nonsense)];
    for agent in fs::read_dir(captures).unwrap() {
        let agent = agent.unwrap();
        let name = agent.file_name().into_string().unwrap();
        for file in fs::read_dir(agent.path()).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            let steps = capture::read(&text).unwrap().into_iter().map(|row| row.step).collect();
            corpora.push((name.clone(), steps));
        }
    }
    assert!(corpora.len() > 1, "the captures were not found");
    corpora
}

fn raw(frame: &str) -> Box<RawValue> {
    RawValue::from_string(frame.to_owned()).unwrap()
}

fn run(translator: &mut dyn Translator, steps: &[Step]) -> Vec<String> {
    steps.iter().flat_map(|step| say(translator, step)).collect()
}

fn say(translator: &mut dyn Translator, step: &Step) -> Vec<String> {
    let carryover = Carryover::default();
    let input = match step {
        Step::Started { argv } => Input::Started { argv, carryover: &carryover },
        Step::Sent(frame) => Input::Sent(frame),
        Step::Frame(frame) => Input::Frame(frame),
        Step::Garbage(line) => Input::Garbage { line: line.as_bytes(), fault: LineFault::NotJson },
        Step::Exited(ending) => {
            Input::Exited { code: ending.exit.code, signal: ending.exit.signal, stderr: &ending.stderr }
        }
        Step::Remark => return vec![],
    };
    let mut out = vec![];
    translator.handle(input, &mut out);
    out.iter().map(show_output).collect()
}
