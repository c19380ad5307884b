//! Commands, answers and the traps of Codex, each by its name. What must not be lost of what it says is in `told`.
//! Whole recordings are in `tests/captures.rs`.

mod asked;
mod login;
mod name;
mod told;

use omniglot_schema::{MessageAttachment, PermissionReply, SessionId};
use omniglot_timeline::Identity;
use omniglot_timeline::check::{Allow, check};
use serde_json::value::RawValue;

use super::Codex;
use super::link::CodexLink;
use crate::contract::{
    Attachment, Command, FileContent, Handshake, Input, Link, Open, Output, Prompt, RequestKey, Route,
    SettingsRequest, SlotId, Translator,
};
use crate::replay::show::show_output;

/// A session whose sent messages come back to it, as in the runtime.
struct Session {
    codex: Codex,
    sent: Vec<String>,
}

impl Session {
    fn new() -> Self {
        Self { codex: Codex::new(), sent: vec![] }
    }

    /// Opens a thread `t` with this settings request; models and account are those of `MODELS`.
    fn open(requested: SettingsRequest) -> Self {
        let mut session = Self::new();
        session.start(Open { cwd: "/w".into(), new_id: "s".into(), requested, ..Open::default() });
        session.hear(&format!(r#"{{"id":"s.3","result":{THREAD}}}"#));
        session.sent.clear();
        session
    }

    fn start(&mut self, open: Open) -> Vec<String> {
        self.command(Command::Open(open));
        self.hear(&format!(r#"{{"id":"s.1","result":{MODELS}}}"#));
        self.hear(r#"{"id":"s.2","result":{"account":null,"requiresOpenaiAuth":false}}"#)
    }

    fn command(&mut self, command: Command) -> Vec<String> {
        let mut out = vec![];
        self.codex.handle(Input::Command(&command), &mut out);
        self.settle(out)
    }

    fn hear(&mut self, frame: &str) -> Vec<String> {
        let mut out = vec![];
        self.codex.handle(Input::Frame(&raw(frame)), &mut out);
        self.settle(out)
    }

    fn notice(&mut self, method: &str, params: &str) -> Vec<String> {
        self.hear(&format!(r#"{{"method":"{method}","params":{params}}}"#))
    }

    /// Returns the drafts, refusals and answers; messages to the agent go to `sent`.
    fn settle(&mut self, out: Vec<Output>) -> Vec<String> {
        let mut shown = vec![];
        for output in out {
            if let Some(message) = output.shown() {
                self.sent.push(message.get().to_owned());
                let mut caused = vec![];
                self.codex.handle(Input::Sent(message), &mut caused);
                shown.extend(self.settle(caused));
            } else {
                shown.push(show_output(&output));
            }
        }
        shown
    }

    fn prompt(&mut self, text: &str) -> Vec<String> {
        self.command(Command::Prompt(Prompt { message_id: None, text: text.into(), attachments: vec![] }))
    }

    /// A turn `n` that has been announced.
    fn turn(&mut self) {
        self.prompt("go");
        self.notice(
            "turn/started",
            r#"{"threadId":"t","turn":{"id":"n","rootTurnId":"n","status":"inProgress"}}"#,
        );
        self.sent.clear();
    }

    fn end_turn(&mut self, status: &str) -> Vec<String> {
        self.notice(
            "turn/completed",
            &format!(r#"{{"threadId":"t","turn":{{"id":"n","status":"{status}"}}}}"#),
        )
    }

    fn item(&mut self, phase: &str, thread: &str, item: &str) -> Vec<String> {
        self.notice(&format!("item/{phase}"), &format!(r#"{{"threadId":"{thread}","item":{item}}}"#))
    }
}

const MODELS: &str = r#"{"data":[{"id":"big","displayName":"Big","supportedReasoningEfforts":[{"reasoningEffort":"low"},{"reasoningEffort":"high"}],"defaultReasoningEffort":"low"}]}"#;
const THREAD: &str = r#"{"thread":{"id":"t","cliVersion":"0.166.0"},"model":"big","reasoningEffort":"low","approvalPolicy":"on-request","sandbox":{"type":"readOnly","networkAccess":false}}"#;

fn command_item(status: &str, process: &str, output: &str) -> String {
    format!(
        r#"{{"type":"commandExecution","id":"c","command":"ls","cwd":"/w","processId":{process},"status":"{status}","aggregatedOutput":{output},"exitCode":0}}"#
    )
}

fn raw(frame: &str) -> Box<RawValue> {
    RawValue::from_string(frame.to_owned()).unwrap()
}

fn has(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

#[test]
fn settings_are_checked_before_a_thread_is_opened() {
    let mut session = Session::new();
    let requested = SettingsRequest {
        model: Some("big".into()),
        variant: Some("huge".into()),
        ..SettingsRequest::default()
    };
    let told = session.start(Open { cwd: "/w".into(), new_id: "s".into(), requested, ..Open::default() });
    insta::assert_snapshot!(told.join("\n"), @r#"refused BadMode the model big has no effort huge; it has low, high "use one of: low, high""#);
    assert!(!has(&session.sent, "thread/start"), "{:?}", session.sent);
    let requested = SettingsRequest { permission_mode: Some("yolo".into()), ..SettingsRequest::default() };
    let told =
        Session::new().start(Open { cwd: "/w".into(), new_id: "s".into(), requested, ..Open::default() });
    assert!(
        has(&told, "Codex has no permission mode yolo; it has default, acceptEdits, plan, bypass"),
        "{told:?}"
    );
}

/// A7: which model it is about, only the thread tells.
#[test]
fn an_effort_that_the_default_model_does_not_have_is_refused() {
    let requested = SettingsRequest { variant: Some("huge".into()), ..SettingsRequest::default() };
    let mut session = Session::new();
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), requested, ..Open::default() });
    let told = session.hear(&format!(r#"{{"id":"s.3","result":{THREAD}}}"#));
    assert!(has(&told, "refused BadMode the model big has no effort huge; it has low, high"), "{told:?}");
}

#[test]
fn a_session_opens_with_its_settings_and_lists_what_there_is() {
    let mut session = Session::new();
    let requested = SettingsRequest {
        model: Some("big".into()),
        variant: Some("high".into()),
        permission_mode: Some("bypass".into()),
        ..SettingsRequest::default()
    };
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), requested, ..Open::default() });
    insta::assert_snapshot!(session.sent.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"s.1","method":"model/list","params":{"limit":200}}
    {"jsonrpc":"2.0","id":"s.2","method":"account/read","params":{"refreshToken":false}}
    {"jsonrpc":"2.0","id":"s.3","method":"thread/start","params":{"cwd":"/w","model":"big","approvalPolicy":"never","sandbox":"danger-full-access","config":{"model_reasoning_effort":"high","features.unbounded_connection_retries":false}}}
    "#);
    let told = session.hear(&format!(r#"{{"id":"s.3","result":{THREAD}}}"#));
    assert!(
        told.iter().any(|line| line.starts_with(r#"session "t" version="0.166.0" resume=null"#)),
        "{told:?}"
    );
    assert!(has(&told, r#""variants":["low","high"],"defaultVariant":"low""#), "{told:?}");
    assert!(has(&told, r#"{"auth":{"state":"ready""#), "{told:?}");
    assert!(has(&told, r#""permission_mode":"bypass""#), "{told:?}");
}

#[test]
fn trap_the_deltas_of_a_command_miss_its_beginning_so_the_final_output_is_told() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", &command_item("inProgress", r#""7""#, "null"));
    session.notice("item/commandExecution/outputDelta", r#"{"threadId":"t","itemId":"c","delta":"two\n"}"#);
    let told = session.item("completed", "t", &command_item("completed", r#""7""#, r#""one\ntwo\n""#));
    insta::assert_snapshot!(told.join("\n"), @r#"call . call:1:c "one\ntwo\n" error=false exit=0"#);
}

#[test]
fn trap_a_command_that_outlives_its_turn_is_late_and_its_deltas_are_not_told() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", &command_item("inProgress", r#""7""#, "null"));
    // A9: it has not failed.
    let told = session.end_turn("completed");
    assert_eq!(told.first().unwrap(), r#"call . call:1:c "" error=false goes on"#);
    let delta = r#"{"threadId":"t","itemId":"c","delta":"more\n"}"#;
    assert_eq!(session.notice("item/commandExecution/outputDelta", delta), ["dropped superseded"]);
    session.turn();
    session.end_turn("completed");
    let told = session.item("completed", "t", &command_item("completed", r#""7""#, r#""one\nmore\n""#));
    insta::assert_snapshot!(told.join("\n"), @r#"call . call:1:c "one\nmore\n" error=false exit=0"#);
}

#[test]
fn trap_an_interrupt_waits_until_the_turn_is_announced_and_nobody_waits_for_its_answer() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt("go");
    session.hear(r#"{"id":"s.4","result":{"turn":{"id":"n","status":"inProgress"}}}"#);
    session.sent.clear();
    session.command(Command::Cancel);
    assert!(session.sent.is_empty(), "Codex would refuse it now: {:?}", session.sent);
    session.notice(
        "turn/started",
        r#"{"threadId":"t","turn":{"id":"n","rootTurnId":"n","status":"inProgress"}}"#,
    );
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":"s.5","method":"turn/interrupt","params":{"threadId":"t","turnId":"n"}}"#);
    let told = session.end_turn("interrupted");
    insta::assert_snapshot!(told.join("\n"), @r#"
    turn . "cancelled" model="big"
    end orphans, spare []
    "#);
}

#[test]
fn trap_a_command_that_is_told_of_after_the_interrupt_is_ended_all_the_same() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.command(Command::Cancel);
    session.sent.clear();
    session.item("started", "t", &command_item("inProgress", r#""7""#, "null"));
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":"s.6","method":"thread/backgroundTerminals/terminate","params":{"threadId":"t","processId":"7"}}"#);
    session.end_turn("interrupted");
    session.sent.clear();
    session.item("started", "t", &command_item("inProgress", r#""8""#, "null"));
    assert!(has(&session.sent, r#""processId":"8""#), "{:?}", session.sent);
}

#[test]
fn a_command_of_an_earlier_turn_is_spared_when_a_later_one_is_cancelled() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", &command_item("inProgress", r#""7""#, "null"));
    session.end_turn("completed");
    session.turn();
    session.command(Command::Cancel);
    assert!(!has(&session.sent, "backgroundTerminals"), "{:?}", session.sent);
    let told = session.end_turn("interrupted");
    assert_eq!(told.last().unwrap(), r#"end orphans, spare ["c"]"#);
}

#[test]
fn trap_an_interrupt_leaves_commands_running_so_they_are_ended_first() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", &command_item("inProgress", r#""7""#, "null"));
    session.command(Command::Cancel);
    insta::assert_snapshot!(session.sent.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"s.5","method":"thread/backgroundTerminals/terminate","params":{"threadId":"t","processId":"7"}}
    {"jsonrpc":"2.0","id":"s.6","method":"turn/interrupt","params":{"threadId":"t","turnId":"n"}}
    "#);
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", &command_item("inProgress", "null", "null"));
    session.command(Command::Cancel);
    assert!(has(&session.sent, "thread/backgroundTerminals/clean"), "{:?}", session.sent);
}

#[test]
fn trap_a_turn_that_codex_stops_by_itself_was_not_cancelled() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.end_turn("interrupted");
    assert!(has(&told, r#"error="aborted""#), "{told:?}");
}

#[test]
fn trap_a_resumed_thread_is_told_its_sandbox_again() {
    let mut session = Session::new();
    let requested =
        SettingsRequest { permission_mode: Some("acceptEdits".into()), ..SettingsRequest::default() };
    let resume = Some("old".to_owned());
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), resume, requested, ..Open::default() });
    insta::assert_snapshot!(session.sent.last().unwrap(), @r#"{"jsonrpc":"2.0","id":"s.3","method":"thread/resume","params":{"threadId":"old","excludeTurns":true,"cwd":"/w","approvalPolicy":"on-request","sandbox":"workspace-write","config":{"features.unbounded_connection_retries":false}}}"#);
}

#[test]
fn trap_a_thread_without_a_first_turn_cannot_be_resumed_and_is_begun_anew() {
    let mut session = Session::new();
    let resume = Some("old".to_owned());
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), resume, ..Open::default() });
    session.hear(r#"{"error":{"code":-32600,"message":"no rollout found for thread id old"},"id":"s.3"}"#);
    assert!(session.sent.last().unwrap().contains("thread/start"), "{:?}", session.sent);
    let told = session.hear(&format!(r#"{{"id":"s.4","result":{THREAD}}}"#));
    assert!(told.first().unwrap().ends_with(r#"resume="none""#), "{told:?}");
}

#[test]
fn a_thread_that_another_process_holds_is_not_begun_anew() {
    let mut session = Session::new();
    let resume = Some("old".to_owned());
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), resume, ..Open::default() });
    let told = session
        .hear(r#"{"error":{"code":-32600,"message":"thread old already has an active writer"},"id":"s.3"}"#);
    assert!(has(&told, "refused Unavailable"), "{told:?}");
}

#[test]
fn trap_questions_and_more_rights_have_no_item_and_get_a_call_of_ours() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let ask = r#"{"id":0,"method":"item/tool/requestUserInput","params":{"threadId":"t","questions":[{"id":"q","header":"H","question":"Which?","isOther":true,"options":[{"label":"A"}]}]}}"#;
    let told = session.hear(ask);
    assert!(has(&told, "question + 1:0 native=0 call=null"), "{told:?}");
    let answers = Some(vec![vec!["something else".to_owned()]]);
    let told = session.command(Command::ReplyQuestion { key: RequestKey("1:0".into()), answers });
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":0,"result":{"answers":{"q":{"answers":["user_note: something else"]}}}}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"question . 1:0 [["something else"]] by "person""#);
    session.sent.clear();
    session.hear(r#"{"id":1,"method":"item/permissions/requestApproval","params":{"threadId":"t","permissions":{"network":{"enabled":true}},"reason":"more"}}"#);
    let reply = PermissionReply::Always;
    session.command(Command::ReplyPermission { key: RequestKey("2:1".into()), reply, message: None });
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":1,"result":{"permissions":{"network":{"enabled":true}},"scope":"session"}}"#);
}

#[test]
fn trap_a_child_thread_comes_unannounced_and_ends_no_turn_of_the_session() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let spawn = |status: &str, threads: &str| {
        format!(
            r#"{{"type":"collabAgentToolCall","id":"a","tool":"spawnAgent","status":"{status}","receiverThreadIds":{threads},"prompt":"p","agentsStates":{{}}}}"#
        )
    };
    session.item("started", "t", &spawn("inProgress", "[]"));
    session.item("completed", "t", &spawn("completed", r#"["child"]"#));
    session.notice(
        "turn/started",
        r#"{"threadId":"child","turn":{"id":"m","rootTurnId":"n","status":"inProgress"}}"#,
    );
    let told = session.item("completed", "child", r#"{"type":"agentMessage","id":"x","text":"hi"}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"
    item + text:1:x native="x" in call:1:a message "assistant" []
    item . text:1:x message "assistant" [{"type":"text","text":"hi"}]
    "#);
    let told =
        session.notice("turn/completed", r#"{"threadId":"child","turn":{"id":"m","status":"completed"}}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"state {"subagents":[{"id":"child","status":"completed"}]}"#);
    session.sent.clear();
    session.notice(
        "turn/started",
        r#"{"threadId":"child","turn":{"id":"m2","rootTurnId":"n","status":"inProgress"}}"#,
    );
    session.command(Command::Cancel);
    insta::assert_snapshot!(session.sent.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"s.5","method":"turn/interrupt","params":{"threadId":"child","turnId":"m2"}}
    {"jsonrpc":"2.0","id":"s.6","method":"turn/interrupt","params":{"threadId":"t","turnId":"n"}}
    "#);
}

#[test]
fn trap_a_prompt_during_a_turn_steers_it_and_one_that_comes_too_late_begins_the_next() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.prompt("more");
    insta::assert_snapshot!(told.join("\n"), @r#"item + steer:1 native=null message "user" [{"type":"text","text":"more"}]"#);
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":"s.5","method":"turn/steer","params":{"threadId":"t","expectedTurnId":"n","input":[{"type":"text","text":"more"}]}}"#);
    session.hear(r#"{"id":"s.5","result":{"turnId":"n"}}"#);
    let echo = r#"{"type":"userMessage","id":"u2","content":[{"type":"text","text":"more"}]}"#;
    let told = session.notice("item/completed", &format!(r#"{{"threadId":"t","turnId":"n","item":{echo}}}"#));
    assert_eq!(told, [r#"item . steer:1 native="u2""#]);
    let told = session.prompt("late");
    insta::assert_snapshot!(told.join("\n"), @r#"item + steer:2 native=null message "user" [{"type":"text","text":"late"}]"#);
    session.hear(r#"{"error":{"code":-32600,"message":"no active turn to steer"},"id":"s.6"}"#);
    let told = session.end_turn("completed");
    insta::assert_snapshot!(told.join("\n"), @r#"
    turn . "end_turn" model="big"
    turn + user null [{"type":"text","text":"late"}]
    "#);
}

#[test]
fn trap_an_error_that_is_retried_is_no_failure() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let retried = r#"{"threadId":"t","error":{"message":"Reconnecting... 1/2"},"willRetry":true}"#;
    insta::assert_snapshot!(session.notice("error", retried).join("\n"), @r#"
    state {"activity":"retrying"}
    item + status:1 native=null status retry "Reconnecting... 1/2"
    item . status:1
    "#);
    let told = session.item("started", "t", r#"{"type":"agentMessage","id":"x","text":""}"#);
    assert_eq!(told.first().unwrap(), r#"state {"activity":null}"#);
    assert!(has(&session.end_turn("completed"), r#"turn . "end_turn""#));
}

#[test]
fn trap_settings_are_spelled_in_camel_case_and_the_first_request_is_not() {
    let mut session = Session::open(SettingsRequest::default());
    let requested = SettingsRequest {
        agent_mode: Some("plan".into()),
        permission_mode: Some("plan".into()),
        variant: Some("high".into()),
        ..SettingsRequest::default()
    };
    session.command(Command::Configure(requested));
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":"s.4","method":"thread/settings/update","params":{"threadId":"t","effort":"high","approvalPolicy":"untrusted","sandboxPolicy":{"type":"readOnly"},"collaborationMode":{"mode":"plan","settings":{"model":"big","reasoning_effort":"high","developer_instructions":null}}}}"#);
    let told = session.hear(r#"{"id":"s.4","result":{}}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"
    state {"model":"big","variant":"high","agent_mode":"plan","permission_mode":"plan"}
    configured
    "#);
    session.sent.clear();
    let requested = SettingsRequest { permission_mode: Some("default".into()), ..SettingsRequest::default() };
    session.command(Command::Configure(requested));
    assert!(
        has(&session.sent, r#""sandboxPolicy":{"type":"readOnly","networkAccess":false}"#),
        "{:?}",
        session.sent
    );
}

#[test]
fn in_the_mode_that_accepts_edits_patches_are_accepted_without_a_question() {
    let mut session = Session::open(SettingsRequest {
        permission_mode: Some("acceptEdits".into()),
        ..SettingsRequest::default()
    });
    session.turn();
    let told = session.hear(
        r#"{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"t","itemId":"p"}}"#,
    );
    assert_eq!(told, ["dropped internal"]);
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":0,"result":{"decision":"accept"}}"#);
}

#[test]
fn an_answer_that_is_withdrawn_parks_no_turn() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", &command_item("inProgress", "null", "null"));
    session.hear(r#"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","itemId":"c","command":"ls"}}"#);
    let told = session.command(Command::Withdraw { key: RequestKey("1:0".into()) });
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":0,"result":{"decision":"cancel"}}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"permission . 1:0 "reject" by "cancel" null"#);
    assert!(has(&session.end_turn("interrupted"), r#"turn . "cancelled""#));
}

#[test]
fn a_question_that_is_withdrawn_ends_with_its_turn_and_the_model_is_not_asked_again() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.hear(r#"{"id":0,"method":"item/tool/requestUserInput","params":{"threadId":"t","itemId":"c","questions":[{"id":"q","header":"H","question":"Which?","options":[]}]}}"#);
    session.command(Command::Withdraw { key: RequestKey("1:0".into()) });
    session.command(Command::Cancel);
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":"s.5","method":"turn/interrupt","params":{"threadId":"t","turnId":"n"}}"#);
    assert!(has(&session.end_turn("interrupted"), r#"turn . "cancelled""#));
}

#[test]
fn commands_are_methods_and_files_go_along() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt("/compact");
    assert!(
        has(&session.sent, r#""method":"thread/compact/start","params":{"threadId":"t"}"#),
        "{:?}",
        session.sent
    );
    let mut session = Session::open(SettingsRequest::default());
    let file = MessageAttachment { path: "a.png".into(), mime: None, filename: None };
    let image = FileContent::Image { mime: "image/png".into(), bytes: vec![0, 1] };
    let text = FileContent::Text("body".into());
    let attachments = [image, text].map(|content| Attachment { file: file.clone(), content }).to_vec();
    let prompt = Prompt { message_id: None, text: "see".into(), attachments };
    let told = session.command(Command::Prompt(prompt));
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":"s.4","method":"turn/start","params":{"threadId":"t","input":[{"type":"text","text":"see"},{"type":"image","url":"data:image/png;base64,AAE="},{"type":"text","text":"<attached_file path=\"/w/a.png\">\nbody\n</attached_file>"}]}}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"turn + user null [{"type":"text","text":"see"},{"type":"image","path":"data:image/png;base64,AAE=","mime":"image/png"},{"type":"file_ref","path":"/w/a.png","action":"read"}]"#);
}

#[test]
fn mcp_servers_go_into_the_configuration_and_their_secrets_are_not_shown() {
    let mcp = r#"{"here":{"type":"local","command":["run","it"],"args":["x"],"env":{"KEY":"hush"},"timeoutMs":1500},"there":{"type":"remote","url":"http://127.0.0.1/","headers":{"Authorization":"hush"}}}"#;
    let mut session = Session::new();
    let mcp = serde_json::from_str(mcp).unwrap();
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), mcp, ..Open::default() });
    insta::assert_snapshot!(session.sent.last().unwrap(), @r#"{"jsonrpc":"2.0","id":"s.3","method":"thread/start","params":{"cwd":"/w","config":{"mcp_servers":{"here":{"command":"run","args":["it","x"],"env":{"KEY":"***"},"tool_timeout_sec":1.5},"there":{"url":"http://127.0.0.1/","http_headers":{"Authorization":"***"}}},"features.unbounded_connection_retries":false}}}"#);
    let sse = r#"{"old":{"type":"remote","url":"http://127.0.0.1/","transport":"sse"}}"#;
    let mcp = serde_json::from_str(sse).unwrap();
    let told = Session::new().start(Open { cwd: "/w".into(), new_id: "s".into(), mcp, ..Open::default() });
    assert!(has(&told, "refused BadRequest"), "{told:?}");
}

#[test]
fn a_search_is_a_call_once_its_words_are_known() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.item("started", "t", r#"{"type":"webSearch","id":"w","query":"","action":null}"#);
    assert_eq!(told, ["dropped superseded"]);
    let found = r#"{"type":"webSearch","id":"w","query":"oslo","action":{"type":"search","query":"oslo"}}"#;
    let told = session.item("completed", "t", found);
    insta::assert_snapshot!(told.join("\n"), @r#"
    call + call:1:w native="w" web_search {"query":"oslo","action":{"type":"search","query":"oslo"}} kind="search" {"query":"oslo"}
    call = call:1:w
    call > call:1:w ""
    call . call:1:w "" error=false
    "#);
}

#[test]
fn a_window_that_is_full_is_no_usage() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let none = r#""inputTokens":0,"cachedInputTokens":0,"cacheWriteInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0"#;
    let full = format!(r#"{{"totalTokens":900,{none}}}"#);
    let usage = format!(r#"{{"total":{full},"last":{full},"modelContextWindow":900}}"#);
    let told = session.notice(
        "thread/tokenUsage/updated",
        &format!(r#"{{"threadId":"t","turnId":"n","tokenUsage":{usage}}}"#),
    );
    insta::assert_snapshot!(told.join("\n"), @r#"state {"context":{"used":900,"window":900}}"#);
    assert_eq!(session.end_turn("completed"), [r#"turn . "end_turn" model="big""#]);
}

#[test]
fn each_call_of_the_model_is_one_step_however_often_its_count_is_told() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let count = |input: u64| {
        let rest =
            r#""cachedInputTokens":0,"cacheWriteInputTokens":0,"outputTokens":5,"reasoningOutputTokens":0"#;
        format!(r#"{{"totalTokens":{},"inputTokens":{input},{rest}}}"#, input + 5)
    };
    let usage = format!(r#"{{"total":{},"last":{}}}"#, count(10), count(10));
    let usage = format!(r#"{{"threadId":"t","turnId":"n","tokenUsage":{usage}}}"#);
    let told = session.notice("thread/tokenUsage/updated", &usage);
    let [begun, ended, ..] = told.as_slice() else { panic!("{told:?}") };
    assert!(begun.starts_with("item + step:1 native=null step null {"), "{told:?}");
    assert!(begun.contains(r#""input_tokens":10,"output_tokens":5"#), "{told:?}");
    assert_eq!(ended, "item . step:1");
    assert_eq!(session.notice("thread/tokenUsage/updated", &usage), ["dropped internal"]);
}

#[test]
fn a_session_that_leaves_ends_what_it_runs() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.command(Command::Close);
    insta::assert_snapshot!(session.sent.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"s.5","method":"turn/interrupt","params":{"threadId":"t","turnId":"n"}}
    {"jsonrpc":"2.0","id":"s.6","method":"thread/backgroundTerminals/clean","params":{"threadId":"t"}}
    {"jsonrpc":"2.0","id":"s.7","method":"thread/unsubscribe","params":{"threadId":"t"}}
    "#);
    assert_eq!(
        session.hear(r#"{"id":"s.7","result":{"status":"unsubscribed"}}"#),
        ["end orphans and detached processes, spare []", "closed"]
    );
}

#[test]
fn the_link_shakes_hands_and_refuses_what_is_too_old() {
    let answer = |agent: &str| raw(&format!(r#"{{"id":"hello","result":{{"userAgent":"{agent}"}}}}"#));
    let mut link = CodexLink::default();
    let hello = link.hello();
    assert!(hello.first().unwrap().get().contains(r#""experimentalApi":true"#));
    let mut reply = vec![];
    assert_eq!(link.route(&answer("omniglot/0.166.0 (x)"), &mut reply), Route::Mine(Handshake::Done));
    assert_eq!(reply.first().unwrap().get(), r#"{"jsonrpc":"2.0","method":"initialized"}"#);
    let mut link = CodexLink::default();
    link.hello();
    let Route::Mine(Handshake::Refused(refusal)) = link.route(&answer("omniglot/0.46.1 (x)"), &mut reply)
    else {
        panic!("an old version was taken")
    };
    assert_eq!(refusal.message, "codex 0.46.1 is too old; Codex 0.160 or newer is needed");
}

#[test]
fn the_link_knows_whose_frame_is_whose() {
    let (one, two) = (SlotId(1), SlotId(2));
    let mut link = CodexLink::default();
    let mut reply = vec![];
    let mut route = |link: &mut CodexLink, frame: &str| link.route(&raw(frame), &mut reply);
    link.sent(one, &raw(r#"{"id":"a.1","method":"thread/start","params":{}}"#));
    link.sent(two, &raw(r#"{"id":"b.1","method":"thread/start","params":{}}"#));
    assert_eq!(route(&mut link, r#"{"id":"b.1","result":{"thread":{"id":"tb"}}}"#), Route::Session(two));
    assert_eq!(route(&mut link, r#"{"id":"a.1","result":{"thread":{"id":"ta"}}}"#), Route::Session(one));
    let turn = r#"{"method":"turn/started","params":{"threadId":"ta","turn":{"id":"n","rootTurnId":"n"}}}"#;
    assert_eq!(route(&mut link, turn), Route::Session(one));
    let child = r#"{"method":"turn/started","params":{"threadId":"tc","turn":{"id":"m","rootTurnId":"n"}}}"#;
    assert_eq!(route(&mut link, child), Route::Session(one));
    let ask =
        r#"{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"tc","itemId":"x"}}"#;
    assert_eq!(route(&mut link, ask), Route::Session(one));
    assert_eq!(route(&mut link, r#"{"method":"account/updated","params":{}}"#), Route::All);
    link.left(one);
    assert_eq!(route(&mut link, ask), Route::Nobody);
    assert_eq!(route(&mut link, turn), Route::Nobody);
    assert_eq!(reply.len(), 1, "a request that nobody hears is refused");
}

#[test]
fn trap_what_an_interrupt_leaves_open_is_closed_with_the_turn() {
    let capture = include_str!("../../captures/codex/interrupt.jsonl");
    let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "codex".into() };
    let events = crate::replay::events(&crate::codex::ADAPTER, capture, identity).unwrap();
    let report = check(&events, Allow::default());
    assert!(report.is_lawful(), "{report}");
    assert!(crate::replay::show::events(&events).contains(r#""status":"failed""#));
}

#[test]
fn trap_without_a_network_codex_tries_for_ever_unless_its_thread_is_opened_otherwise() {
    let mut session = Session::new();
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), ..Open::default() });
    let opened = session.sent.last().unwrap();
    assert!(opened.contains(r#""features.unbounded_connection_retries":false"#), "{opened}");
}

#[test]
fn trap_a_call_that_is_refused_by_policy_leaves_no_item_and_the_turn_ends_as_ever() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session
        .notice("thread/status/changed", r#"{"threadId":"t","status":{"type":"active","activeFlags":[]}}"#);
    assert_eq!(session.end_turn("completed"), [r#"turn . "end_turn" model="big""#]);
}

#[test]
fn trap_another_family_of_models_compacts_the_history_first() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let compaction = r#"{"type":"contextCompaction","id":"k"}"#;
    let told =
        [session.item("started", "t", compaction), session.item("completed", "t", compaction)].concat();
    insta::assert_snapshot!(told.join("\n"), @r#"
    state {"activity":"compacting"}
    item + compaction:k native="k" status compaction null
    state {"activity":null}
    item . compaction:k
    "#);
}

#[test]
fn trap_what_codex_cannot_read_it_does_not_answer_so_every_message_of_ours_is_one_object_on_a_line() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt("two\nlines");
    assert!(session.sent.iter().all(|message| message.starts_with('{') && !message.contains('\n')));
}
