//! A cut event stream: what it missed is told once, in its order, and its turns end.

use super::PROMPT;
use super::session::Session;

const DONE: &str = r#""tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"out","title":"t","metadata":{},"time":{"start":1,"end":2}}"#;

fn whole(text: &str) -> String {
    format!(r#""text":"{text}","time":{{"start":1,"end":2}}"#)
}

/// A stored message of the assistant with these parts.
fn stored(session: &Session, message: &str, parts: &[String]) -> String {
    format!(r#"[{{"info":{},"parts":[{}]}}]"#, session.assistant(message), parts.join(","))
}

/// The items of what was told, without their contents.
fn items(told: &[String]) -> Vec<String> {
    let short = |line: &String| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
    told.iter().filter(|line| line.starts_with("item") || line.starts_with("call")).map(short).collect()
}

#[test]
fn what_is_heard_while_the_rest_is_read_is_told_after_it() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_2", "text", r#""text":"""#);
    assert_eq!(session.delta("prt_2", "Be"), [r#"item ~ prt_2 "Be""#]);
    session.stream("lost");
    session.stream("reopened");
    // It goes on after a hole: half a text would be a wrong one.
    assert_eq!(session.delta("prt_2", "end."), ["dropped superseded"]);
    session.part("prt_4", "text", r#""text":"""#);
    assert_eq!(session.delta("prt_4", "Live."), ["dropped superseded"]);
    let parts = [
        Session::record("prt_2", "msg_2", "text", &whole("Before the end.")),
        Session::record("prt_3", "msg_2", "tool", DONE),
        Session::record("prt_4", "msg_2", "text", r#""text":"""#),
    ];
    let read = stored(&session, "msg_2", &parts);
    let told = session.tells(&read);
    assert_eq!(
        items(&told),
        [
            "item . prt_2",
            "call + call:prt_3",
            "call = call:prt_3",
            "call . call:prt_3",
            "item + prt_4",
            "item ~ prt_4"
        ]
    );
    // The same words once more, from the stream.
    assert_eq!(session.part("prt_2", "text", &whole("Before the end.")), ["dropped duplicate"]);
    assert_eq!(session.part("prt_3", "tool", DONE), ["dropped superseded"]);
    assert_eq!(session.delta("prt_4", " More."), [r#"item ~ prt_4 " More.""#]);
}

#[test]
fn a_stream_that_is_cut_while_the_rest_is_read_is_read_once_more() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    session.part("prt_4", "text", r#""text":"""#);
    session.delta("prt_4", "Half");
    session.event("todo.updated", r#"{"sessionID":"ses_1","todos":[{"content":"Look","status":"pending"}]}"#);
    session.stream("lost");
    session.stream("reopened");
    for path in ["/session/ses_1", "/session/ses_1/todo", "/session/ses_1/children", "/session/ses_1/message"]
    {
        session.answer_to(path, "[]");
    }
    assert!(!session.asked("/permission"), "what was asked before the second cut is old");
    assert_eq!(session.delta("prt_4", " a"), ["dropped superseded"]);
    let parts = [Session::record("prt_4", "msg_2", "text", r#""text":"""#)];
    let read = stored(&session, "msg_2", &parts);
    session.answer_to("/session/ses_1", r#"{"id":"ses_1"}"#);
    session.answer_to("/session/ses_1/todo", "[]");
    session.answer_to("/session/ses_1/children", "[]");
    session.answer_to("/session/ses_1/message", &read);
    session.answer_to("/permission", "[]");
    let told = session.answer_to("/question", "[]");
    assert_eq!(items(&told), ["item + prt_4"]);
    assert!(told.contains(&r#"state {"todos":[{"text":"Look","status":"pending"}]}"#.to_owned()), "{told:?}");
    assert_eq!(items(&session.part("prt_4", "text", &whole("Half a text."))), ["item . prt_4"]);
}

#[test]
fn a_turn_that_goes_on_after_a_cut_is_not_ended() {
    let mut session = Session::in_turn(PROMPT);
    session.back_with("[]");
    let told = session.answer_to("/session/status", r#"{"ses_1":{"type":"busy"}}"#);
    assert_eq!(told, ["dropped internal"]);
    assert!(session.idle()[0].starts_with("turn ."));
}

#[test]
fn an_idle_that_is_heard_while_the_rest_is_read_ends_the_turn_after_it() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    assert_eq!(session.idle(), ["dropped superseded"]);
    let parts = [Session::record("prt_2", "msg_2", "text", &whole("All of it."))];
    let read = stored(&session, "msg_2", &parts);
    let told = session.tells(&read);
    assert_eq!(items(&told), ["item + prt_2", "item . prt_2"]);
    assert!(told.last().unwrap().starts_with("turn ."), "{told:?}");
    assert!(!session.asked("/session/status"), "it is known to be over");
    assert_eq!(session.idle(), ["dropped duplicate"]);
}

#[test]
fn a_turn_that_ended_unheard_ends_after_its_last_words() {
    let mut session = Session::in_turn(PROMPT);
    session.back_with("[]");
    // It ends between the two: whatever it said last is read before it closes.
    assert!(session.answer_to("/session/status", "{}").is_empty());
    let parts = [Session::record("prt_2", "msg_2", "text", &whole("The last word."))];
    let read = stored(&session, "msg_2", &parts);
    let told = session.answer_to("/session/ses_1/message", &read);
    assert_eq!(items(&told), ["item + prt_2", "item . prt_2"]);
    assert!(told.last().unwrap().starts_with(r#"turn . "end_turn""#), "{told:?}");
}

#[test]
fn a_failed_turn_whose_message_is_still_open_after_a_cut_waits_for_its_idle() {
    let mut session = Session::in_turn(PROMPT);
    session.fails();
    let open = stored(&session, "msg_2", &[]);
    session.back_with(&open);
    session.answer_to("/session/status", "{}");
    let told = session.answer_to("/session/ses_1/message", &open);
    assert_eq!(told, ["dropped internal"], "a prompt would be swallowed now");
    session.closes_failed_message();
    assert!(session.idle_status()[0].starts_with(r#"turn . "error""#));
}

#[test]
fn a_turn_that_failed_unheard_before_its_first_answer_is_closed() {
    let mut session = Session::open(Default::default());
    session.prompt(PROMPT);
    session.answer_to("/session/ses_1/prompt_async", "null");
    session.stream("lost");
    let user = r#"[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user"},"parts":[]}]"#;
    session.back_with(user);
    session.answer_to("/session/status", "{}");
    let told = session.answer_to("/session/ses_1/message", user);
    let end = told.last().unwrap();
    assert!(end.starts_with(r#"turn . "error" error="unknown""#), "{end}");
}

#[test]
fn a_prompt_that_is_still_on_its_way_is_not_taken_for_a_turn_that_is_over() {
    let mut session = Session::open(Default::default());
    session.prompt(PROMPT);
    session.back_with("[]");
    assert_eq!(session.answer_to("/session/status", "{}"), ["dropped internal"]);
    assert!(!session.asked("/session/ses_1/message"), "it has not begun");
    session.answer_to("/session/ses_1/prompt_async", "null");
    assert!(session.asked("/session/status"), "now it has");
}

#[test]
fn an_error_that_was_got_over_does_not_come_back_with_what_is_read() {
    let mut session = Session::in_turn(PROMPT);
    let failed =
        r#"{"id":"msg_2","sessionID":"ses_1","role":"assistant","error":{"name":"ContextOverflowError"}}"#;
    session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{failed}}}"#));
    let next = session.assistant("msg_3");
    session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{next}}}"#));
    session.back_with(&format!(r#"[{{"info":{failed},"parts":[]}},{{"info":{next},"parts":[]}}]"#));
    assert!(session.idle()[0].starts_with(r#"turn . "end_turn""#));
}

/// A subagent that answered in `ses_2` between two answers of its parent.
fn subagent_between(session: &Session) -> (String, &'static str) {
    let task = r#""tool":"task","callID":"c","state":{"status":"completed","input":{},"output":"done","metadata":{"sessionId":"ses_2"},"time":{"start":1,"end":2}}"#;
    let call = Session::record("prt_3", "msg_2", "tool", task);
    let last = Session::record("prt_7", "msg_6", "text", &whole("It found it."));
    let parent = format!(
        r#"[{{"info":{},"parts":[{call}]}},{{"info":{},"parts":[{last}]}}]"#,
        session.assistant("msg_2"),
        session.assistant("msg_6")
    );
    let child = r#"[{"info":{"id":"msg_4","sessionID":"ses_2","role":"assistant"},"parts":[{"id":"prt_5","messageID":"msg_4","sessionID":"ses_2","type":"text","text":"Found.","time":{"start":1,"end":2}}]}]"#;
    (parent, child)
}

#[test]
fn the_words_of_a_subagent_that_worked_unheard_stand_where_they_were_said() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    session.idle();
    let (parent, child) = subagent_between(&session);
    assert!(session.tells(&parent).is_empty(), "those of the subagent are not read yet");
    let told = session.answer_to("/session/ses_2/message", child);
    assert_eq!(
        items(&told),
        [
            "call + call:prt_3",
            "call = call:prt_3",
            "call > call:prt_3",
            "item + prt_5",
            "item . prt_5",
            "call . call:prt_3",
            "item + prt_7",
            "item . prt_7"
        ]
    );
    assert!(
        told.iter().any(|line| line.starts_with("item + prt_5 native=\"prt_5\" in call:prt_3")),
        "{told:?}"
    );
    assert!(told.last().unwrap().starts_with("turn ."), "{told:?}");
}

#[test]
fn a_turn_that_is_stopped_while_the_rest_is_read_ends_after_it() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    session.command(&crate::contract::Command::Cancel);
    session.answer_to("/session/ses_1/abort", "true");
    let (parent, child) = subagent_between(&session);
    session.tells(&parent);
    assert!(items(&session.answer_to("/session/ses_1/message", &parent)).is_empty(), "it closes the turn");
    let told = session.answer_to("/session/ses_2/message", child);
    assert_eq!(items(&told).len(), 8);
    assert!(told.last().unwrap().starts_with(r#"turn . "cancelled""#), "{told:?}");
}

#[test]
fn a_request_that_was_answered_is_not_asked_again_because_it_is_still_listed() {
    let mut session = Session::in_turn(PROMPT);
    session.event("permission.asked", ASKED);
    session.event("permission.replied", r#"{"sessionID":"ses_1","requestID":"per_1","reply":"once"}"#);
    session.stream("reopened");
    let told = session.tells_requests(&format!("[{ASKED}]"), "[]");
    assert!(!told.iter().any(|line| line.starts_with("permission")), "{told:?}");
}

const ASKED: &str = r#"{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"],"tool":{"messageID":"msg_2","callID":"c"}}"#;

#[test]
fn a_permission_that_was_answered_unheard_is_resolved_as_its_call_tells() {
    for (state, status) in [("running", "accept"), ("completed", "accept"), ("error", "reject")] {
        let mut session = Session::in_turn(PROMPT);
        session.part("prt_3", "tool", &DONE.replace("completed", "running"));
        session.event("permission.asked", ASKED);
        session.stream("reopened");
        let listed = session.tells_requests(&format!("[{ASKED}]"), "[]");
        assert!(!listed.iter().any(|line| line.starts_with("permission")), "it is still open: {listed:?}");
        session.stream("reopened");
        session.part("prt_3", "tool", &DONE.replace("completed", state));
        let told = session.tells_requests("[]", "[]");
        let resolved = format!(r#"permission . 1:per_1 "{status}" by "agent" null"#);
        assert!(told.contains(&resolved), "{state}: {told:?}");
    }
}

#[test]
fn a_question_that_was_answered_unheard_is_resolved_with_the_answers_of_its_call() {
    let mut session = Session::in_turn(PROMPT);
    let call = |status: &str, metadata: &str| {
        DONE.replace("completed", status)
            .replace(r#""metadata":{}"#, &format!(r#""metadata":{{{metadata}}}"#))
    };
    session.part("prt_3", "tool", &call("running", ""));
    let asked = r#"{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which?"}],"tool":{"messageID":"msg_2","callID":"c"}}"#;
    session.event("question.asked", asked);
    session.stream("reopened");
    let told = session.tells_requests("[]", "[]");
    assert!(!told.iter().any(|line| line.starts_with("question")), "its answers are not known: {told:?}");
    let told = session.part("prt_3", "tool", &call("completed", r#""answers":[["Blue"]]"#));
    assert!(
        told.iter().any(|line| line.starts_with("question . 1:que_1") && line.contains("Blue")),
        "{told:?}"
    );
}

#[test]
fn a_list_that_was_emptied_unheard_is_told() {
    let mut session = Session::in_turn(PROMPT);
    session.event("todo.updated", r#"{"sessionID":"ses_1","todos":[{"content":"Look","status":"pending"}]}"#);
    session.stream("reopened");
    assert_eq!(session.answer_to("/session/ses_1/todo", "[]"), [r#"state {"todos":[]}"#]);
}

#[test]
fn what_was_said_before_a_session_was_resumed_is_not_read_as_news() {
    let mut session = Session::resumed(r#"[{"info":{"id":"msg_0"}}]"#);
    session.prompt(PROMPT);
    session.busy();
    session.command(&crate::contract::Command::Cancel);
    session.answer_to("/session/ses_1/abort", "true");
    let parts = [Session::record("prt_0", "msg_0", "text", &whole("Long ago."))];
    let read = stored(&session, "msg_0", &parts);
    let told = session.answer_to("/session/ses_1/message", &read);
    assert!(items(&told).is_empty(), "{told:?}");
}
