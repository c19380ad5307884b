//! Tests of unexpected behaviour of the CLI.

use crate::contract::{Command, SettingsRequest};

use super::{Harness, INIT, prompt};

#[test]
fn one_prompt_is_one_turn_although_the_cli_merges_prompts() {
    let mut harness = Harness::prompted();
    let second = r#"{"type":"user","message":{"role":"user","content":"more"},"uuid":"u2"}"#;
    harness.step(crate::contract::Input::Sent(&super::raw(second)));
    insta::assert_snapshot!(harness.said(), @"");
    harness.hear(r#"{"type":"command_lifecycle","command_uuid":"u2","state":"started"}"#);
    harness.result(r#","total_cost_usd":0"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + note:1 native=null message "user" [{"type":"text","text":"more"}]
    item . note:1
    state {"cost_usd":0.0}
    turn . "end_turn" model="m" cost=0.0
    "#);
}

#[test]
fn prompts_that_wait_are_answered_in_one_turn() {
    let mut harness = Harness::prompted();
    for text in ["one", "two"] {
        let sent = format!(r#"{{"type":"user","message":{{"role":"user","content":"{text}"}}}}"#);
        harness.step(crate::contract::Input::Sent(&super::raw(&sent)));
    }
    harness.result("").hear(INIT);
    insta::assert_snapshot!(harness.said(), @r#"
    turn . "end_turn" model="m"
    turn + user null [{"type":"text","text":"one"},{"type":"text","text":"two"}]
    "#);
}

#[test]
fn orphan_partials_after_a_broken_stream_fail_and_the_reply_is_told_once() {
    let mut harness = Harness::prompted();
    harness.stream(&[
        r#"{"type":"message_start","message":{"id":"m1","model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
    ]);
    harness.says("m2", r#"{"type":"text","text":"Hello!"}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + step:1 native="m1" step null null
    item + message:1:1 native="m1" message "assistant" []
    item ~ message:1:1 "Hel"
    item ! message:1:1
    item ! step:1
    item + message:2:1 native="m2" message "assistant" []
    item . message:2:1 message "assistant" [{"type":"text","text":"Hello!"}]
    "#);
}

#[test]
fn the_end_of_a_stream_does_not_mean_that_its_blocks_are_whole() {
    let mut harness = Harness::prompted();
    harness.stream(&[
        r#"{"type":"message_start","message":{"id":"m1","model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
    ]);
    harness.hear(r#"{"type":"stream_event","event":{"type":"message_stop"},"abandoned_blocks":{"api_message_id":"m1","from_block_index":0}}"#);
    harness.says("m2", r#"{"type":"text","text":"Hello!"}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + step:1 native="m1" step null null
    item + message:1:1 native="m1" message "assistant" []
    item ~ message:1:1 "Hel"
    item ! message:1:1
    item ! step:1
    item + message:2:1 native="m2" message "assistant" []
    item . message:2:1 message "assistant" [{"type":"text","text":"Hello!"}]
    "#);
}

#[test]
fn each_call_of_the_model_is_a_step_with_its_tokens() {
    let mut harness = Harness::prompted();
    harness.stream(&[
        r#"{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":9,"output_tokens":1}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    insta::assert_snapshot!(harness.said(), @r#"
    item + step:1 native="m1" step null null
    item . step:1 step "end_turn" {"input_tokens":9,"output_tokens":5,"total_tokens":14}
    "#);
    harness.result("");
    harness.stream(&[r#"{"type":"message_start","message":{"id":"m2"}}"#]);
    assert!(!harness.said().contains("step"), "outside of a turn there is none");
}

#[test]
fn one_assistant_line_per_block_makes_one_item_each() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"thinking","thinking":"Hm.","signature":"x"}"#);
    harness.says("m1", r#"{"type":"text","text":"First."}"#);
    harness.says("m1", r#"{"type":"text","text":"Second."}"#);
    harness.says("m1", r#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + message:1:1 native="m1" reasoning "public" ""
    item . message:1:1 reasoning "public" "Hm."
    item + message:1:2 native="m1" message "assistant" []
    item . message:1:2 message "assistant" [{"type":"text","text":"First."}]
    item + message:1:3 native="m1" message "assistant" []
    item . message:1:3 message "assistant" [{"type":"text","text":"Second."}]
    call + call:1:t1 native="t1" in message:1:3 Read  kind="read"
    call = call:1:t1 Read {"file_path":"/a"} kind="read" {"paths":[{"path":"/a"}]}
    "#);
}

#[test]
fn the_final_arguments_of_a_call_may_differ_from_those_streamed() {
    let mut harness = Harness::prompted();
    harness.stream(&[
        r#"{"type":"message_start","message":{"id":"m1","model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Edit","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":\"/a\"}"}}"#,
    ]);
    harness.says(
        "m1",
        r#"{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/a","replace_all":false}}"#,
    );
    insta::assert_snapshot!(harness.said(), @r#"
    item + step:1 native="m1" step null null
    call + call:1:t1 native="t1" Edit  kind="edit"
    call ~ call:1:t1 "{\"file_path\":\"/a\"}"
    call = call:1:t1 Edit {"file_path":"/a","replace_all":false} kind="edit" {"paths":[{"path":"/a"}]}
    "#);
}

#[test]
fn hidden_and_redacted_thought_is_one_private_part_without_text() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"thinking","thinking":"","signature":"x"}"#);
    harness.says("m1", r#"{"type":"redacted_thinking","data":"x"}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + message:1:1 native="m1" reasoning "private" ""
    item . message:1:1 reasoning "private" ""
    item + message:1:2 native="m1" reasoning "private" ""
    item . message:1:2 reasoning "private" ""
    "#);
}

#[test]
fn clear_changes_the_native_id_and_the_agent_has_forgotten() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"conversation_reset","new_conversation_id":"x","trigger":"clear"}"#);
    harness.hear(&INIT.replace(r#""session_id":"s""#, r#""session_id":"s2""#));
    insta::assert_snapshot!(harness.said(), @r#"session "s2" version=null resume=null"#);
}

#[test]
fn a_result_that_never_comes_leaves_the_turn_open_until_it_is_cancelled() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"text","text":"Wait."}"#);
    harness.hear(r#"{"type":"system","subtype":"session_state_changed","state":"idle"}"#);
    assert!(!harness.said().contains("turn ."), "nothing but a result ends a turn");
    harness.command(&Command::Cancel);
    insta::assert_snapshot!(harness.said(), @r#"send {"type":"control_request","request_id":"omniglot-2","request":{"subtype":"interrupt"}}"#);
    // Between turns there is nothing to interrupt.
    insta::assert_snapshot!(Harness::ready().command(&Command::Cancel).said(), @"");
}

#[test]
fn an_interrupt_comes_as_an_error_and_is_a_cancel() {
    let mut harness = Harness::prompted();
    harness.command(&Command::Cancel);
    harness.hear(r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"parent_tool_use_id":null}"#);
    harness.hear(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["Error: Request was aborted."],"total_cost_usd":0}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"type":"control_request","request_id":"omniglot-2","request":{"subtype":"interrupt"}}
    state {"cost_usd":0.0}
    turn . "cancelled" model="m"
    "#);
}

#[test]
fn an_api_error_comes_as_a_success() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 Overloaded."}]},"parent_tool_use_id":null,"error":"server_error"}"#);
    harness.hear(r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded."}"#);
    insta::assert_snapshot!(harness.said(), @r#"turn . "error" model="m" error="api_error" "529 Overloaded." {"native_kind":"server_error","status":529}"#);
}

#[test]
fn missing_credentials_are_told_with_what_was_looked_for() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"Not logged in"}]},"parent_tool_use_id":null,"error":"authentication_failed"}"#);
    harness.hear(r#"{"type":"result","subtype":"success","is_error":true,"result":"Not logged in"}"#);
    insta::assert_snapshot!(harness.said(), @r#"turn . "error" model="m" error="provider_auth" "Not logged in (looked for ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, and the login of `claude /login`)" {"native_kind":"authentication_failed","hint":"log in with `claude /login`, or set ANTHROPIC_API_KEY"}"#);
}

#[test]
fn the_result_of_a_turn_that_nobody_asked_for_does_not_end_the_prompts_turn() {
    let mut harness = Harness::ready();
    harness.command(&prompt("hi"));
    harness.said();
    let unasked = r#","origin":{"kind":"task-notification"}"#;
    harness.hear(INIT).result(unasked);
    insta::assert_snapshot!(harness.said(), @"");
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    harness.hear(&format!(r#"{{"type":"command_lifecycle","command_uuid":"{uuid}","state":"started"}}"#));
    harness.result("");
    insta::assert_snapshot!(harness.said(), @r#"turn . "end_turn" model="m""#);
}

#[test]
fn an_init_between_turns_begins_a_turn_of_the_agent() {
    let mut harness = Harness::ready();
    harness.hear(INIT).says("m1", r#"{"type":"text","text":"Done."}"#).result("");
    insta::assert_snapshot!(harness.said(), @r#"
    turn + agent
    item + message:1:1 native="m1" message "assistant" []
    item . message:1:1 message "assistant" [{"type":"text","text":"Done."}]
    turn . "end_turn" model="m"
    "#);
}

#[test]
fn a_subagent_in_the_background_is_told_in_the_next_turn() {
    let mut harness = Harness::prompted();
    let of = |line: &str| line.replace("null", r#""a1""#);
    harness.says("m1", r#"{"type":"tool_use","id":"a1","name":"Agent","input":{"description":"Look"}}"#);
    harness.hear(r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"a1","task_type":"local_agent"}"#);
    harness.hear(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"launched"}]},"parent_tool_use_id":null,"tool_use_result":{"status":"async_launched"}}"#);
    harness.hear(&of(r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}]},"parent_tool_use_id":null}"#));
    harness.result("");
    harness.said();
    harness.hear(&of(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"ok"}]},"parent_tool_use_id":null}"#));
    harness.hear(r#"{"type":"system","subtype":"task_notification","task_id":"k","tool_use_id":"a1","status":"completed","summary":"Agent finished"}"#);
    insta::assert_snapshot!(harness.said(), @r#"state {"subagents":null}"#);
    harness.hear(INIT);
    insta::assert_snapshot!(harness.said(), @r#"
    turn + agent
    call + call:2:t2 native="t2" in call:1:a1 Read  kind="read"
    call = call:2:t2 Read {} kind="read"
    call . call:2:t2 "ok" error=false
    item + note:1 native=null in call:1:a1 system [{"type":"text","text":"Agent finished"}]
    item . note:1
    "#);
}

#[test]
fn the_ids_of_tool_progress_are_swapped() {
    let mut harness = Harness::prompted();
    harness.says(
        "m1",
        r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make","description":"Build"}}"#,
    );
    harness.said();
    harness.hear(r#"{"type":"tool_progress","tool_use_id":"t1-heartbeat-0","parent_tool_use_id":"t1","elapsed_time_seconds":30}"#);
    insta::assert_snapshot!(harness.said(), @r#"call > call:1:t1 """#);
}

#[test]
fn the_cost_of_a_turn_is_a_difference_of_sums() {
    let mut harness = Harness::prompted();
    harness.result(r#","total_cost_usd":0.5,"usage":{"input_tokens":1,"output_tokens":2}"#);
    harness.command(&prompt("again")).result(r#","total_cost_usd":0.75"#);
    // After `/clear` the sum begins anew.
    harness.command(&prompt("again")).result(r#","total_cost_usd":0.25"#);
    let ends: Vec<String> =
        harness.said().lines().filter(|line| line.starts_with("turn .")).map(str::to_owned).collect();
    insta::assert_snapshot!(ends.join("\n"), @r#"
    turn . "end_turn" model="m" usage={"input_tokens":1,"output_tokens":2,"total_tokens":3} cost=0.5
    turn . "end_turn" model="m" cost=0.25
    turn . "end_turn" model="m" cost=0.25
    "#);
}

#[test]
fn the_cli_takes_any_mode_and_effort_so_they_are_checked_here() {
    let configure =
        |requested: SettingsRequest| Harness::ready().command(&Command::Configure(requested)).said();
    let mode =
        |mode: &str| SettingsRequest { permission_mode: Some(mode.into()), ..SettingsRequest::default() };
    insta::assert_snapshot!(configure(mode("nonsense")), @r#"refused BadMode Claude Code has no mode nonsense; its modes are build, default, acceptEdits, plan, bypass, dontAsk, auto "use one of: default, acceptEdits, plan, bypass, dontAsk, auto""#);
    insta::assert_snapshot!(configure(mode("bypass")), @r#"send {"type":"control_request","request_id":"omniglot-2","request":{"subtype":"set_permission_mode","mode":"bypassPermissions"}}"#);
    let effort = |model: &str| SettingsRequest {
        model: Some(model.into()),
        variant: Some("high".into()),
        ..SettingsRequest::default()
    };
    insta::assert_snapshot!(configure(effort("haiku")), @r#"refused BadMode the model haiku has no efforts, so high cannot be set "leave the variant out, or choose another model""#);
    insta::assert_snapshot!(configure(effort("default")), @r#"
    send {"type":"control_request","request_id":"omniglot-2","request":{"subtype":"set_model"}}
    send {"type":"control_request","request_id":"omniglot-3","request":{"subtype":"apply_flag_settings","settings":{"effortLevel":"high"}}}
    "#);
}

#[test]
fn a_command_that_failed_tells_its_exit_code_in_words() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"false"}}"#);
    harness.said();
    harness.hear(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 3\nno","is_error":true}]},"parent_tool_use_id":null,"tool_use_result":"Error: Exit code 3\nno"}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    call ! call:1:t1 "Exit code 3\nno" error=true exit=3
    "#);
}

#[test]
fn an_edit_that_tells_nothing_but_its_patch_has_a_diff_of_that() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/a"}}"#);
    harness.said();
    harness.hear(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"parent_tool_use_id":null,"tool_use_result":{"filePath":"/a","originalFile":"x\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-x","+y"]}]}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    call . call:1:t1 "ok" error=false parts=[{"type":"file_ref","path":"/a","action":"patch","diff":"--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n+y\n"}]
    "#);
}

#[test]
fn a_block_that_is_not_understood_leaves_the_rest_of_the_message() {
    let mut harness = Harness::prompted();
    harness.says("m1", r#"{"type":"hologram"},{"type":"text","text":"Still here."}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    item + message:1:1 native="m1" message "assistant" []
    item . message:1:1 message "assistant" [{"type":"text","text":"Still here."}]
    unparsed content: unknown kind of block: hologram
    "#);
}
