//! Single frames and commands, and what must hold for any frame.

use std::path::PathBuf;

use omniglot_schema::{MessageAttachment, MessageId, PermissionReply, StderrOutput};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::Acp;
use crate::contract::{Command, Input, LineFault, Open, Prompt, RequestKey, SettingsRequest, Translator};
use crate::replay::show::show_output;

/// A session under test: whatever the adapter sends is taken as sent, as the runtime does.
#[derive(Default)]
struct Harness {
    acp: Acp,
    lines: Vec<String>,
}

impl Harness {
    fn new(open: Open) -> Self {
        let mut harness = Self::default();
        harness.command(&Command::Open(open));
        harness
    }

    /// An open session with nothing special about it.
    fn ready() -> Self {
        let mut harness = Self::new(Open { cwd: "/w".into(), ..Open::default() });
        harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
        harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#);
        harness.lines.clear();
        harness
    }

    /// An open session with a prompt under way.
    fn prompted() -> Self {
        let mut harness = Self::ready();
        harness.command(&prompt("hi"));
        harness.lines.clear();
        harness
    }

    fn command(&mut self, command: &Command) -> &mut Self {
        self.step(Input::Command(command))
    }

    fn hear(&mut self, frame: &str) -> &mut Self {
        self.step(Input::Frame(raw(frame).as_ref()))
    }

    fn update(&mut self, update: &str) -> &mut Self {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
        );
        self.hear(&frame)
    }

    fn step(&mut self, input: Input<'_>) -> &mut Self {
        let mut out = Vec::new();
        self.acp.handle(input, &mut out);
        for output in out {
            self.lines.push(show_output(&output));
            if let Some(message) = output.shown() {
                self.step(Input::Sent(message));
            }
        }
        self
    }

    /// Returns the outputs since the last call.
    fn said(&mut self) -> String {
        std::mem::take(&mut self.lines).join("\n")
    }
}

fn raw(frame: &str) -> Box<RawValue> {
    RawValue::from_string(frame.to_owned()).unwrap()
}

fn prompt(text: &str) -> Command {
    let message_id = Some(MessageId("msg_1".to_owned()));
    Command::Prompt(Prompt { message_id, text: text.to_owned(), attachments: vec![] })
}

fn mode(id: &str) -> SettingsRequest {
    SettingsRequest { permission_mode: Some(id.to_owned()), ..SettingsRequest::default() }
}

const CALL: &str = r#"{"toolCallId":"c1","title":"Write note","kind":"edit","status":"pending",
    "rawInput":{"path":"n"},"locations":[{"path":"/w/n"}]}"#;

fn permission(options: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{{"sessionId":"s","toolCall":{CALL},"options":{options}}}}}"#
    )
}

const OPTIONS: &str = r#"[{"optionId":"y","name":"Yes","kind":"allow_once"},
    {"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"}]"#;

#[test]
fn opening_offers_nothing_that_we_do_not_serve() {
    let mut harness = Harness::new(Open { cwd: "/w".into(), ..Open::default() });
    harness.hear(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"x","version":"7"}}}"#,
    );
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"auth":{"terminal":false},"elicitation":{"form":{}},"_meta":{"terminal-auth":true}},"clientInfo":{"name":"omniglot","title":"Omniglot","version":"0.1.0"}}}
    send {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
    session "s" version="7" resume=null
    "#);
}

#[test]
fn another_protocol_version_is_refused() {
    let mut harness = Harness::new(Open::default());
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}"#);
    insta::assert_snapshot!(harness.said(), @r#"refused Protocol the agent speaks ACP version 2, not 1 "use a version of the agent that speaks ACP 1""#);
}

#[test]
fn a_missing_login_names_the_ways_to_log_in() {
    let mut harness = Harness::new(Open { cwd: "/w".into(), ..Open::default() });
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":[{"id":"k","name":"API key"}]}}"#);
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    state {"auth":{"state":"required","methods":[{"id":"k","name":"API key"}]}}
    refused Auth Authentication required "log in first; its ways are: API key"
    "#);
}

#[test]
fn a_session_is_resumed_where_the_agent_can() {
    let open = || Open { cwd: "/w".into(), resume: Some("old".into()), ..Open::default() };
    let can = |capabilities: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{capabilities}}}}}"#
        )
    };
    let mut harness = Harness::new(open());
    harness.said();
    harness.hear(&can(r#"{"loadSession":true,"sessionCapabilities":{"resume":{}}}"#));
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":2,"method":"session/resume","params":{"sessionId":"old","cwd":"/w"}}
    session "old" version=null resume="native"
    "#);

    let mut harness = Harness::new(open());
    harness.said();
    harness.hear(&can("{}"));
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"new"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
    session "new" version=null resume="none"
    "#);
}

#[test]
fn a_load_drops_history_and_falls_back_to_a_new_session() {
    let mut harness = Harness::new(Open { cwd: "/w".into(), resume: Some("s".into()), ..Open::default() });
    harness.hear(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#,
    );
    harness.said();
    harness.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"old"}}"#);
    harness.update(r#"{"sessionUpdate":"session_info_update","title":"T"}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found"}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{"sessionId":"n"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    dropped replay
    dropped internal
    send {"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
    session "n" version=null resume="none"
    "#);
}

#[test]
fn a_prompt_waits_for_a_past_that_is_told_late() {
    let mut harness = Harness::new(Open { cwd: "/w".into(), resume: Some("s".into()), ..Open::default() });
    harness.hear(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"gemini-cli","version":"1"},
            "agentCapabilities":{"loadSession":true}}}"#,
    );
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    harness.said();
    harness.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"old"}}"#);
    let unknown =
        |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#);
    harness.hear(&unknown(3));
    harness.hear(&unknown(4));
    insta::assert_snapshot!(harness.said(), @r#"
    dropped replay
    dropped internal
    send {"jsonrpc":"2.0","id":4,"method":"_omniglot/replayed","params":{}}
    dropped internal
    session "s" version="1" resume="load"
    "#);
}

#[test]
fn modes_and_models_are_set_before_the_session_starts() {
    let open = Open {
        cwd: "/w".into(),
        requested: SettingsRequest {
            model: Some("small".into()),
            permission_mode: Some("bypass".into()),
            ..SettingsRequest::default()
        },
        ..Open::default()
    };
    let session = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","modes":{"currentModeId":"default",
        "availableModes":[{"id":"default","name":"D"},{"id":"yolo","name":"Y"}]},
        "configOptions":[{"id":"m","name":"Model","category":"model","type":"select","currentValue":"large",
        "options":[{"value":"small","name":"Small"}]}]}}"#;
    let mut harness = Harness::new(open);
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
    harness.said();
    harness.hear(session);
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s","modeId":"yolo"}}
    send {"jsonrpc":"2.0","id":4,"method":"session/set_config_option","params":{"sessionId":"s","configId":"m","value":"small"}}
    dropped internal
    "#);
    harness.hear(
        r#"{"jsonrpc":"2.0","id":4,"result":{"configOptions":[{"id":"m","name":"Model","category":"model",
        "type":"select","currentValue":"small","options":[{"value":"small","name":"Small"}]}]}}"#,
    );
    insta::assert_snapshot!(harness.said(), @r#"
    session "s" version=null resume=null
    state {"permission_mode":"bypass"}
    state {"agent_mode":"yolo"}
    state {"model":"small","agent_mode":"yolo","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"Small"}]}
    state {"model":"small","agent_mode":"yolo","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"Small"}]}
    "#);
}

/// B9: neither an unlisted nor a refused model is silently another one.
#[test]
fn a_session_with_another_model_than_requested_is_not_opened() {
    let session = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s",
        "configOptions":[{"id":"m","name":"Model","category":"model","type":"select","currentValue":"small",
        "options":[{"value":"small","name":"Small"}]}]}}"#;
    let opened = |model: &str, force_model: bool| {
        let requested = SettingsRequest { model: Some(model.into()), force_model, ..Default::default() };
        let mut harness = Harness::new(Open { cwd: "/w".into(), requested, ..Open::default() });
        harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
        harness.said();
        harness.hear(session);
        harness
    };
    let refused = "refused BadMode the agent does not list the model smal; did you mean small?";
    assert!(opened("smal", false).said().starts_with(refused));
    let mut forced = opened("huge", true);
    assert!(forced.said().contains(r#""value":"huge""#));
    forced.hear(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no such model"}}"#);
    let refused = r#"refused BadMode the agent refused the setting m = "huge": no such model"#;
    assert!(forced.said().starts_with(refused));
}

#[test]
fn a_mode_that_the_agent_lists_and_then_refuses_opens_no_session() {
    let mut harness = Harness::new(Open { requested: mode("plan"), ..Open::default() });
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
    harness.hear(
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"plan","name":"Plan"}]}}}"#,
    );
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"not today"}}"#);
    insta::assert_snapshot!(harness.said(), @"refused BadMode the agent refused the mode plan: not today null");
}

#[test]
fn a_directory_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let cwd = PathBuf::from(std::ffi::OsString::from_vec(vec![b'/', 0xff]));
    let mut harness = Harness::new(Open { cwd, ..Open::default() });
    insta::assert_snapshot!(harness.said(), @r#"refused Unavailable the name of the working directory is not UTF-8, which ACP cannot carry "use another directory""#);
}

#[test]
fn an_unknown_mode_is_refused_with_the_modes_there_are() {
    let mut harness = Harness::new(Open { requested: mode("wild"), ..Open::default() });
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
    harness.said();
    harness.hear(
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}}}"#,
    );
    insta::assert_snapshot!(harness.said(), @r#"refused BadMode the agent has no mode wild; its modes are ask, code "use one of: ask, code""#);
}

#[test]
fn a_prompt_begins_a_turn_when_it_is_sent_and_its_answer_ends_it() {
    let mut harness = Harness::ready();
    let attachment = MessageAttachment { path: "read me.md".into(), mime: None, filename: None };
    let command = Prompt { message_id: None, text: "look".into(), attachments: vec![attachment.into()] };
    harness.command(&Command::Prompt(command));
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"max_turn_requests"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"look"},{"type":"resource_link","name":"read me.md","uri":"file:///w/read%20me.md"}]}}
    turn + user null [{"type":"text","text":"look"},{"type":"file_ref","path":"/w/read me.md","action":"read"}]
    turn . "max_turns"
    "#);
}

#[test]
fn thought_and_answer_are_items_of_their_own() {
    let mut harness = Harness::prompted();
    harness.update(r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}"#);
    harness.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}"#);
    harness.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
    harness.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"}}"#);
    harness.update(r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + thought:1: native=null reasoning "public" ""
    item ~ thought:1: "hm"
    item . thought:1:
    item + text:2: native=null message "assistant" []
    item ~ text:2: "a"
    state {"context":{"used":1,"window":2}}
    item ~ text:2: "b"
    dropped echo
    "#);
}

#[test]
fn a_block_that_we_cannot_carry_is_named_and_the_message_stays() {
    let mut harness = Harness::prompted();
    harness.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"see "}}"#);
    harness.update(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"audio","data":"AA==","mimeType":"audio/wav"}}"#,
    );
    harness.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}"#);
    harness.update(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","name":"a","uri":"file:///w/a%20b"}}"#,
    );
    insta::assert_snapshot!(harness.said(), @r#"
    item + text:1: native=null message "assistant" []
    item ~ text:1: "see "
    item . text:1:
    item + text:2: native=null message "assistant" [{"type":"file_ref","path":"data:audio/wav;base64,AA==","action":"read"}]
    item . text:2:
    unparsed content: unknown variant `hologram`, expected one of `text`, `image`, `audio`, `resource_link`, `resource` at line 1 column 18
    item + text:3: native=null message "assistant" [{"type":"file_ref","path":"/w/a b","action":"read"}]
    item . text:3:
    "#);
}

#[test]
fn growing_output_is_previewed_and_the_last_word_is_the_truth() {
    let mut harness = Harness::prompted();
    let news = |status: &str, text: &str| {
        format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"{status}","content":[{{"type":"content","content":{{"type":"text","text":"{text}"}}}}]}}"#
        )
    };
    harness.update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"run","kind":"execute","status":"pending"}"#,
    );
    harness.update(&news("in_progress", "one"));
    harness.update(&news("in_progress", "one two"));
    harness.update(&news("in_progress", "replaced"));
    harness.update(&news("completed", "final"));
    harness.update(&news("completed", "again"));
    insta::assert_snapshot!(harness.said(), @r#"
    call + call:1:c native="c" execute {} "run" kind="execute"
    call = call:1:c execute {} "run" kind="execute"
    call > call:1:c ""
    call > call:1:c "one"
    call > call:1:c " two"
    dropped superseded
    call . call:1:c "final" error=false
    dropped superseded
    "#);
}

#[test]
fn bad_entries_are_reported_one_by_one() {
    let mut harness = Harness::prompted();
    harness.update(
        r#"{"sessionUpdate":"plan","entries":[{"content":"a","priority":"medium","status":"completed"},{"content":"b","priority":"medium","status":"maybe"}]}"#,
    );
    harness.update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"paused","content":[{"type":"smell"}]}"#,
    );
    insta::assert_snapshot!(harness.said(), @r#"
    state {"todos":[{"text":"a","status":"completed"}]}
    unparsed plan.entries[1]: unknown variant `maybe`, expected one of `pending`, `in_progress`, `completed` at line 1 column 51
    call + call:1:c native="c" other {} "t" kind="other"
    unparsed tool_call.status: unknown variant `paused`, expected one of `pending`, `in_progress`, `completed`, `failed` at line 1 column 8
    unparsed tool_call.content[0]: unknown variant `smell`, expected one of `content`, `diff`, `terminal` at line 1 column 15
    "#);
}

#[test]
fn a_call_that_never_ran_is_still_completed_at_the_end_of_the_turn() {
    let mut harness = Harness::prompted();
    harness.update(r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"read"}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    call + call:1:c native="c" read {} "t" kind="read"
    call = call:1:c read {} "t" kind="read"
    turn . "end_turn"
    "#);
}

#[test]
fn a_permission_is_answered_by_the_kind_of_its_options() {
    let answered = |options: &str, reply: PermissionReply| {
        let mut harness = Harness::prompted();
        harness.hear(&permission(options)).said();
        let key = RequestKey::from("1:0");
        harness.command(&Command::ReplyPermission { key, reply, message: Some("because".into()) }).said()
    };
    insta::assert_snapshot!(answered(OPTIONS, PermissionReply::Once), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}
    permission . 1:0 "accept" by "person" "because"
    "#);
    insta::assert_snapshot!(answered(OPTIONS, PermissionReply::Always), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}
    permission . 1:0 "accept_for_session" by "person" "because"
    "#);
    insta::assert_snapshot!(answered(OPTIONS, PermissionReply::Reject), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}
    permission . 1:0 "reject" by "person" "because"
    "#);
    let only_yes = r#"[{"optionId":"y","name":"Yes","kind":"allow_once"}]"#;
    insta::assert_snapshot!(answered(only_yes, PermissionReply::Always), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}
    permission . 1:0 "accept_for_session" by "person" "because"
    "#);
    insta::assert_snapshot!(answered(only_yes, PermissionReply::Reject), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}
    permission . 1:0 "reject" by "person" "because"
    "#);
    let only_always = r#"[{"optionId":"a","name":"Always","kind":"allow_always"}]"#;
    insta::assert_snapshot!(answered(only_always, PermissionReply::Once), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}
    item + status:1 native=null status warning "the agent offers no option for this reply, so its request was rejected"
    item . status:1
    permission . 1:0 "reject" by "person" "because"
    "#);
}

#[test]
fn a_permission_shows_its_call_first() {
    let mut harness = Harness::prompted();
    harness.hear(&permission(OPTIONS));
    insta::assert_snapshot!(harness.said(), @r#"
    call + call:1:c1 native="c1" edit {"path":"n"} "Write note" kind="edit" {"paths":[{"path":"/w/n"}]}
    call = call:1:c1 edit {"path":"n"} "Write note" kind="edit" {"paths":[{"path":"/w/n"}]}
    permission + 1:0 native=0 "Write note" tool="edit" call="call:1:c1" options=[{"id":"y","name":"Yes","kind":"allow_once"},{"id":"a","name":"Always","kind":"allow_always"},{"id":"n","name":"No","kind":"reject_once"}] files=[]
    "#);
}

#[test]
fn a_withdrawn_permission_is_answered_as_cancelled() {
    let mut harness = Harness::prompted();
    harness.hear(&permission(OPTIONS)).said();
    harness.command(&Command::Withdraw { key: RequestKey::from("1:0") });
    harness.command(&Command::Cancel);
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"aborted"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}
    permission . 1:0 "reject" by "cancel" null
    send {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
    turn . "cancelled"
    "#);
}

#[test]
fn the_agent_may_take_its_question_back() {
    let mut harness = Harness::prompted();
    harness.hear(&permission(OPTIONS)).said();
    harness.hear(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}
    permission . 1:0 "reject" by "agent" null
    dropped superseded
    "#);
}

#[test]
fn requests_that_we_do_not_serve_are_refused_at_once() {
    let mut harness = Harness::prompted();
    harness
        .hear(r#"{"jsonrpc":"2.0","id":"x","method":"fs/list_directory","params":{"path":"/etc/passwd"}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":null,"method":"_vendor/ask"}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"method not found: fs/list_directory"}}
    unparsed fs/list_directory: a request that we do not serve
    send {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"method not found: _vendor/ask"}}
    unparsed _vendor/ask: a request that we do not serve
    send {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"missing field `toolCall` at line 1 column 2"}}
    unparsed session/request_permission: missing field `toolCall` at line 1 column 2
    "#);
}

#[test]
fn nothing_disappears() {
    let mut harness = Harness::ready();
    harness.hear(r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","method":"session/whatever"}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    harness.hear("[]");
    harness.hear(r#"{"jsonrpc":"2.0"}"#);
    harness.update(r#"{"sessionUpdate":"from_the_future"}"#);
    harness.hear(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{}}}"#);
    harness.step(Input::Garbage { line: b"oops", fault: LineFault::NotJson });
    insta::assert_snapshot!(harness.said(), @"
    dropped extension
    unparsed session/whatever: unknown notification
    unparsed json-rpc: an answer to no request of ours: 77
    unparsed json-rpc: not an object
    unparsed json-rpc: neither method nor id
    unparsed session/update: unknown kind from_the_future
    unparsed session/update: an update of another session
    unparsed stdout: the line is not JSON: oops
    ");
}

#[test]
fn what_happened_and_what_is_now_are_told_apart() {
    let mut harness = Harness::prompted();
    harness.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#);
    harness.update(
        r#"{"sessionUpdate":"notice","severity":"error","title":"Disk full","description":"free some"}"#,
    );
    harness.update(r#"{"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}"#);
    harness.update(
        r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"short"}}"#,
    );
    harness.update(r#"{"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    state {"agent_mode":"plan"}
    item + status:1 native=null status mode_changed "plan"
    item . status:1
    item + status:2 native=null status warning "error: Disk full: free some"
    item . status:2
    state {"activity":"compacting"}
    item + compaction:k native="k" status compaction null
    item + summary:k native="k" system []
    item ~ summary:k "short"
    state {"activity":null}
    item . summary:k
    item . compaction:k status compaction null
    "#);
}

#[test]
fn an_unknown_stop_reason_still_ends_the_turn() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"bored","usage":7}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    unparsed session/prompt result.usage: invalid type: integer `7`, expected struct TokenCount at line 1 column 1
    unparsed session/prompt result.stopReason: unknown stop reason "bored"
    turn . "error" error="unknown" "unknown stop reason \"bored\"" null
    "#);
}

#[test]
fn the_end_of_a_process_leaves_nothing_behind() {
    let mut harness = Harness::prompted();
    harness.step(Input::Exited { code: Some(1), signal: None, stderr: &StderrOutput::default() });
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#);
    insta::assert_snapshot!(harness.said(), @"unparsed json-rpc: an answer to no request of ours: 3");
}

/// Frames of every kind, as a well-behaved agent writes them.
const FRAMES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"errorKind":"rate_limit"}}}"#,
    r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"t","content":[{"type":"diff","path":"/w/a","oldText":"a","newText":"b"}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","sessionId":"s","toolCallId":"c","message":"m","requestedSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string","title":"A","oneOf":[{"const":"x","title":"X","description":"d"}]},"b":{"type":"array","items":{"enum":["y"]}},"c":{"type":"integer"}}}}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"hello"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"edit","status":"in_progress","rawInput":{"a":1},"content":[{"type":"content","content":{"type":"text","text":"x"}}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":{"exit_code":3,"stdout":"o"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"USD"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"compaction_update","compactionId":"k","status":"failed","error":"e"}}}"#,
];

/// A frame with a piece cut out and another put in; often no longer JSON.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        Just("null".to_owned()),
        Just("\"\"".to_owned()),
        Just("[]".to_owned()),
        Just("-1e9".to_owned()),
        "[a-z_\"{}:, 0-9]{0,12}",
    ];
    (0..FRAMES.len(), any::<prop::sample::Index>(), 0..24_usize, piece).prop_map(
        |(frame, at, length, piece)| {
            let frame = FRAMES[frame];
            let start = at.index(frame.len());
            let end = (start + length).min(frame.len());
            format!("{}{piece}{}", &frame[..start], &frame[end..])
        },
    )
}

proptest! {
    #[test]
    fn every_frame_is_accounted_for_and_none_panics(frames in prop::collection::vec(mutated(), 1..24)) {
        let mut harness = Harness::prompted();
        for frame in frames {
            harness.lines.clear();
            match RawValue::from_string(frame.clone()) {
                Ok(frame) => harness.step(Input::Frame(&frame)),
                Err(_) => harness.step(Input::Garbage { line: frame.as_bytes(), fault: LineFault::NotJson }),
            };
            prop_assert!(!harness.lines.is_empty(), "nothing came of {}", frame);
        }
    }

    #[test]
    fn equal_inputs_give_equal_outputs(frames in prop::collection::vec(0..FRAMES.len(), 1..16)) {
        let run = || {
            let mut harness = Harness::prompted();
            for frame in &frames {
                harness.hear(FRAMES[*frame]);
            }
            harness.said()
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn pictures_of_the_agent_and_its_tools_are_parts_beside_the_text() {
    let mut harness = Harness::prompted();
    let image = r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#;
    harness.update(&format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{image}}}"#));
    harness.update(&format!(
        r#"{{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"read","status":"completed",
           "content":[{{"type":"content","content":{image}}}],"rawOutput":[{{"type":"text","text":"x"}},{image}]}}"#
    ));
    insta::assert_snapshot!(harness.said(), @r#"
    item + text:1: native=null message "assistant" [{"type":"image","path":"data:image/png;base64,AA==","mime":"image/png"}]
    item . text:1:
    call + call:1:c native="c" read {} "t" kind="read"
    call = call:1:c read {} "t" kind="read"
    call . call:1:c "x" error=false parts=[{"type":"image","path":"data:image/png;base64,AA==","mime":"image/png"}]
    "#);
}

#[test]
fn a_file_that_went_along_whole_is_named_in_what_the_person_said() {
    let mut harness = Harness::ready();
    let sent = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[
        {"type":"text","text":"look"},{"type":"image","data":"AA==","mimeType":"image/png"},
        {"type":"resource","resource":{"text":"long text","uri":"file:///w/a%20b"}}]}}"#;
    harness.step(Input::Sent(raw(sent).as_ref()));
    insta::assert_snapshot!(harness.said(), @r#"turn + user null [{"type":"text","text":"look"},{"type":"image","path":"data:image/png;base64,AA==","mime":"image/png"},{"type":"file_ref","path":"/w/a b","action":"read"}]"#);
}

/// An open session with two modes and two models, of which the second has efforts.
fn choosy() -> Harness {
    let mut harness = Harness::new(Open { cwd: "/w".into(), requested: mode("default"), ..Open::default() });
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
    harness.hear(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s","modes":{{"currentModeId":"default",
        "availableModes":[{{"id":"default","name":"D"}},{{"id":"yolo","name":"Y"}}]}},"configOptions":[{}]}}}}"#,
        MODELS.replace("CURRENT", "small")
    ));
    harness.lines.clear();
    harness
}

const MODELS: &str = r#"{"id":"m","name":"Model","category":"model","type":"select","currentValue":"CURRENT",
    "options":[{"value":"small","name":"S"},{"value":"large","name":"L"}]}"#;
const EFFORTS: &str = r#"{"id":"e","name":"Effort","category":"thought_level","type":"select","currentValue":"low",
    "options":[{"value":"low","name":"L"},{"value":"high","name":"H"}]}"#;

#[test]
fn an_effort_is_asked_for_once_its_model_is_in_use() {
    let mut harness = choosy();
    let requested =
        SettingsRequest { model: Some("large".into()), variant: Some("high".into()), ..mode("bypass") };
    harness.command(&Command::Configure(requested));
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s","modeId":"yolo"}}
    send {"jsonrpc":"2.0","id":4,"method":"session/set_config_option","params":{"sessionId":"s","configId":"m","value":"large"}}
    state {"agent_mode":"yolo","permission_mode":"bypass"}
    "#);
    let models = MODELS.replace("CURRENT", "large");
    let options = format!(r#"{{"configOptions":[{models},{EFFORTS}]}}"#);
    harness.hear(&format!(r#"{{"jsonrpc":"2.0","id":4,"result":{options}}}"#));
    insta::assert_snapshot!(harness.said(), @r#"
    state {"model":"large","variant":"low","agent_mode":"yolo","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"S"},{"id":"large","name":"L","variants":["low","high"]}]}
    send {"jsonrpc":"2.0","id":5,"method":"session/set_config_option","params":{"sessionId":"s","configId":"e","value":"high"}}
    "#);
    let options = options.replace(r#""currentValue":"low""#, r#""currentValue":"high""#);
    harness.hear(&format!(r#"{{"jsonrpc":"2.0","id":5,"result":{options}}}"#));
    insta::assert_snapshot!(harness.said(), @r#"
    state {"model":"large","variant":"high","agent_mode":"yolo","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"S"},{"id":"large","name":"L","variants":["low","high"]}]}
    state {"permission_mode":"bypass"}
    configured
    "#);
    // Without its efforts the model before is shown without one.
    harness.command(&Command::Configure(SettingsRequest {
        model: Some("small".into()),
        ..SettingsRequest::default()
    }));
    let models = MODELS.replace("CURRENT", "small");
    harness.hear(&format!(r#"{{"jsonrpc":"2.0","id":6,"result":{{"configOptions":[{models}]}}}}"#));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":6,"method":"session/set_config_option","params":{"sessionId":"s","configId":"m","value":"small"}}
    state {"model":"small","variant":null,"agent_mode":"yolo","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"S"},{"id":"large","name":"L"}]}
    configured
    "#);
}

#[test]
fn a_change_that_changes_nothing_is_answered_at_once() {
    let mut harness = choosy();
    harness.command(&Command::Configure(SettingsRequest { model: Some("small".into()), ..mode("default") }));
    insta::assert_snapshot!(harness.said(), @r#"
    state {"permission_mode":"default"}
    configured
    "#);
}

#[test]
fn a_refused_mode_is_refused_after_all_answers_and_what_is_so_is_told() {
    let mut harness = choosy();
    harness.command(&Command::Configure(SettingsRequest { model: Some("large".into()), ..mode("bypass") }));
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"not today"}}"#);
    let models = MODELS.replace("CURRENT", "large");
    harness.hear(&format!(r#"{{"jsonrpc":"2.0","id":4,"result":{{"configOptions":[{models}]}}}}"#));
    insta::assert_snapshot!(harness.said(), @r#"
    dropped internal
    state {"model":"large","agent_mode":"default","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"S"},{"id":"large","name":"L"}]}
    state {"model":"large","agent_mode":"default","permission_mode":"default","modes":[{"id":"default","name":"D","description":""},{"id":"yolo","name":"Y","description":""}],"models":[{"id":"small","name":"S"},{"id":"large","name":"L"}]}
    refused BadMode the agent refused the mode yolo: not today null
    "#);
}

#[test]
fn the_permission_mode_follows_the_mode_that_the_agent_chooses() {
    let mut harness = choosy();
    harness.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    state {"agent_mode":"yolo","permission_mode":"bypass"}
    item + status:1 native=null status mode_changed "yolo"
    "#);
}

#[test]
fn a_session_that_returns_without_its_mode_is_not_locked_out() {
    let requested = SettingsRequest {
        agent_mode: Some("gone".into()),
        variant: Some("high".into()),
        ..SettingsRequest::default()
    };
    let mut harness =
        Harness::new(Open { cwd: "/w".into(), resume: Some("s".into()), requested, ..Open::default() });
    harness.hear(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#,
    );
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"A"}]}}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    session "s" version=null resume="load"
    state {"agent_mode":"ask","modes":[{"id":"ask","name":"A","description":""}]}
    item + status:1 native=null status warning "the agent has no mode gone; its modes are ask"
    item + status:2 native=null status warning "the agent has no efforts for its model, so high cannot be set"
    "#);
}

#[test]
fn a_copy_is_made_where_the_agent_can_and_nothing_takes_its_place() {
    let open = || Open { cwd: "/w".into(), resume: Some("old".into()), fork: true, ..Open::default() };
    let mut harness = Harness::new(open());
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"new"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":2,"method":"session/fork","params":{"sessionId":"old","cwd":"/w"}}
    session "new" version=null resume="native"
    "#);
    let mut harness = Harness::new(open());
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no such session"}}"#);
    let mut without = Harness::new(open());
    without.said();
    without.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#);
    insta::assert_snapshot!([harness.said(), without.said()].join("\n"), @r#"
    send {"jsonrpc":"2.0","id":2,"method":"session/fork","params":{"sessionId":"old","cwd":"/w"}}
    refused Unavailable the agent opened no session: no such session "see what the agent wrote to stderr"
    refused BadMode the agent cannot fork a session "begin a new session instead"
    "#);
}

#[test]
fn the_preview_of_settings_is_known_without_the_agent() {
    use omniglot_schema::{AgentModeInfo, AgentModelInfo, SessionState};
    let mode_info = |id: &str| AgentModeInfo { id: id.into(), name: id.into(), description: String::new() };
    let model_info = |id: &str, variants: Option<Vec<String>>| AgentModelInfo {
        id: id.into(),
        name: None,
        variants,
        default_variant: None,
    };
    let state = SessionState {
        model: Some("large".into()),
        variant: Some("low".into()),
        agent_mode: Some("default".into()),
        modes: Some(vec![mode_info("default"), mode_info("yolo")].into()),
        models: Some(vec![model_info("small", None), model_info("large", Some(vec!["low".into()]))].into()),
        ..SessionState::default()
    };
    let tell = |requested: SettingsRequest| match super::preview_settings(
        &state,
        &requested,
        &super::quirks::NONE,
    ) {
        Ok(preview) => {
            format!("{} {:?}", serde_json::to_string(&preview.patch).unwrap(), preview.warnings)
        }
        Err(refusal) => refusal.message,
    };
    let model = |id: &str| SettingsRequest { model: Some(id.into()), ..SettingsRequest::default() };
    let effort = |id: &str| SettingsRequest { variant: Some(id.into()), ..SettingsRequest::default() };
    let told = [
        tell(mode("bypass")),
        tell(mode("plan")),
        tell(model("small")),
        tell(model("huge")),
        tell(SettingsRequest { force_model: true, ..model("huge") }),
        tell(effort("high")),
        // The efforts of a model are listed once it is in use.
        tell(SettingsRequest { model: Some("small".into()), ..effort("high") }),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    {"agent_mode":"yolo","permission_mode":"bypass"} []
    the agent has no mode plan; its modes are default, yolo
    {"model":"small","variant":null} []
    the agent does not list the model huge
    {"model":"huge","variant":null} ["the agent does not list the model huge; it lists small, large"]
    the model has no effort high; its efforts are low
    {"model":"small","variant":"high"} []
    "#);
}

/// A17: an agent that nobody is logged in to lists no modes, and one that was recorded has these and no others.
#[test]
fn a_mode_is_checked_against_the_recorded_ones_while_nobody_is_logged_in() {
    use super::quirks::{GEMINI, NONE};
    use omniglot_schema::{AuthState, AuthStatus, SessionState};
    let auth = AuthState { state: AuthStatus::Required, methods: vec![] };
    let state = SessionState { auth: Some(auth), ..SessionState::default() };
    for known in ["default", "plan", "bypass", "yolo"] {
        assert!(super::preview_settings(&state, &mode(known), &GEMINI).is_ok(), "{known}");
    }
    let building = SettingsRequest { agent_mode: Some("build".into()), ..SettingsRequest::default() };
    assert!(super::preview_settings(&state, &building, &GEMINI).is_ok());
    let refusal = super::preview_settings(&state, &mode("nonsense"), &GEMINI).unwrap_err();
    assert!(refusal.message.contains("no mode nonsense"), "{refusal:?}");
    assert!(refusal.hint.unwrap().contains("default, acceptEdits, plan, bypass"));
    assert!(super::preview_settings(&state, &mode("nonsense"), &NONE).is_ok(), "nothing is known of it");
}
