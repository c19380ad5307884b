//! Duties as agents ask for them, live and from a recording.

use serde_json::value::RawValue;

use crate::acp::Acp;
use crate::contract::{Command, Input, Open, Translator};
use crate::exit::Exit;
use crate::host::{HostError, HostErrorKind, HostKey, HostOutcome, TerminalText};
use crate::replay::show::show_output;

/// A session whose turn runs; everything sent is taken as sent.
struct Harness {
    acp: Acp,
    lines: Vec<String>,
}

impl Harness {
    fn prompted() -> Self {
        let mut harness = Self { acp: Acp::new(), lines: vec![] };
        harness.step(Input::Command(&Command::Open(Open { cwd: "/w".into(), ..Open::default() })));
        harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
        harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#);
        let prompt =
            r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#;
        harness.step(Input::Sent(&raw(prompt)));
        harness.lines.clear();
        harness
    }

    fn hear(&mut self, frame: &str) -> String {
        self.step(Input::Frame(&raw(frame)))
    }

    fn ask(&mut self, id: u64, method: &str, params: &str) -> String {
        self.hear(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"sessionId":"s",{params}}}}}"#
        ))
    }

    fn update(&mut self, update: &str) -> String {
        self.hear(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{{update}}}}}}}"#
        ))
    }

    fn outcome(&mut self, key: u64, outcome: HostOutcome) -> String {
        self.step(Input::Host { key: HostKey(key), outcome: &outcome })
    }

    fn says(&mut self, key: u64, text: &str) -> String {
        self.outcome(key, HostOutcome::Said(TerminalText { text: text.to_owned(), masked: None }))
    }

    fn step(&mut self, input: Input<'_>) -> String {
        let mut out = Vec::new();
        self.acp.handle(input, &mut out);
        for output in out {
            self.lines.push(show_output(&output));
            if let Some(message) = output.shown() {
                let rest = self.step(Input::Sent(message));
                self.lines.extend((!rest.is_empty()).then_some(rest));
            }
        }
        std::mem::take(&mut self.lines).join("\n")
    }

    /// Terminal 1 runs and is shown by a call.
    fn with_terminal() -> Self {
        let mut harness = Self::prompted();
        harness.ask(7, "terminal/create", r#""command":"make""#);
        harness.outcome(1, HostOutcome::Started(Ok(())));
        harness.update(
            r#""sessionUpdate":"tool_call","toolCallId":"c","title":"make","kind":"execute","status":"in_progress","content":[{"type":"terminal","terminalId":"terminal-1"}]"#,
        );
        harness
    }
}

fn raw(frame: &str) -> Box<RawValue> {
    RawValue::from_string(frame.to_owned()).unwrap()
}

#[test]
fn a_file_is_asked_of_the_host_and_answered_with_what_came_of_it() {
    let mut harness = Harness::prompted();
    insta::assert_snapshot!(harness.ask(5, "fs/read_text_file", r#""path":"/w/a","line":2"#), @r#"host 1 ReadFile(ReadFile { path: "/w/a", line: Some(2), limit: None })"#);
    insta::assert_snapshot!(harness.outcome(1, HostOutcome::Read(Ok("text".into()))), @r#"send {"jsonrpc":"2.0","id":5,"result":{"content":"text"}}"#);
    harness.ask(6, "fs/write_text_file", r#""path":"/w/a","content":"x""#);
    let refused = HostError::new(HostErrorKind::Refused, "outside");
    insta::assert_snapshot!(harness.outcome(2, HostOutcome::Written(Err(refused))), @r#"send {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"outside"}}"#);
}

#[test]
fn output_is_streamed_by_the_call_that_shows_it_and_its_result_has_the_exit_code() {
    let mut harness = Harness::with_terminal();
    insta::assert_snapshot!(harness.says(1, "one\n"), @r#"call > call:1:c "one\n""#);
    harness.says(1, "two\n");
    harness.ask(8, "terminal/wait_for_exit", r#""terminalId":"terminal-1""#);
    insta::assert_snapshot!(harness.outcome(1, HostOutcome::Ended(Exit { code: Some(2), signal: None })), @r#"send {"jsonrpc":"2.0","id":8,"result":{"exitCode":2}}"#);
    insta::assert_snapshot!(harness.ask(9, "terminal/output", r#""terminalId":"terminal-1""#), @r#"send {"jsonrpc":"2.0","id":9,"result":{"output":"one\ntwo\n","truncated":false,"exitStatus":{"exitCode":2}}}"#);
    harness.ask(10, "terminal/release", r#""terminalId":"terminal-1""#);
    let done = harness.update(r#""sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed""#);
    insta::assert_snapshot!(done, @r#"call ! call:1:c "one\ntwo\n" error=true exit=2"#);
}

#[test]
fn what_was_said_before_a_call_shows_it_is_told_then() {
    let mut harness = Harness::prompted();
    harness.ask(7, "terminal/create", r#""command":"make""#);
    harness.outcome(1, HostOutcome::Started(Ok(())));
    assert_eq!(harness.says(1, "early"), "");
    let shown = harness.update(
        r#""sessionUpdate":"tool_call","toolCallId":"c","title":"make","content":[{"type":"terminal","terminalId":"terminal-1"}]"#,
    );
    assert!(shown.ends_with(r#"call > call:1:c "early""#), "{shown}");
}

#[test]
fn a_cancel_ends_what_is_waited_for_and_answers_it() {
    let mut harness = Harness::with_terminal();
    harness.ask(8, "terminal/wait_for_exit", r#""terminalId":"terminal-1""#);
    insta::assert_snapshot!(harness.step(Input::Command(&Command::Cancel)), @r#"
    send {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
    host 1 EndTerminal
    "#);
    let ended = harness.outcome(1, HostOutcome::Ended(Exit { code: None, signal: Some(9) }));
    assert!(ended.contains(r#""id":8,"result":{"signal":"SIGKILL"}"#), "{ended}");
}

#[test]
fn a_request_that_the_agent_takes_back_is_answered_once() {
    let mut harness = Harness::prompted();
    harness.ask(5, "terminal/create", r#""command":"make""#);
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}"#;
    insta::assert_snapshot!(harness.hear(cancel), @r#"send {"jsonrpc":"2.0","id":5,"error":{"code":-32800,"message":"cancelled"}}"#);
    insta::assert_snapshot!(harness.outcome(1, HostOutcome::Started(Ok(()))), @"host 1 EndTerminal");
}

#[test]
fn a_recording_tells_what_its_terminals_said() {
    let mut harness = Harness::prompted();
    let mut out = Vec::new();
    let create =
        r#"{"jsonrpc":"2.0","id":7,"method":"terminal/create","params":{"sessionId":"s","command":"make"}}"#;
    harness.acp.handle(Input::Frame(&raw(create)), &mut out);
    harness.step(Input::Sent(&raw(r#"{"jsonrpc":"2.0","id":7,"result":{"terminalId":"t9"}}"#)));
    harness.update(
        r#""sessionUpdate":"tool_call","toolCallId":"c","title":"make","status":"in_progress","content":[{"type":"terminal","terminalId":"t9"}]"#,
    );
    let output =
        r#"{"jsonrpc":"2.0","id":8,"method":"terminal/output","params":{"sessionId":"s","terminalId":"t9"}}"#;
    harness.acp.handle(Input::Frame(&raw(output)), &mut out);
    let answer = r#"{"jsonrpc":"2.0","id":8,"result":{"output":"done\n","truncated":false,"exitStatus":{"exitCode":0}}}"#;
    harness.step(Input::Sent(&raw(answer)));
    let done = harness.update(r#""sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed""#);
    insta::assert_snapshot!(done, @r#"call . call:1:c "done\n" error=false exit=0"#);
}
