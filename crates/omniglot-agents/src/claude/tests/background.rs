//! Subagents in the background: what they say, ask and run across turns.

use omniglot_schema::PermissionReply;

use super::{Harness, INIT, prompt, raw, reply};
use crate::contract::{Command, Input, Translator};

impl Harness {
    /// A session whose subagent `a1` works in the background of a turn that goes on.
    fn delegated() -> Self {
        let mut harness = Self::prompted();
        harness.says("m1", r#"{"type":"tool_use","id":"a1","name":"Agent","input":{"description":"Look"}}"#);
        harness.hear(r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"a1","task_type":"local_agent"}"#);
        harness.hear(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"launched"}]},"parent_tool_use_id":null,"tool_use_result":{"status":"async_launched"}}"#);
        harness.lines.clear();
        harness
    }

    /// Something that the subagent which `call` spawned says.
    fn subagent(&mut self, call: &str, id: &str, block: &str) -> &mut Self {
        self.hear(&format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{block}]}},"parent_tool_use_id":"{call}"}}"#
        ))
    }

    fn calls(&mut self, call: &str, id: &str, tool: &str) -> &mut Self {
        let block = format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{}}}}"#);
        self.subagent(call, &format!("m-{id}"), &block)
    }

    fn done(&mut self, call: &str, id: &str) -> &mut Self {
        self.hear(&format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}},"parent_tool_use_id":"{call}"}}"#
        ))
    }

    fn asks(&mut self, id: &str) -> &mut Self {
        self.hear(&format!(
            r#"{{"type":"control_request","request_id":"r-{id}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{}},"tool_use_id":"{id}"}}}}"#
        ))
    }

    fn task_ends(&mut self) -> &mut Self {
        self.hear(r#"{"type":"system","subtype":"task_notification","task_id":"k","tool_use_id":"a1","status":"completed","summary":"Agent finished"}"#)
    }
}

fn has_end(said: &str) -> bool {
    said.contains("turn .")
}

#[test]
fn a_turn_waits_for_the_person_whom_a_subagent_in_the_background_asks() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2").result(r#","total_cost_usd":0.5"#);
    let said = harness.said();
    assert!(said.contains("permission +") && !has_end(&said), "{said}");
    harness.command(&reply("1:r-t2", PermissionReply::Once, None));
    let said = harness.said();
    assert!(said.contains("permission .") && !has_end(&said), "{said}");
    harness.done("a1", "t2");
    insta::assert_snapshot!(harness.said(), @r#"
    call . call:2:t2 "ok" error=false
    turn . "end_turn" model="m" cost=0.5
    "#);
}

#[test]
fn what_was_approved_for_a_subagent_in_the_background_ends_within_its_turn() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2");
    harness.command(&reply("1:r-t2", PermissionReply::Once, None));
    harness.result("");
    assert!(!has_end(&harness.said()));
    harness.subagent("a1", "m3", r#"{"type":"text","text":"Wait."}"#);
    assert!(harness.said().contains("in call:1:a1"), "it speaks in the turn that waits");
    harness.done("a1", "t2");
    assert!(harness.said().ends_with(r#"turn . "end_turn" model="m""#));
}

#[test]
fn what_the_cli_begins_in_a_turn_that_waits_is_a_part_of_it() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2");
    harness.result(r#","total_cost_usd":0.5,"usage":{"input_tokens":1,"output_tokens":2}"#);
    harness.hear(INIT);
    harness.says("m4", r#"{"type":"text","text":"Another task has ended."}"#);
    assert!(!harness.said().contains("turn +"));
    harness.done("a1", "t2");
    assert!(!has_end(&harness.said()), "the CLI is at work");
    let unasked = r#","origin":{"kind":"task-notification"},"total_cost_usd":0.75,"usage":{"input_tokens":10,"output_tokens":20}"#;
    harness.command(&reply("1:r-t2", PermissionReply::Reject, None)).result(unasked);
    let said = harness.said();
    let end = r#"turn . "end_turn" model="m" usage={"input_tokens":11,"output_tokens":22,"total_tokens":33} cost=0.75"#;
    assert!(said.ends_with(end), "{said}");
}

#[test]
fn a_turn_that_waits_is_cancelled_by_the_answer_to_an_interrupt() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2").result("");
    harness.command(&Command::Withdraw { key: crate::contract::RequestKey("1:r-t2".into()) });
    harness.command(&Command::Cancel);
    assert!(!has_end(&harness.said()));
    harness.hear(r#"{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-2","response":{"still_queued":[]}}}"#);
    insta::assert_snapshot!(harness.said(), @r#"turn . "cancelled" model="m""#);
}

#[test]
fn a_turn_that_waits_is_cancelled_although_its_last_call_ends_before_the_answer_to_the_interrupt() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2").result("");
    harness.command(&Command::Withdraw { key: crate::contract::RequestKey("1:r-t2".into()) });
    harness.command(&Command::Cancel).done("a1", "t2");
    assert!(harness.said().ends_with(r#"turn . "cancelled" model="m""#));
}

#[test]
fn a_cancelled_result_ends_the_turn_whatever_runs_in_the_background() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2").command(&Command::Cancel);
    harness.said();
    harness.result(r#","terminal_reason":"aborted_streaming""#);
    insta::assert_snapshot!(harness.said(), @r#"turn . "cancelled" model="m""#);
}

#[test]
fn a_turn_that_waits_ends_with_its_subagent() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2");
    harness.command(&reply("1:r-t2", PermissionReply::Once, None)).result("");
    assert!(!has_end(&harness.said()));
    harness.task_ends();
    assert!(harness.said().ends_with(r#"turn . "end_turn" model="m""#));
    assert!(!harness.claude.tends_background());
}

#[test]
fn a_person_who_is_asked_between_turns_is_asked_in_a_turn_that_ends_with_the_call() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").result("");
    harness.said();
    harness.asks("t2");
    let said = harness.said();
    assert!(said.starts_with("turn + agent\ncall + call:2:t2"), "{said}");
    harness.command(&reply("1:r-t2", PermissionReply::Once, None));
    assert!(!has_end(&harness.said()));
    harness.done("a1", "t2");
    assert!(harness.said().ends_with(r#"turn . "end_turn""#));
    assert!(harness.claude.tends_background(), "the subagent goes on");
}

#[test]
fn a_prompt_put_into_a_turn_that_waits_is_a_message_of_it() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash").asks("t2").result("");
    harness.said();
    harness.step(Input::Sent(&raw(r#"{"type":"user","message":{"role":"user","content":"more"}}"#)));
    harness.hear(INIT);
    insta::assert_snapshot!(harness.said(), @r#"
    item + note:1 native=null message "user" [{"type":"text","text":"more"}]
    item . note:1
    "#);
}

#[test]
fn a_subagent_within_one_in_the_background_is_told_after_its_call() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "n1", "Agent");
    harness.hear(r#"{"type":"system","subtype":"task_started","task_id":"k2","tool_use_id":"n1","task_type":"local_bash"}"#);
    harness
        .subagent("n1", "m5", r#"{"type":"text","text":"Nested."}"#)
        .calls("n1", "t3", "Read")
        .done("n1", "t3");
    insta::assert_snapshot!(harness.said(), @"");
    harness.result("").done("a1", "n1");
    harness.said();
    harness.hear(INIT);
    insta::assert_snapshot!(harness.said(), @r#"
    turn + agent
    call + call:2:n1 native="n1" in call:1:a1 Agent  kind="agent"
    call = call:2:n1 Agent {} kind="agent"
    call > call:2:n1 ""
    item + message:3:1 native="m5" in call:2:n1 message "assistant" []
    item . message:3:1 message "assistant" [{"type":"text","text":"Nested."}]
    call + call:3:t3 native="t3" in call:2:n1 Read  kind="read"
    call = call:3:t3 Read {} kind="read"
    call . call:3:t3 "ok" error=false
    call . call:2:n1 "ok" error=false
    "#);
}

#[test]
fn a_person_who_is_asked_for_a_subagent_within_another_sees_both_calls() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "n1", "Agent").calls("n1", "t3", "Bash").asks("t3").result("");
    let said = harness.said();
    let (outer, inner) = (said.find("call + call:2:n1").unwrap(), said.find("call + call:3:t3").unwrap());
    assert!(outer < inner && inner < said.find("permission +").unwrap(), "{said}");
    harness.command(&reply("1:r-t3", PermissionReply::Once, None)).done("n1", "t3");
    assert!(!has_end(&harness.said()), "the call that spawned it has no result");
    harness.done("a1", "n1");
    assert!(has_end(&harness.said()));
}

#[test]
fn a_sign_of_life_of_a_call_that_waits_waits_with_it() {
    let mut harness = Harness::delegated();
    harness.calls("a1", "t2", "Bash");
    harness.hear(r#"{"type":"tool_progress","tool_use_id":"t2-heartbeat-0","parent_tool_use_id":"t2","elapsed_time_seconds":30}"#);
    insta::assert_snapshot!(harness.said(), @"");
}

#[test]
fn a_call_that_waited_for_long_belongs_to_the_call_that_spawned_its_subagent() {
    let mut harness = Harness::delegated();
    let line = r#"{"type":"text","text":"I build."}"#;
    harness.subagent("a1", "m-t2", line).calls("a1", "t2", "Bash").result("");
    for _ in 0..2 {
        harness.command(&prompt("go on")).hear(INIT).result("");
    }
    harness.command(&prompt("go on")).hear(INIT);
    harness.said();
    harness.done("a1", "t2");
    let said = harness.said();
    assert!(said.starts_with(r#"call + call:2:t2 native="t2" in call:1:a1"#), "{said}");
}

#[test]
fn a_command_in_the_background_is_tended_until_it_ends() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"tool_use","id":"b1","name":"Bash","input":{"command":"make"}}"#);
    harness.hear(r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"b1","task_type":"local_bash"}"#);
    harness.hear(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b1","content":"started"}]},"parent_tool_use_id":null,"tool_use_result":{"stdout":"","backgroundTaskId":"k"}}"#);
    assert!(harness.said().ends_with(r#""started" error=false goes on"#));
    harness.result("");
    assert!(harness.claude.tends_background());
    harness
        .hear(r#"{"type":"system","subtype":"task_updated","task_id":"k","patch":{"status":"completed"}}"#);
    assert!(!harness.claude.tends_background());
}

#[test]
fn a_task_that_an_interrupt_has_cut_is_not_tended() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"tool_use","id":"a1","name":"Agent","input":{}}"#);
    harness.hear(r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"a1","task_type":"local_agent"}"#);
    harness.command(&Command::Cancel).said();
    harness.result(r#","terminal_reason":"aborted_tools""#);
    insta::assert_snapshot!(harness.said(), @r#"
    state {"subagents":null}
    turn . "cancelled" model="m"
    "#);
    assert!(!harness.claude.tends_background());
}
