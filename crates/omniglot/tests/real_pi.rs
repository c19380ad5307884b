//! The real Pi in its RPC mode, behind our gate, driven by the daemon against a scripted model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "real_pi/extensions.rs"]
mod extensions;
#[path = "real_pi/gate.rs"]
mod gate;
#[path = "real_pi/mcp.rs"]
mod mcp;
#[path = "real_pi/own.rs"]
mod own;
#[path = "real_pi/process.rs"]
mod process;

use std::path::Path;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const PI: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::anthropic,
    agent: RealAgent::pi,
    shell,
    read: |path: &Path| Reply::tool("read", json!({"path": path})),
    write: |path: &Path, content| Reply::tool("write", json!({"path": path, "content": content})),
    edit: |path: &Path, old, new| {
        Reply::tool("edit", json!({"path": path, "edits": [{"oldText": old, "newText": new}]}))
    },
    mcp_tool: "mcp__tiny__add",
    other_model: ("scripted/other-model", "other-model"),
    make: |path: &Path| shell(&format!("touch {}", path.display())),
    asking_mode: None,
    stops_when_rejected: false,
    tells_steps: true,
    may_lose_output: false,
};

const OLDER_PI: Dialect = Dialect { agent: RealAgent::older_pi, ..PI };

fn shell(command: &str) -> Reply {
    Reply::tool("bash", json!({"command": command}))
}

/// The tests of both versions.
macro_rules! scenarios {
    ($dialect:expr) => {
        real_agent_tests! {
            $dialect;
            text_messages,
            streaming_deltas,
            reasoning,
            several_turns,
            images,
            tool_calls_and_results,
            command_execution,
            file_changes_as_diffs,
            parallel_tools,
            a_fork_may_end_before_a_turn,
            a_skill_of_the_session_is_told_to_the_model,
            an_appended_system_prompt_reaches_the_model,
            a_replaced_system_prompt_reaches_the_model,
            permissions_once,
            permissions_for_the_session,
            permissions_reject,
            errors_rate_limit,
            errors_credentials,
            a_code_block_keeps_its_fences_and_blanks,
            a_refused_request_is_an_api_error,
            errors_context_overflow,
            a_failing_server_is_an_api_error,
            errors_provider,
            errors_broken_stream,
            an_empty_answer_ends_the_turn,
            interrupt,
            interrupt_ends_a_running_command,
            a_terminated_session_stops_its_running_command,
            a_cancel_while_the_agent_asks_rejects_the_request,
            model_switch,
            mode_switch,
            resume_after_a_restart,
        }
        own_tests! {
            $dialect;
            own::exit_codes,
            own::file_attachments,
            own::steering_a_running_turn,
            own::variants_effort,
            own::permissions_reject_with_words,
            own::fork,
            own::compaction,
            extensions::questions,
            extensions::a_question_that_pi_gives_up_is_withdrawn,
            extensions::an_extension_that_fails_is_told_and_the_turn_goes_on,
            extensions::an_extension_that_does_not_load_is_named,
            gate::a_changed_or_deleted_gate_is_written_anew_before_the_next_start,
            gate::a_gate_that_is_deleted_while_pi_runs_still_asks,
            gate::a_gate_that_cannot_be_written_refuses_the_turn,
            process::resume_after_a_crash,
        }
    };
}

/// Makes each named function a test of this version.
macro_rules! own_tests {
    ($dialect:expr; $($module:ident::$test:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $test() {
            $module::$test(&$dialect).await;
        })*
    };
}

scenarios!(PI);
real_agent_tests! { PI; mcp_tools }

/// The same with a version whose end of a turn has to be found.
mod version_0_73 {
    use super::*;

    scenarios!(OLDER_PI);
}
