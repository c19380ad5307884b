//! What no recording shows: cut streams, late and early words, other clients, whose frame is whose, rules.
//! Whole recordings are in `tests/captures.rs`.

mod session;

use session::{Session, raw};

use super::OpenCodeLink;
use crate::contract::{Command, Link as _, Place, Route, Wish};

const PROMPT: &str = "Speak.";

#[test]
fn a_stream_that_was_cut_is_read_and_nothing_is_told_twice() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_2", "text", r#""text":"""#);
    assert_eq!(session.delta("prt_2", "Be"), [r#"item ~ prt_2 "Be""#]);
    session.stream("lost");
    assert_eq!(session.stream("reopened"), [r#"state {"connection":"connected"}"#]);
    // It goes on after a hole: half a text would be a wrong one.
    assert_eq!(session.delta("prt_2", "end."), ["dropped superseded"]);
    let read = format!(
        r#"[{{"info":{},"parts":[{},{}]}}]"#,
        session.assistant("msg_2"),
        Session::record("prt_2", "msg_2", "text", r#""text":"Before the end.","time":{"start":1,"end":2}"#),
        Session::record("prt_3", "msg_2", "tool", DONE),
    );
    let told = session.answer_to("/session/ses_1/message", &read);
    let told: Vec<_> = told.iter().filter(|line| line.starts_with("item")).map(|line| &line[..16]).collect();
    assert_eq!(
        told,
        ["item . prt_2 mes", "item + call:prt_", "item . call:prt_", "item + result:pr", "item . result:pr"]
    );
    // The same words once more, from the stream.
    assert_eq!(
        session.part("prt_2", "text", r#""text":"Before the end.","time":{"start":1,"end":2}"#),
        ["dropped duplicate"]
    );
    assert_eq!(session.part("prt_3", "tool", DONE), ["dropped superseded"]);
    let told = session.answer_to("/session/status", "{}");
    assert!(told[0].starts_with("turn ."), "{told:?}");
    assert_eq!(session.idle(), ["dropped duplicate"]);
}

const DONE: &str = r#""tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"out","title":"t","metadata":{},"time":{"start":1,"end":2}}"#;

#[test]
fn a_turn_that_goes_on_after_a_cut_is_not_ended() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    session.answer_to("/session/ses_1/message", "[]");
    let told = session.answer_to("/session/status", r#"{"ses_1":{"type":"busy"}}"#);
    assert_eq!(told, ["dropped internal"]);
    assert!(session.idle()[0].starts_with("turn ."));
}

#[test]
fn a_turn_does_not_end_before_what_was_missed_is_read() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    assert_eq!(session.idle(), ["dropped superseded"]);
    session.answer_to("/session/ses_1/message", "[]");
    assert!(session.answer_to("/session/status", "{}")[0].starts_with("turn ."));
}

#[test]
fn the_words_of_a_subagent_that_worked_unheard_are_read_before_the_turn_may_end() {
    let mut session = Session::in_turn(PROMPT);
    session.stream("reopened");
    let task = r#""tool":"task","callID":"c","state":{"status":"completed","input":{},"output":"done","metadata":{"sessionId":"ses_2"},"time":{"start":1,"end":2}}"#;
    let read = format!(
        r#"[{{"info":{},"parts":[{}]}}]"#,
        session.assistant("msg_2"),
        Session::record("prt_3", "msg_2", "tool", task)
    );
    session.answer_to("/session/ses_1/message", &read);
    assert!(!session.asked("/session/status"), "its words come first");
    let child = r#"[{"info":{"id":"msg_4","sessionID":"ses_2","role":"assistant"},"parts":[{"id":"prt_5","messageID":"msg_4","sessionID":"ses_2","type":"text","text":"Found.","time":{"start":1,"end":2}}]}]"#;
    let told = session.answer_to("/session/ses_2/message", child);
    assert!(told[0].starts_with("item + prt_5 native=\"prt_5\" in call:prt_3"), "{told:?}");
    assert!(session.asked("/session/status"));
}

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
fn an_event_that_nobody_knows_is_unparsed_and_one_of_the_house_is_not() {
    let mut session = Session::in_turn(PROMPT);
    let told = session.event("session.levitated", r#"{"sessionID":"ses_1"}"#);
    assert_eq!(told, ["unparsed session.levitated: an event of a kind that we do not know"]);
    assert_eq!(session.event("lsp.updated", "{}"), ["dropped internal"]);
    assert_eq!(session.event("server.heartbeat", "{}"), ["dropped heartbeat"]);
}

#[test]
fn a_prompt_without_an_answer_fails_its_turn() {
    let mut session = Session::open(Wish::default());
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
    assert!(told[0].starts_with("permission + per_1"), "{told:?}");
    let replied = r#"{"sessionID":"ses_1","requestID":"per_1","reply":"once"}"#;
    let told = session.event("permission.replied", replied);
    assert_eq!(told, [r#"permission . per_1 "accept" by "agent" null"#]);
    assert_eq!(session.event("permission.replied", replied), ["dropped echo"]);
}

#[test]
fn a_mode_that_is_left_is_taken_back_by_the_rules_of_the_agent() {
    let mode = |mode: &str| Wish { permission_mode: Some(mode.into()), ..Wish::default() };
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
    let [first, second] = [Place(1), Place(2)];
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
    // What is about a directory, one of its sessions counts.
    assert_eq!(route(&mut link, &event("/b", "{}")), Route::Session(second));
    link.left(second);
    assert_eq!(route(&mut link, &event("/b", r#"{"sessionID":"ses_3"}"#)), Route::Nobody);
    assert_eq!(route(&mut link, &event("/b", "{}")), Route::Nobody);
}
