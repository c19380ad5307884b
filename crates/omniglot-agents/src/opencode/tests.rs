//! Tests that no recording covers: cut streams, late and early words, other clients, routing of frames, rules.
//! Whole recordings are in `tests/captures.rs`.

mod resync;
mod session;
mod telling;

use omniglot_schema::PermissionReply;
use session::{Session, raw};

use super::link::OpenCodeLink;
use crate::contract::{Command, Link as _, RequestKey, Route, SettingsRequest, SlotId};

const PROMPT: &str = "Speak.";

#[test]
fn an_idle_of_the_turn_before_does_not_end_the_next() {
    let mut session = Session::in_turn("The first.");
    assert!(session.idle()[0].starts_with("turn ."));
    session.prompt("The second.");
    assert_eq!(session.idle(), ["dropped superseded"]);
    session.busy();
    assert!(session.idle()[0].starts_with("turn ."));
    assert_eq!(session.idle(), ["dropped duplicate"]);
}

const FAILED: &str = r#"{"name":"APIError","data":{"message":"no","statusCode":400}}"#;

impl Session {
    /// The model refuses the call.
    fn fails(&mut self) {
        self.event("session.error", &format!(r#"{{"sessionID":"ses_1","error":{FAILED}}}"#));
    }

    /// The message that failed, as it is told for the last time.
    fn closes_failed_message(&mut self) {
        let info = format!(
            r#"{{"id":"msg_2","sessionID":"ses_1","role":"assistant","error":{FAILED},"time":{{"created":6,"completed":7}}}}"#
        );
        self.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{info}}}"#));
    }
}

#[test]
fn a_failed_turn_ends_when_its_message_is_closed_and_not_at_its_first_idle() {
    let mut session = Session::in_turn("The first.");
    session.fails();
    assert_eq!(session.idle_status(), ["dropped superseded"]);
    assert_eq!(session.idle(), ["dropped superseded"]);
    session.closes_failed_message();
    assert!(session.idle_status()[0].starts_with(r#"turn . "error""#));
    session.prompt("The second.");
    assert_eq!(session.idle(), ["dropped superseded"], "it belongs to the turn before");
    session.busy();
    assert!(session.idle()[0].starts_with(r#"turn . "end_turn""#));
}

#[test]
fn a_failed_turn_whose_message_is_never_closed_ends_at_its_second_idle() {
    let mut session = Session::in_turn(PROMPT);
    session.fails();
    assert_eq!(session.idle_status(), ["dropped superseded"]);
    assert_eq!(session.idle(), ["dropped superseded"]);
    assert!(session.idle_status()[0].starts_with(r#"turn . "error""#));
}

#[test]
fn a_turn_that_fails_without_a_message_has_one_idle() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt(PROMPT);
    session.busy();
    session.fails();
    assert!(session.idle_status()[0].starts_with(r#"turn . "error""#));
}

#[test]
fn a_turn_that_fails_after_its_message_was_closed_has_one_idle() {
    let mut session = Session::in_turn(PROMPT);
    let closed = r#"{"id":"msg_2","sessionID":"ses_1","role":"assistant","finish":"content-filter","time":{"completed":7}}"#;
    session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{closed}}}"#));
    session.fails();
    assert!(session.idle_status()[0].starts_with(r#"turn . "error""#));
}

#[test]
fn the_last_word_of_a_failed_turn_does_not_fail_the_next() {
    let mut session = Session::in_turn("The first.");
    session.fails();
    session.idle();
    assert!(session.idle()[0].starts_with(r#"turn . "error""#));
    session.prompt("The second.");
    session.closes_failed_message();
    assert_eq!(session.idle(), ["dropped superseded"]);
    session.busy();
    assert!(session.idle()[0].starts_with(r#"turn . "end_turn""#));
}

#[test]
fn a_part_may_overtake_its_message_and_a_delta_its_part() {
    let mut session = Session::in_turn(PROMPT);
    let part = Session::record("prt_8", "msg_7", "text", r#""text":"""#);
    let told = session.event("message.part.updated", &format!(r#"{{"sessionID":"ses_1","part":{part}}}"#));
    assert_eq!(told, [r#"item + prt_8 native="prt_8" message "assistant" []"#]);
    let told = session.delta("prt_9", "Hi");
    assert_eq!(told, [r#"item + prt_9 native="prt_9" message "assistant" []"#, r#"item ~ prt_9 "Hi""#]);
}

#[test]
fn a_message_that_is_complete_when_it_is_first_seen_is_told_all_the_same() {
    let mut session = Session::in_turn(PROMPT);
    let late = r#"{"id":"msg_7","sessionID":"ses_1","role":"assistant","time":{"created":6,"completed":7}}"#;
    session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{late}}}"#));
    let part = Session::record("prt_8", "msg_7", "text", r#""text":"Late.","time":{"start":1,"end":2}"#);
    let told = session.event("message.part.updated", &format!(r#"{{"sessionID":"ses_1","part":{part}}}"#));
    assert_eq!(told[1], r#"item . prt_8 message "assistant" [{"type":"text","text":"Late."}]"#);
    let copied =
        r#"{"id":"msg_1","sessionID":"ses_1","role":"assistant","time":{"created":4,"completed":5}}"#;
    let told = session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{copied}}}"#));
    assert_eq!(told, ["dropped replay"], "it is older than the session");
}

#[test]
fn a_tool_that_uses_a_known_name_for_something_else_is_told_without_it() {
    let mut session = Session::in_turn(PROMPT);
    let state = r#""state":{"status":"completed","input":{},"output":"ok","metadata":{"files":3,"exit":"no","output":[]},"time":{"start":1,"end":2}}"#;
    let told = session.part("prt_3", "tool", &format!(r#""tool":"tiny_count","callID":"c",{state}"#));
    assert_eq!(told[2], r#"call . call:prt_3 "ok" error=false ms=1"#);
}

#[test]
fn an_event_that_nobody_knows_is_unparsed_and_one_of_the_house_is_not() {
    let mut session = Session::in_turn(PROMPT);
    let told = session.event("session.levitated", r#"{"sessionID":"ses_1"}"#);
    assert_eq!(told, ["unparsed session.levitated: an event of a kind that we do not know"]);
    assert_eq!(session.event("lsp.updated", "{}"), ["dropped internal"]);
    assert_eq!(session.event("server.heartbeat", "{}"), ["dropped heartbeat"]);
}

#[test]
fn a_prompt_without_an_answer_fails_its_turn() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt(PROMPT);
    let told = session.unanswered("/session/ses_1/prompt_async", "connection refused");
    assert!(told[0].starts_with("turn .") && told[0].contains("connection refused"), "{told:?}");
}

#[test]
fn a_permission_that_another_client_answered_is_resolved_by_the_agent() {
    let mut session = Session::in_turn(PROMPT);
    let told = session.event(
        "permission.asked",
        r#"{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"],"metadata":{"command":"ls"},"always":["ls *"]}"#,
    );
    assert!(told[0].starts_with("permission + 1:per_1"), "{told:?}");
    let replied = r#"{"sessionID":"ses_1","requestID":"per_1","reply":"once"}"#;
    let told = session.event("permission.replied", replied);
    assert_eq!(told, [r#"permission . 1:per_1 "accept" by "agent" null"#]);
    assert_eq!(session.event("permission.replied", replied), ["dropped echo"]);
}

const PERMISSION: &str =
    r#"{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"],"metadata":{"command":"ls"}}"#;

impl Session {
    /// The server asks for a permission, and a person gives it.
    fn allowed(&mut self) {
        self.event("permission.asked", PERMISSION);
        let (key, reply) = (RequestKey("1:per_1".into()), PermissionReply::Once);
        let told = self.command(&Command::ReplyPermission { key, reply, message: None });
        assert_eq!(told, [""; 0], "the server has not taken it yet");
    }
}

const ALLOWED: &str = r#"permission . 1:per_1 "accept" by "person" null"#;

#[test]
fn a_reply_resolves_its_request_when_the_server_has_taken_it() {
    let mut session = Session::in_turn(PROMPT);
    session.allowed();
    assert_eq!(session.answer_to("/permission/per_1/reply", "true"), [ALLOWED]);
    let replied = r#"{"sessionID":"ses_1","requestID":"per_1","reply":"once"}"#;
    assert_eq!(session.event("permission.replied", replied), ["dropped echo"]);
}

#[test]
fn the_event_of_a_reply_may_overtake_the_answer_to_it() {
    let mut session = Session::in_turn(PROMPT);
    session.allowed();
    let replied = r#"{"sessionID":"ses_1","requestID":"per_1","reply":"once"}"#;
    assert_eq!(session.event("permission.replied", replied), [ALLOWED]);
    assert_eq!(session.answer_to("/permission/per_1/reply", "true"), ["dropped internal"]);
}

#[test]
fn a_reply_that_the_server_does_not_take_resolves_nothing_and_another_may() {
    let mut session = Session::in_turn(PROMPT);
    session.allowed();
    let told = session.unanswered("/permission/per_1/reply", "connection refused");
    let why = "OpenCode did not answer: connection refused";
    assert_eq!(told, [format!("reply to 1:per_1 refused {why}")]);
    let (key, reply) = (RequestKey("1:per_1".into()), PermissionReply::Once);
    session.command(&Command::ReplyPermission { key, reply, message: None });
    assert_eq!(session.answer_to("/permission/per_1/reply", "true"), [ALLOWED]);
}

#[test]
fn an_answer_to_a_question_resolves_it_when_the_server_has_taken_it() {
    let mut session = Session::in_turn(PROMPT);
    let asked = r#"{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which?","header":"Which","options":[{"label":"a","description":"A"}]}]}"#;
    session.event("question.asked", asked);
    let reply = |answers| Command::ReplyQuestion { key: RequestKey("1:que_1".into()), answers };
    assert_eq!(session.command(&reply(None)), [""; 0]);
    let told = session.unanswered("/question/que_1/reject", "connection refused");
    assert!(told[0].starts_with("reply to 1:que_1 refused"), "{told:?}");
    assert_eq!(session.command(&reply(Some(vec![vec!["a".into()]]))), [""; 0]);
    let told = session.answer_to("/question/que_1/reply", "true");
    assert!(told[0].starts_with("question . 1:que_1") && told[0].contains("person"), "{told:?}");
}

#[test]
fn a_mode_that_is_left_is_taken_back_by_the_rules_of_the_agent() {
    let mode =
        |mode: &str| SettingsRequest { permission_mode: Some(mode.into()), ..SettingsRequest::default() };
    let mut session = Session::open(mode("acceptEdits"));
    let mut change = |to: &str| {
        session.sent.clear();
        session.command(&Command::Configure(mode(to)));
        let sent = session.sent.concat();
        let rules =
            sent.split_once(r#"{"permission":"#).map(|(_, rules)| rules.trim_end_matches('}').to_owned());
        if let Some(rules) = &rules {
            session.answer_to("/session/ses_1", &format!(r#"{{"id":"ses_1","permission":{rules}}}"#));
        }
        rules
    };
    let asks = r#"{"permission":"edit","pattern":"*","action":"ask"}"#;
    let denies = r#"{"permission":"edit","pattern":"*","action":"deny"}"#;
    let allows = r#"{"permission":"*","pattern":"*","action":"allow"}"#;
    assert_eq!(change("default"), Some(format!("[{asks}]")));
    assert_eq!(change("bypass"), Some(format!("[{asks},{allows}]")));
    assert_eq!(change("plan"), Some(format!("[{denies}]")));
    assert_eq!(change("default"), Some(format!("[{asks}]")));
    assert_eq!(change("default"), None, "nothing changes");
}

#[test]
fn answers_and_events_go_to_the_session_that_they_are_about() {
    let mut link = OpenCodeLink::default();
    let route = |link: &mut OpenCodeLink, frame: &str| link.route(&raw(frame), &mut vec![]);
    let event = |directory: &str, properties: &str| {
        format!(
            r#"{{"event":{{"directory":"{directory}","data":{{"type":"session.updated","properties":{properties}}}}}}}"#
        )
    };
    let [first, second] = [SlotId(1), SlotId(2)];
    for (place, id, directory) in [(first, "a.1", "/a"), (second, "b.1", "/b")] {
        link.sent(place, &raw(&format!(r#"{{"listen":{{"directory":"{directory}"}}}}"#)));
        link.sent(
            place,
            &raw(&format!(r#"{{"request":{{"id":"{id}","method":"POST","path":"/session"}}}}"#)),
        );
    }
    let created = |id: &str, session: &str| {
        format!(r#"{{"answer":{{"id":"{id}","status":200,"body":{{"id":"{session}"}}}}}}"#)
    };
    assert_eq!(route(&mut link, &created("b.1", "ses_2")), Route::Session(second));
    assert_eq!(route(&mut link, &created("a.1", "ses_1")), Route::Session(first));
    assert_eq!(route(&mut link, &created("a.1", "ses_1")), Route::Nobody, "answered once");
    let child = r#"{"sessionID":"ses_3","info":{"id":"ses_3","parentID":"ses_2"}}"#;
    assert_eq!(route(&mut link, &event("/b", child)), Route::Session(second));
    assert_eq!(route(&mut link, &event("/b", r#"{"sessionID":"ses_3"}"#)), Route::Session(second));
    assert_eq!(route(&mut link, &event("/a", r#"{"sessionID":"ses_1"}"#)), Route::Session(first));
    assert_eq!(route(&mut link, &event("/a", r#"{"sessionID":"ses_9"}"#)), Route::Nobody, "a stranger's");
    assert!(
        link.farewell(second)[0].get().contains(r#"{"leave":{"directory":"/b"}}"#),
        "nobody else is there"
    );
    link.sent(first, &raw(r#"{"listen":{"directory":"/b"}}"#));
    assert!(link.farewell(second).is_empty(), "somebody else is there");
    link.sent(first, &raw(r#"{"listen":{"directory":"/a"}}"#));
    // What is about a directory, one of its sessions counts.
    assert_eq!(route(&mut link, &event("/b", "{}")), Route::Session(second));
    link.left(second);
    assert_eq!(route(&mut link, &event("/b", r#"{"sessionID":"ses_3"}"#)), Route::Nobody);
    assert_eq!(route(&mut link, &event("/b", "{}")), Route::Nobody);
}
