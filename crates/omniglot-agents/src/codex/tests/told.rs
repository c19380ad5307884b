//! Tests of messages that Codex sends in unusual places.

use omniglot_schema::{MessageId, PermissionReply};

use super::*;

const QUESTION: &str = r#"{"id":0,"method":"item/tool/requestUserInput","params":{"threadId":"t","itemId":"call_1","questions":[{"id":"q","header":"H","question":"Which?","options":[{"label":"A"}]}]}}"#;
const MORE_RIGHTS: &str = r#"{"id":1,"method":"item/permissions/requestApproval","params":{"threadId":"t","itemId":"call_2","permissions":{"network":{"enabled":true}},"reason":"more"}}"#;

fn user_item(client: &str, text: &str) -> String {
    format!(
        r#"{{"type":"userMessage","id":"u","clientId":{client},"content":[{{"type":"text","text":"{text}","text_elements":[]}}]}}"#
    )
}

#[test]
fn a_warning_about_the_configuration_waits_until_the_session_is_open() {
    let mut session = Session::new();
    let told = session.notice("configWarning", r#"{"summary":"no bubblewrap","details":null}"#);
    assert!(!has(&told, "bubblewrap"), "{told:?}");
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), ..Open::default() });
    let told = session.hear(&format!(r#"{{"id":"s.3","result":{THREAD}}}"#));
    let place = |words: &str| told.iter().position(|line| line.contains(words));
    assert!(place("no bubblewrap") > place("session \"t\""), "{told:?}");
    assert!(place("session \"t\"").is_some(), "{told:?}");
}

#[test]
fn the_words_of_a_turn_that_codex_queued_itself_are_told_and_echoes_are_not() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let echo = session.item("completed", "t", &user_item("null", "go"));
    insta::assert_snapshot!(echo.join("\n"), @r#"turn = user native="u""#);
    session.end_turn("completed");
    session.notice("turn/started", r#"{"threadId":"t","turn":{"id":"n","status":"inProgress"}}"#);
    session.item("started", "t", &user_item(r#""q-1""#, "go"));
    let told = session.item("completed", "t", &user_item(r#""q-1""#, "go"));
    insta::assert_snapshot!(told.join("\n"), @r#"
    item + whole:1:u native="u" message "user" [{"type":"text","text":"go"}]
    item . whole:1:u
    "#);
}

#[test]
fn what_has_a_name_is_known_by_it() {
    let mut session = Session::open(SettingsRequest::default());
    let message_id = Some(MessageId("msg_1".into()));
    session.command(Command::Prompt(Prompt { message_id, text: "go".into(), attachments: vec![] }));
    assert!(has(&session.sent, r#""clientUserMessageId":"msg_1""#), "{:?}", session.sent);
    session.notice("turn/started", r#"{"threadId":"t","turn":{"id":"n","status":"inProgress"}}"#);
    let of_others = session.item("completed", "t", &user_item(r#""msg_9""#, "go"));
    assert!(has(&of_others, r#"message "user""#), "{of_others:?}");
    let echo = session.item("completed", "t", &user_item(r#""msg_1""#, "in other words"));
    insta::assert_snapshot!(echo.join("\n"), @r#"turn = user native="u""#);
}

#[test]
fn the_words_that_codex_has_for_a_review_are_no_message_of_the_user() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt("/review");
    let told = session.item("completed", "t", &user_item("null", "Review the current code changes."));
    insta::assert_snapshot!(told.join("\n"), @r#"turn = user native="u""#);
}

#[test]
fn trap_the_first_message_of_a_review_says_nothing_and_is_not_told() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt("/review");
    let told = session.item("started", "t", r#"{"type":"agentMessage","id":"m","text":""}"#);
    insta::assert_snapshot!(told.join("\n"), @"dropped superseded");
}

#[test]
fn trap_a_message_whose_stream_breaks_off_ends_with_the_retry() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.item("started", "t", r#"{"type":"agentMessage","id":"m","text":""}"#);
    session.notice("item/agentMessage/delta", r#"{"threadId":"t","itemId":"m","delta":"Half"}"#);
    let told = session
        .notice("error", r#"{"threadId":"t","error":{"message":"Reconnecting... 1/2"},"willRetry":true}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"
    item ! text:1:m
    state {"activity":"retrying"}
    item + status:1 native=null status retry "Reconnecting... 1/2"
    item . status:1
    "#);
}

#[test]
fn why_a_plan_was_changed_stands_in_the_call_that_changed_it() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.notice(
        "turn/plan/updated",
        r#"{"threadId":"t","explanation":"Because.","plan":[{"step":"Look","status":"inProgress"}]}"#,
    );
    insta::assert_snapshot!(told.join("\n"), @r#"
    call + call:1:unnamed:1 native=null update_plan {"explanation":"Because.","plan":[{"step":"Look","status":"inProgress"}]} kind="plan" {"description":"Because."}
    call = call:1:unnamed:1
    call > call:1:unnamed:1 ""
    call . call:1:unnamed:1 "" error=false
    state {"todos":[{"text":"Look","status":"in_progress"}]}
    "#);
}

#[test]
fn a_tool_that_asks_is_a_call_with_its_own_id_and_arguments_and_the_answer_is_its_result() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.hear(QUESTION);
    insta::assert_snapshot!(told.join("\n"), @r#"
    call + call:1:call_1 native="call_1" request_user_input {"questions":[{"id":"q","header":"H","question":"Which?","isOther":false,"isSecret":false,"options":[{"label":"A"}]}]} kind="other"
    call = call:1:call_1
    question + 1:0 native=0 call="call:1:call_1" [{"prompt":"Which?","header":"H","options":[{"label":"A"}],"multi_select":false,"free_text":false}]
    "#);
    let answers = Some(vec![vec!["A".to_owned()]]);
    let told = session.command(Command::ReplyQuestion { key: RequestKey("1:0".into()), answers });
    insta::assert_snapshot!(told.join("\n"), @r#"
    question . 1:0 [["A"]] by "person"
    call . call:1:call_1 "A" error=false
    "#);
}

#[test]
fn more_rights_that_are_refused_are_told_as_refused() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.hear(MORE_RIGHTS);
    insta::assert_snapshot!(told.join("\n"), @r#"
    call + call:1:call_2 native="call_2" request_permissions {"reason":"more","permissions":{"network":{"enabled":true}}} kind="other" {"description":"more"}
    call = call:1:call_2
    permission + 1:1 native=1 "more permissions: {\"network\":{\"enabled\":true}}" tool="request_permissions" call="call:1:call_2" options=[{"id":"accept","name":"Allow once","kind":"allow_once"},{"id":"acceptForSession","name":"Allow for this session","kind":"allow_always"},{"id":"decline","name":"Reject","kind":"reject_once"}] files=[]
    "#);
    let (key, reply) = (RequestKey("1:1".into()), PermissionReply::Reject);
    let told = session.command(Command::ReplyPermission { key, reply, message: None });
    insta::assert_snapshot!(session.sent.join("\n"), @r#"{"jsonrpc":"2.0","id":1,"result":{"permissions":{},"scope":"turn"}}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"
    permission . 1:1 "reject" by "person" null
    call ! call:1:call_2 "rejected" error=true
    "#);
}

#[test]
fn a_question_that_the_server_closes_after_its_turn_says_nothing_more() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.hear(QUESTION);
    session.end_turn("interrupted");
    let told = session.notice("serverRequest/resolved", r#"{"threadId":"t","requestId":0}"#);
    assert!(!has(&told, "item"), "{told:?}");
}

#[test]
fn how_a_child_agent_is_to_think_stands_in_its_call() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let told = session.item(
        "started",
        "t",
        r#"{"type":"collabAgentToolCall","id":"a","tool":"spawnAgent","status":"inProgress","prompt":"p","model":"","reasoningEffort":"medium"}"#,
    );
    assert!(has(&told, r#"{"prompt":"p","reasoning_effort":"medium"}"#), "{told:?}");
    let told = session.item(
        "completed",
        "t",
        r#"{"type":"collabAgentToolCall","id":"a","tool":"spawnAgent","status":"completed","receiverThreadIds":["c"],"prompt":"p","model":"big","reasoningEffort":"medium"}"#,
    );
    assert!(has(&told, r#"{"agents":["c"],"model":"big"}"#), "{told:?}");
    let told = session.item(
        "started",
        "t",
        r#"{"type":"subAgentActivity","id":"b","kind":"started","agentThreadId":"d","agentPath":"/root/x","model":"big","reasoningEffort":"low"}"#,
    );
    assert!(has(&told, r#"{"agent":"/root/x","model":"big","reasoning_effort":"low"}"#), "{told:?}");
}

#[test]
fn a_content_filter_is_a_refusal_and_no_error() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let error = r#"{"message":"stream disconnected before completion: Incomplete response returned, reason: content_filter","codexErrorInfo":"other"}"#;
    let news = format!(r#"{{"threadId":"t","turnId":"n","willRetry":false,"error":{error}}}"#);
    assert_eq!(session.notice("error", &news), ["dropped internal"]);
    let turn = format!(r#"{{"threadId":"t","turn":{{"id":"n","status":"failed","error":{error}}}}}"#);
    assert!(session.notice("turn/completed", &turn)[0].starts_with(r#"turn . "refusal""#));
}
