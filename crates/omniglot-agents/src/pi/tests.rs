//! Single frames and commands, and the traps of Pi: one test each, named after it. Whole recordings are in
//! `tests/captures.rs`.

use omniglot_schema::{PermissionReply, StderrOutput};
use serde_json::value::RawValue;

use super::{Pi, permissions};
use crate::contract::{
    Carryover, Command, Input, Open, Output, Prompt, RequestKey, SettingsRequest, Translator as _,
};
use crate::host::{HostKey, HostOutcome};
use crate::replay::show;

struct Session(Pi);

impl Session {
    fn new() -> Self {
        let mut session = Self(Pi::new());
        session.handle(Input::Started { argv: &[], carryover: &Carryover::default() });
        session
    }

    /// A session whose gate is in place, in this permission mode.
    fn open(mode: &str) -> Self {
        let mut session = Self::new();
        let requested =
            SettingsRequest { permission_mode: Some(mode.to_owned()), ..SettingsRequest::default() };
        session.command(&Command::Open(Open { requested, ..Open::default() }));
        session.frame(GATE_READY);
        session.frame(STATE);
        session
    }

    fn handle(&mut self, input: Input<'_>) -> Vec<String> {
        let mut out = Vec::new();
        self.0.handle(input, &mut out);
        let mut told = Vec::new();
        for output in out {
            told.push(show::show_output(&output));
            if let Output::Transport(crate::contract::TransportOutput::Send(message)) = output {
                told.extend(self.handle(Input::Sent(&message)));
            }
        }
        told
    }

    fn frame(&mut self, json: &str) -> Vec<String> {
        let frame = RawValue::from_string(json.to_owned()).unwrap();
        self.handle(Input::Frame(&frame))
    }

    fn command(&mut self, command: &Command) -> Vec<String> {
        self.handle(Input::Command(command))
    }

    fn prompt(&mut self, text: &str) -> Vec<String> {
        let prompt = Prompt { message_id: None, text: text.to_owned(), attachments: vec![] };
        self.command(&Command::Prompt(prompt))
    }
}

const GATE_READY: &str = r#"{"type":"extension_ui_request","id":"g","method":"setStatus","statusKey":"omniglot-gate","statusText":"ready"}"#;
/// The answer to the third command of an opening.
const STATE: &str =
    r#"{"type":"response","command":"get_state","id":"3","success":true,"data":{"sessionId":"s"}}"#;
const START: &str =
    r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"bash","args":{"command":"ls"}}"#;
const ASK: &str = r#"{"type":"extension_ui_request","id":"d","method":"input","title":"omniglot-gate {\"toolCallId\":\"c\",\"toolName\":\"bash\"}"}"#;

fn has(told: &[String], words: &str) -> bool {
    told.iter().any(|line| line.contains(words))
}

#[test]
fn a_session_without_its_gate_is_refused() {
    let mut session = Session::new();
    session.command(&Command::Open(Open::default()));
    let told = session.frame(STATE);
    assert!(has(&told, "gate did not load"), "{told:?}");
}

/// The reason may have words that mean something else where they stand alone.
#[test]
fn an_extension_that_does_not_load_is_named() {
    let mut session = Session::new();
    session.command(&Command::Open(Open::default()));
    let words = "Error: Failed to load extension \"/x.ts\": module not found\n";
    let stderr = StderrOutput { tail: Some(words.to_owned()), ..StderrOutput::default() };
    let told = session.handle(Input::Exited { code: Some(1), signal: None, stderr: &stderr });
    assert!(has(&told, "Unavailable") && has(&told, "/x.ts"), "{told:?}");
}

fn with_server() -> Command {
    let mcp = serde_json::from_str(r#"{"a":{"type":"local","command":"run","env":{"KEY":"hush"}}}"#).unwrap();
    Command::Open(Open { mcp, ..Open::default() })
}

fn gate_says(words: &str) -> String {
    GATE_READY.replace("\"ready\"", &serde_json::to_string(words).unwrap())
}

#[test]
fn a_session_with_servers_is_open_when_the_gate_has_registered_them() {
    let mut session = Session::new();
    session.command(&with_server());
    session.frame(GATE_READY);
    let asked =
        r#"{"type":"extension_ui_request","id":"q","method":"input","title":"omniglot-gate-servers"}"#;
    let told = session.frame(asked);
    assert!(has(&told, r#"{\"a\":{\"command\":\"run\",\"env\":{\"KEY\":\"***\"}"#), "{told:?}");
    let told = session.frame(STATE);
    assert!(!has(&told, "session"), "{told:?}");
    let told = session.frame(&gate_says(r#"{"servers":[]}"#));
    assert!(has(&told, "get_state"), "{told:?}");
    let told = session.frame(&STATE.replace("\"3\"", "\"4\""));
    assert!(has(&told, "session"), "{told:?}");
}

#[test]
fn a_server_that_pi_refuses_refuses_the_session() {
    for (words, reason) in [(r#"{"servers":["a: no"]}"#, "a: no"), (r#"{"unsupported":true}"#, "has no MCP")]
    {
        let mut session = Session::new();
        session.command(&with_server());
        session.frame(GATE_READY);
        let told = session.frame(&gate_says(words));
        assert!(has(&told, reason), "{told:?}");
    }
}

#[test]
fn the_mode_decides_what_the_gate_is_told() {
    for (mode, wanted) in [
        ("default", "permission +"),
        ("acceptEdits", "permission +"),
        ("plan", "only plans now"),
        ("bypass", r#""value":"allow""#),
    ] {
        let mut session = Session::open(mode);
        session.prompt("Go.");
        session.frame(START);
        let told = session.frame(ASK);
        assert!(has(&told, wanted), "{mode}: {told:?}");
    }
}

#[test]
fn an_edit_passes_where_edits_are_accepted() {
    let mut session = Session::open("acceptEdits");
    session.prompt("Go.");
    session
        .frame(&START.replace("bash", "write").replace(r#""command":"ls""#, r#""path":"a","content":"x""#));
    let told = session.frame(&ASK.replace("bash", "write"));
    assert!(has(&told, r#""value":"allow""#), "{told:?}");
}

#[test]
fn a_rejection_takes_the_persons_words_to_the_model() {
    let mut session = Session::open("default");
    session.prompt("Go.");
    session.frame(START);
    session.frame(ASK);
    let key = RequestKey("1:d".to_owned());
    let message = Some("Use the other one.".to_owned());
    let told = session.command(&Command::ReplyPermission { key, reply: PermissionReply::Reject, message });
    assert!(has(&told, r#""value":"Use the other one.""#), "{told:?}");
    assert!(has(&told, r#""reject""#), "{told:?}");
}

#[test]
fn a_dialog_that_is_withdrawn_is_dismissed() {
    let mut session = Session::open("default");
    session.prompt("Go.");
    session.frame(START);
    session.frame(ASK);
    let told = session.command(&Command::Withdraw { key: RequestKey("1:d".to_owned()) });
    assert!(has(&told, r#""cancelled":true"#), "{told:?}");
}

const QUESTION: &str = r#"{"type":"extension_ui_request","id":"q","method":"select","title":"Which?","options":["a","b"],"timeout":1500}"#;

#[test]
fn a_question_expires_when_pi_gives_it_up() {
    let mut session = Session::open("default");
    session.prompt("Go.");
    let told = session.frame(QUESTION);
    assert!(has(&told, "host 1 Timer(1.5s)"), "{told:?}");
    let elapsed = Input::Host { key: HostKey(1), outcome: &HostOutcome::Elapsed };
    let told = session.handle(elapsed);
    assert!(has(&told, "expiry") && !has(&told, "send"), "{told:?}");
    let late = Command::ReplyQuestion { key: RequestKey("1:q".to_owned()), answers: None };
    assert!(session.command(&late).is_empty());
}

#[test]
fn a_question_that_was_answered_does_not_expire() {
    let mut session = Session::open("default");
    session.prompt("Go.");
    session.frame(QUESTION);
    let answers = Some(vec![vec!["a".to_owned()]]);
    session.command(&Command::ReplyQuestion { key: RequestKey("1:q".to_owned()), answers });
    let told = session.handle(Input::Host { key: HostKey(1), outcome: &HostOutcome::Elapsed });
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn an_older_version_is_asked_whether_its_turn_is_over() {
    let mut session = Session::open("default");
    session.prompt("Go.");
    session.frame(r#"{"type":"agent_start"}"#);
    let told = session.frame(r#"{"type":"agent_end","messages":[]}"#);
    assert!(has(&told, "get_state") && !has(&told, "turn ."), "{told:?}");
    session
        .frame(r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":5,"errorMessage":"429"}"#);
    let told =
        session.frame(r#"{"type":"response","command":"get_state","id":"5","success":true,"data":{}}"#);
    assert!(!has(&told, "turn ."), "a retry waits: {told:?}");
}

#[test]
fn a_newer_version_settles_by_itself() {
    let mut session = Session::open("default");
    session.prompt("Go.");
    session.frame(r#"{"type":"agent_start"}"#);
    let told = session.frame(r#"{"type":"agent_end","messages":[],"willRetry":false}"#);
    assert!(!has(&told, "get_state"), "{told:?}");
    assert!(has(&session.frame(r#"{"type":"agent_settled","aborted":false}"#), "turn ."));
}

#[test]
fn only_a_title_of_the_gate_is_taken_for_one() {
    assert!(permissions::asked(r#"omniglot-gate {"toolCallId":"c","toolName":"bash"}"#).is_some());
    for title in ["omniglot-gate", "omniglot-gate {}", "Permission: bash", ""] {
        assert!(permissions::asked(title).is_none(), "{title}");
    }
}
