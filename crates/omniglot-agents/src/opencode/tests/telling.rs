//! Tests of events beside the answer: late errors, costs, settings, subagents, reverted and injected parts.

use super::PROMPT;
use super::session::Session;
use crate::contract::{Command, SettingsRequest};

fn error(name: &str) -> String {
    format!(r#"{{"sessionID":"ses_1","error":{{"name":"{name}","data":{{"message":"No luck."}}}}}}"#)
}

fn user(session: &mut Session, id: &str, agent: &str) -> Vec<String> {
    let info = format!(r#"{{"id":"{id}","sessionID":"ses_1","role":"user","agent":"{agent}"}}"#);
    session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{info}}}"#))
}

fn answer(session: &mut Session, id: &str, rest: &str) -> Vec<String> {
    let info = format!(
        r#"{{"id":"{id}","sessionID":"ses_1","role":"assistant","providerID":"a","modelID":"m",{rest}}}"#
    );
    session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{info}}}"#))
}

fn part(session: &mut Session, id: &str, message: &str, kind: &str, rest: &str) -> Vec<String> {
    let part = Session::record(id, message, kind, rest);
    session.event("message.part.updated", &format!(r#"{{"sessionID":"ses_1","part":{part}}}"#))
}

fn updated(session: &mut Session, rest: &str) -> Vec<String> {
    session.event("session.updated", &format!(r#"{{"sessionID":"ses_1","info":{{"id":"ses_1",{rest}}}}}"#))
}

#[test]
fn an_error_after_a_failed_turn_is_late_and_one_after_a_good_turn_is_a_warning() {
    let mut session = Session::in_turn(PROMPT);
    assert!(session.idle()[0].starts_with(r#"turn . "end_turn""#));
    assert_eq!(session.event("session.error", &error("UnknownError"))[0].split(' ').next(), Some("error"));
    session.prompt("Once more.");
    session.event("session.error", &error("UnknownError"));
    assert!(session.idle()[0].starts_with(r#"turn . "error""#));
    let told = session.event("session.error", &error("UnknownError"));
    assert!(told[0].contains("late") && told[0].contains("No luck."), "{told:?}");
}

#[test]
fn a_content_filter_is_a_refusal_and_no_error() {
    let mut session = Session::in_turn(PROMPT);
    session.event("session.error", &error("ContentFilterError"));
    let filtered =
        r#""error":{"name":"ContentFilterError","data":{"message":"No luck."}},"time":{"completed":7}"#;
    answer(&mut session, "msg_2", filtered);
    assert!(session.idle()[0].starts_with(r#"turn . "refusal""#));
}

#[test]
fn a_filtered_turn_goes_on_until_its_message_is_closed() {
    let mut session = Session::in_turn(PROMPT);
    session.event("session.error", &error("ContentFilterError"));
    assert_eq!(session.idle_status(), ["dropped superseded"]);
    assert_eq!(session.idle(), ["dropped superseded"]);
    answer(&mut session, "msg_2", r#""time":{"completed":7}"#);
    assert!(session.idle_status()[0].starts_with(r#"turn . "refusal""#));
}

#[test]
fn a_message_into_a_running_turn_gets_the_servers_id() {
    let mut session = Session::in_turn(PROMPT);
    assert_eq!(user(&mut session, "msg_3", "build"), [r#"turn = user native="msg_3""#]);
    let told = session.prompt("And more.");
    let item = r#"item + steer:1 native=null message "user" [{"type":"text","text":"And more."}]"#;
    assert_eq!(told, [item]);
    assert_eq!(user(&mut session, "msg_3", "build"), ["dropped echo"]);
    assert_eq!(user(&mut session, "msg_4", "build"), [r#"item . steer:1 native="msg_4""#]);
    assert_eq!(user(&mut session, "msg_4", "build"), ["dropped echo"]);
}

#[test]
fn the_error_of_our_own_abort_is_no_news_after_its_turn() {
    let mut session = Session::in_turn(PROMPT);
    session.command(&Command::Cancel);
    session.answer_to("/session/ses_1/abort", "true");
    session.answer_to("/session/ses_1/message", "[]");
    assert_eq!(session.event("session.error", &error("MessageAbortedError")), ["dropped echo"]);
    assert!(session.event("session.error", &error("APIError"))[0].contains("late"));
}

#[test]
fn an_abort_whose_last_words_were_heard_ends_with_its_answer() {
    let mut session = Session::in_turn(PROMPT);
    session.command(&Command::Cancel);
    session.idle();
    answer(&mut session, "msg_2", r#""time":{"created":6,"completed":7}"#);
    session.idle();
    let told = session.answer_to("/session/ses_1/abort", "true");
    assert!(told[0].starts_with(r#"turn . "cancelled""#), "{told:?}");
}

#[test]
fn a_session_costs_what_its_subagents_cost_too() {
    let mut session = Session::in_turn(PROMPT);
    assert_eq!(updated(&mut session, r#""cost":0.25"#), [r#"state {"cost_usd":0.25}"#]);
    let child = r#"{"sessionID":"ses_2","info":{"id":"ses_2","parentID":"ses_1","cost":0.5}}"#;
    assert_eq!(session.event("session.updated", child), [r#"state {"cost_usd":0.75}"#]);
    assert_eq!(updated(&mut session, r#""cost":0.5"#), [r#"state {"cost_usd":1.0}"#]);
}

#[test]
fn the_changes_of_a_session_in_files_are_its_state_and_zeros_count_only_after_others() {
    let mut session = Session::in_turn(PROMPT);
    let zeros = r#""summary":{"additions":0,"deletions":0,"files":0}"#;
    assert_eq!(updated(&mut session, zeros), ["dropped internal"]);
    let told = updated(&mut session, r#""summary":{"additions":3,"deletions":1,"files":2,"diffs":[]}"#);
    assert_eq!(told, [r#"state {"changes":{"files":2,"additions":3,"deletions":1}}"#]);
    assert_eq!(updated(&mut session, r#""summary":{"additions":"many"}"#), ["dropped internal"]);
    let told = updated(&mut session, zeros);
    assert_eq!(told, [r#"state {"changes":{"files":0,"additions":0,"deletions":0}}"#]);
}

/// A17: what a call of the model had said until it broke is over when the call is repeated.
#[test]
fn a_partial_reply_ends_when_the_retry_begins() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_1", "text", r#""text":"Half an""#);
    let retry = r#"{"sessionID":"ses_1","status":{"type":"retry","attempt":1,"message":"cut"}}"#;
    let told = session.event("session.status", retry);
    assert_eq!(told[0], "item ! prt_1", "{told:?}");
    assert_eq!(session.part("prt_1", "text", r#""text":"Half an answer""#), ["dropped duplicate"]);
    let again = session.part("prt_2", "text", r#""text":"An answer""#);
    assert!(again[0].starts_with("item + prt_2"), "{again:?}");
    let told = session.event("session.status", retry);
    assert_eq!(told.iter().filter(|line| line.starts_with("item !")).count(), 1, "{told:?}");
}

#[test]
fn a_step_is_open_from_its_start_to_its_finish_and_has_its_tokens() {
    let mut session = Session::in_turn(PROMPT);
    let start = |session: &mut Session, id| session.part(id, "step-start", r#""snapshot":"a""#);
    assert_eq!(start(&mut session, "prt_1"), [r#"item + step:prt_1 native="prt_1" step null null"#]);
    assert_eq!(start(&mut session, "prt_1"), ["dropped duplicate"]);
    let again = start(&mut session, "prt_2");
    assert_eq!(again, ["item ! step:prt_1", r#"item + step:prt_2 native="prt_2" step null null"#]);
    let tokens = r#""reason":"stop","tokens":{"input":7,"output":2,"reasoning":1,"cache":{"read":5}}"#;
    let told = session.part("prt_3", "step-finish", tokens);
    assert!(
        told[0].starts_with(r#"item . step:prt_2 step "stop" {"input_tokens":7,"output_tokens":3"#),
        "{told:?}"
    );
    assert_eq!(session.part("prt_3", "step-finish", tokens), ["dropped duplicate"]);
    let missed = part(&mut session, "prt_5", "msg_4", "step-finish", r#""reason":"stop","tokens":"none""#);
    assert_eq!(missed, [r#"item . step:prt_5 step "stop" null"#], "its start was missed");
}

#[test]
fn a_variant_that_is_not_asked_for_again_is_no_more() {
    let mut session = Session::in_turn(PROMPT);
    let told = answer(&mut session, "msg_3", r#""agent":"build","variant":"high""#);
    assert_eq!(told, [r#"state {"model":"a/m","variant":"high","agent_mode":"build"}"#]);
    let told = answer(&mut session, "msg_4", r#""agent":"build""#);
    assert_eq!(told, [r#"state {"model":"a/m","variant":null,"agent_mode":"build"}"#]);
}

#[test]
fn another_agent_in_the_same_turn_is_a_change_of_mode_and_that_of_a_subtask_is_none() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt(PROMPT);
    user(&mut session, "msg_1", "plan");
    let told = answer(&mut session, "msg_2", r#""agent":"plan","parentID":"msg_1""#);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        answer(&mut session, "msg_3", r#""agent":"build","parentID":"msg_1""#),
        ["dropped internal"],
        "a subtask"
    );
    user(&mut session, "msg_4", "build");
    let told = answer(&mut session, "msg_5", r#""agent":"build","parentID":"msg_4""#);
    assert!(told[1].contains("mode_changed") && told[1].contains("build"), "{told:?}");
}

#[test]
fn subagents_are_in_the_state_while_they_work() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_3", "tool", r#""tool":"task","callID":"c","state":{"status":"running","input":{}}"#);
    let child =
        r#"{"sessionID":"ses_2","info":{"id":"ses_2","parentID":"ses_1","title":"Looks","agent":"general"}}"#;
    session.event("session.created", child);
    let status = |kind: &str| format!(r#"{{"sessionID":"ses_2","status":{{"type":"{kind}"}}}}"#);
    let told = session.event("session.status", &status("busy"));
    assert_eq!(
        told,
        [
            r#"state {"subagents":[{"native_session_id":"ses_2","native_item_id":"c","agent":"general","title":"Looks"}]}"#
        ]
    );
    assert_eq!(session.event("session.status", &status("busy")), ["dropped internal"]);
    assert_eq!(session.event("session.status", &status("idle")), [r#"state {"subagents":[]}"#]);
    session.event("session.status", &status("busy"));
    let told = session.idle();
    assert_eq!(told[0], r#"state {"subagents":[]}"#, "no turn, no subagent: {told:?}");
}

#[test]
fn a_call_belongs_to_the_text_before_it_in_its_message() {
    const RUNS: &str = r#""tool":"bash","callID":"c","state":{"status":"running","input":{}}"#;
    let mut session = Session::in_turn(PROMPT);
    let told = session.part("prt_1", "tool", RUNS);
    assert!(told[0].starts_with(r#"call + call:prt_1 native="c" bash"#), "no text yet: {told:?}");
    session.part("prt_2", "reasoning", r#""text":"Hm.""#);
    session.part("prt_3", "text", r#""text":"I look.""#);
    let told = session.part("prt_4", "tool", RUNS);
    assert!(told[0].starts_with(r#"call + call:prt_4 native="c" in prt_3 bash"#), "{told:?}");
    answer(&mut session, "msg_5", r#""agent":"build""#);
    let told = part(&mut session, "prt_5", "msg_5", "tool", RUNS);
    assert!(told[0].starts_with(r#"call + call:prt_5 native="c" bash"#), "of another message: {told:?}");
}

#[test]
fn a_call_of_a_subagent_belongs_to_its_text_or_to_the_call_that_began_it() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_3", "tool", r#""tool":"task","callID":"c","state":{"status":"running","input":{}}"#);
    session.event("session.created", r#"{"sessionID":"ses_2","info":{"id":"ses_2","parentID":"ses_1"}}"#);
    let mut of_child = |id: &str, kind: &str, rest: &str| {
        let part = Session::record(id, "msg_4", kind, rest).replace("ses_1", "ses_2");
        session.event("message.part.updated", &format!(r#"{{"sessionID":"ses_2","part":{part}}}"#))
    };
    const CALL: &str = r#""tool":"bash","callID":"d","state":{"status":"pending","input":{}}"#;
    assert!(of_child("prt_4", "tool", CALL)[0].contains("in call:prt_3"));
    assert!(of_child("prt_5", "text", r#""text":"I look.""#)[0].contains("in call:prt_3"));
    assert!(of_child("prt_6", "tool", CALL)[0].contains("in prt_5"));
}

#[test]
fn the_error_of_a_subagent_is_told_below_its_call() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_3", "tool", r#""tool":"task","callID":"c","state":{"status":"running","input":{}}"#);
    session.event("session.created", r#"{"sessionID":"ses_2","info":{"id":"ses_2","parentID":"ses_1"}}"#);
    let told = session.event("session.error", &error("APIError").replace("ses_1", "ses_2"));
    assert!(told[0].contains("in call:prt_3") && told[0].contains("No luck."), "{told:?}");
}

#[test]
fn a_call_that_could_not_be_made_has_no_arguments_and_its_error_for_a_result() {
    let mut session = Session::in_turn(PROMPT);
    session.part("prt_3", "tool", r#""tool":"fly","callID":"c","state":{"status":"pending","input":{}}"#);
    let state = r#""state":{"status":"completed","input":{"tool":"fly","error":"no wings"},"output":"Invalid: no wings","title":"Invalid Tool","metadata":{},"time":{"start":1,"end":2}}"#;
    let told = session.part("prt_3", "tool", &format!(r#""tool":"invalid","callID":"c",{state}"#));
    assert_eq!(told[0], r#"call = call:prt_3 fly {} kind="other""#);
    assert!(told[1].contains(r#""Invalid: no wings" error=true"#), "{told:?}");
}

#[test]
fn what_opencode_says_in_the_users_name_amid_a_turn_is_the_systems() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt(PROMPT);
    user(&mut session, "msg_1", "build");
    let synthetic = |text: &str| format!(r#""text":"{text}","synthetic":true"#);
    let told = part(&mut session, "prt_1", "msg_1", "text", &synthetic("The file that was attached."));
    assert_eq!(told, ["dropped internal"], "it comes with the prompt");
    answer(&mut session, "msg_2", r#""agent":"build","parentID":"msg_1""#);
    user(&mut session, "msg_3", "build");
    let told = part(&mut session, "prt_3", "msg_3", "text", &synthetic("Go on."));
    assert!(told[0].starts_with("item + prt_3 native=null system") && told[0].contains("Go on."), "{told:?}");
    let told = part(&mut session, "prt_3", "msg_3", "text", &synthetic("Go on."));
    assert_eq!(told, ["dropped duplicate"]);
}

#[test]
fn what_opencode_says_in_the_users_name_before_a_turn_of_its_own_is_told_in_it() {
    let mut session = Session::in_turn(PROMPT);
    session.idle();
    user(&mut session, "msg_3", "build");
    let done = r#""text":"The task is done.","synthetic":true"#;
    assert_eq!(part(&mut session, "prt_3", "msg_3", "text", done), ["dropped superseded"]);
    let told = answer(&mut session, "msg_4", r#""agent":"build","parentID":"msg_3""#);
    assert!(
        told[0].starts_with("turn +") && told[1].starts_with("item + prt_3 native=null system"),
        "{told:?}"
    );
}

#[test]
fn the_prompt_has_the_id_of_its_message_and_no_later_message_takes_its_place() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt(PROMPT);
    assert_eq!(user(&mut session, "msg_1", "build"), [r#"turn = user native="msg_1""#]);
    assert_eq!(user(&mut session, "msg_1", "build"), ["dropped echo"]);
    assert_eq!(part(&mut session, "prt_1", "msg_1", "text", r#""text":"Speak.""#), ["dropped echo"]);
    session.busy();
    answer(&mut session, "msg_2", r#""agent":"build","parentID":"msg_1""#);
    session.prompt("Louder.");
    assert_eq!(user(&mut session, "msg_3", "build"), [r#"item . steer:1 native="msg_3""#]);
    session.idle();
    session.prompt("/compact");
    assert_eq!(user(&mut session, "msg_4", "build"), [r#"turn = user native="msg_4""#]);
}

#[test]
fn what_is_taken_back_is_named_with_its_point_and_its_changes() {
    let mut session = Session::open(SettingsRequest::default());
    session.prompt(PROMPT);
    user(&mut session, "msg_1", "build");
    part(&mut session, "prt_1", "msg_1", "text", r#""text":"Speak.""#);
    answer(&mut session, "msg_2", r#""agent":"build","parentID":"msg_1""#);
    session.part("prt_2", "step-start", r#""snapshot":"x""#);
    session.part("prt_3", "text", r#""text":"Said.","time":{"start":1,"end":2}"#);
    session.part("prt_4", "tool", r#""tool":"edit","callID":"c","state":{"status":"running","input":{}}"#);
    session.busy();
    session.idle();
    let back = r#""revert":{"messageID":"msg_1","diff":"-line"},"time":{"updated":9}"#;
    let told = updated(&mut session, back);
    assert!(told[0].contains("in prt_3"), "{told:?}");
    for words in ["before the message msg_1 (“Speak.”)", "prt_3, c", "-line"] {
        assert!(told[0].contains(words), "{words}: {told:?}");
    }
    assert_eq!(updated(&mut session, r#""time":{"updated":8}"#), ["dropped internal"], "it is older");
    let told = updated(&mut session, r#""time":{"updated":10}"#);
    assert!(told[0].contains("is there again: prt_3, c"), "{told:?}");
    updated(&mut session, &back.replace('9', "11"));
    let removed = |message: &str| format!(r#"{{"sessionID":"ses_1","messageID":"{message}"}}"#);
    let told = session.event("message.removed", &removed("msg_1"));
    assert!(told[0].contains("the message msg_1 (“Speak.”) was removed"), "{told:?}");
    let told = session.event("message.removed", &removed("msg_2"));
    assert!(told[0].contains("the message msg_2 was removed: prt_3, c"), "{told:?}");
    assert_eq!(updated(&mut session, r#""time":{"updated":12}"#), ["dropped internal"], "it is gone");
    let bookkeeping = r#"{"sessionID":"ses_1","messageID":"msg_2","partID":"prt_2"}"#;
    assert_eq!(session.event("message.part.removed", bookkeeping), ["dropped internal"]);
}
