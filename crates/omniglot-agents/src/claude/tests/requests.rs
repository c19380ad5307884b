//! Tests of the CLI's requests and our answers.

use omniglot_schema::PermissionReply;

use super::{Harness, prompt, reply};
use crate::contract::{Command, RequestKey};

/// A session that waits for a permission.
fn asked(fields: &str) -> Harness {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}"#);
    harness.hear(&format!(
        r#"{{"type":"control_request","request_id":"r","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"make"}},"tool_use_id":"t1"{fields}}}}}"#
    ));
    harness.lines.clear();
    harness
}

const LOCAL_RULE: &str = r#","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make"}],"behavior":"allow","destination":"localSettings"}]"#;

#[test]
fn the_input_goes_back_with_every_yes() {
    let mut harness = asked("");
    harness.command(&reply("1:r", PermissionReply::Once, None));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"command":"make"}}}}
    permission . 1:r "accept" by "person" null
    call > call:1:t1 ""
    "#);
}

#[test]
fn always_stays_within_the_session_whatever_the_cli_suggests() {
    let mut harness = asked(LOCAL_RULE);
    harness.command(&reply("1:r", PermissionReply::Always, None));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"command":"make"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make"}],"behavior":"allow","destination":"session"}]}}}
    permission . 1:r "accept_for_session" by "person" null
    call > call:1:t1 ""
    "#);
}

#[test]
fn always_without_a_suggestion_is_a_rule_of_our_own() {
    let mut harness = asked("");
    harness.command(&reply("1:r", PermissionReply::Always, None));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"command":"make"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make"}],"behavior":"allow","destination":"session"}]}}}
    permission . 1:r "accept_for_session" by "person" null
    call > call:1:t1 ""
    "#);
}

#[test]
fn a_rejection_says_why() {
    let mut harness = asked("");
    harness.command(&reply("1:r", PermissionReply::Reject, Some("use ninja")));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"deny","message":"use ninja"}}}
    permission . 1:r "reject" by "person" "use ninja"
    "#);
}

#[test]
fn a_request_that_was_resolved_without_an_answer_ends_the_turn() {
    let mut harness = asked("");
    harness.command(&Command::Withdraw { key: RequestKey("1:r".into()) });
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"deny","message":"The user rejected this.","interrupt":true}}}
    permission . 1:r "reject" by "cancel" null
    "#);
}

#[test]
fn a_request_that_the_cli_withdraws_is_resolved_and_not_answered() {
    let mut harness = asked("");
    harness.hear(r#"{"type":"control_cancel_request","request_id":"r"}"#);
    insta::assert_snapshot!(harness.said(), @r#"permission . 1:r "reject" by "agent" null"#);
    harness.command(&reply("1:r", PermissionReply::Once, None));
    insta::assert_snapshot!(harness.said(), @"");
}

#[test]
fn an_edit_is_asked_for_with_its_diff() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Edit","input":{"file_path":"/a","old_string":"x","new_string":"y"},"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}}"#);
    insta::assert_snapshot!(harness.said(), @r#"permission + 1:r native="r" "Edit: /a" tool="Edit" call=null options=[{"id":"once","name":"Allow once","kind":"allow_once"},{"id":"always","name":"Allow all edits in this session","kind":"allow_always"},{"id":"reject","name":"Reject","kind":"reject_once"}] files=[{"type":"file_ref","path":"/a","action":"patch","diff":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"}]"#);
}

#[test]
fn a_plan_that_stands_in_no_file_is_shown_from_its_call() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"tool_use","id":"t","name":"ExitPlanMode","input":{"plan":"1. Do it."}}"#);
    harness.said();
    harness.hear(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":{},"tool_use_id":"t"}}"#);
    assert!(harness.said().contains(r#""detail":"1. Do it.""#));
}

#[test]
fn a_plan_is_approved_without_sending_it_back() {
    let mut harness = Harness::prompted();
    let ask = r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":{"plan":"1. Do it.","planFilePath":"/p"}}}"#;
    harness.hear(ask);
    insta::assert_snapshot!(harness.said(), @r#"question + 1:r native="r" call=null [{"prompt":"Approve the plan?","options":[{"label":"Approve"},{"label":"Keep planning"}],"multi_select":false,"free_text":true,"detail":"1. Do it."}]"#);
    let answer = |answer: &str| {
        let answers = Some(vec![vec![answer.to_owned()]]);
        Command::ReplyQuestion { key: RequestKey("1:r".into()), answers }
    };
    harness.command(&answer("Approve"));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"planFilePath":"/p"}}}}
    question . 1:r [["Approve"]] by "person"
    "#);
    let mut harness = Harness::prompted();
    harness.hear(ask).said();
    harness.command(&answer("Leave out step 1."));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"deny","message":"Leave out step 1."}}}
    question . 1:r [["Leave out step 1."]] by "person"
    "#);
}

#[test]
fn questions_are_answered_inside_of_their_input() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"W","multiSelect":true,"options":[{"label":"A"},{"label":"B"}]},{"question":"Why?","options":[]}]}}}"#);
    let answers = Some(vec![vec!["A".to_owned(), "B".to_owned()]]);
    harness.said();
    harness.command(&Command::ReplyQuestion { key: RequestKey("1:r".into()), answers });
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"questions":[{"question":"Which?","header":"W","multiSelect":true,"options":[{"label":"A"},{"label":"B"}]},{"question":"Why?","options":[]}],"answers":{"Which?":"A, B"}}}}}
    question . 1:r [["A","B"]] by "person"
    "#);
}

#[test]
fn a_form_of_an_mcp_server_is_a_question() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mcp_server_name":"demo","message":"Who?","mode":"form","requested_schema":{"type":"object","properties":{"name":{"type":"string"}}}}}"#);
    let answers = Some(vec![vec!["Ada".to_owned()]]);
    harness.command(&Command::ReplyQuestion { key: RequestKey("1:r".into()), answers });
    insta::assert_snapshot!(harness.said(), @r#"
    question + 1:r native="r" call=null [{"prompt":"Who?","options":[],"multi_select":false,"free_text":true}]
    send {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"action":"accept","content":{"name":"Ada"}}}}
    question . 1:r [["Ada"]] by "person"
    "#);
}

#[test]
fn nobody_waits_for_what_we_do_not_serve() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"control_request","request_id":"r","request":{"subtype":"make_coffee"}}"#);
    harness.hear(r#"{"type":"control_request","request_id":"r2","request":{"subtype":"can_use_tool"}}"#);
    harness.hear(r#"{"type":"control_request","request_id":"r3","request":{"subtype":"hook_callback","callback_id":"c","input":{"hook_event_name":"Stop"}}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_response","response":{"subtype":"error","request_id":"r","error":"Omniglot does not serve make_coffee"}}
    unparsed control_request.make_coffee: Omniglot does not serve make_coffee
    send {"type":"control_response","response":{"subtype":"error","request_id":"r2","error":"missing field `tool_name` at line 1 column 26"}}
    unparsed control_request.can_use_tool: missing field `tool_name` at line 1 column 26
    send {"type":"control_response","response":{"subtype":"success","request_id":"r3","response":{}}}
    item + note:1 native=null status hook "Stop"
    item . note:1
    "#);
}

#[test]
fn a_person_who_is_asked_between_turns_is_asked_in_a_turn_of_the_agent() {
    let mut harness = Harness::ready();
    harness.hear(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make"},"tool_use_id":"t9","agent_id":"a"}}"#);
    assert!(harness.said().starts_with("turn + agent\npermission + "));
}

#[test]
fn a_prompt_carries_the_uuid_of_its_message() {
    insta::assert_snapshot!(Harness::ready().command(&prompt("hi")).said(), @r#"
    send {"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null,"session_id":"","uuid":"01234567-89ab-cdef-0123-456789abcdef"}
    turn + user "msg_0123456789abcdef0123456789abcdef" [{"type":"text","text":"hi"}]
    "#);
}
