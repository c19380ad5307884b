//! The scenarios that every real agent must pass: each is a test of each agent that supports it.
//!
//! A scenario that proves a feature has the name of the feature's row in the README's table, so that a test of
//! that name is what `cargo xtask matrix` marks the row with; the other names are sentences.
//!
//! An agent's names for common tools are its [`Dialect`]; features of only one agent are tested in its own
//! test file.

mod control;
mod errors;
mod forks;
mod instructions;
mod permissions;
mod skills;
mod talk;
mod tools;

use std::path::Path;

use omniglot_schema::CreateSessionRequest;

pub use self::control::{
    a_cancel_while_the_agent_asks_rejects_the_request, a_cancelled_command_ends_with_its_agent,
    a_terminated_session_makes_no_more_calls_of_the_model, a_terminated_session_stops_its_running_command,
    interrupt, interrupt_ends_a_running_command, mode_switch, model_switch, resume_after_a_restart,
};
pub use self::errors::{
    a_failing_server_is_an_api_error, a_model_that_refuses_is_a_refusal, a_refused_request_is_an_api_error,
    an_empty_answer_ends_the_turn, errors_broken_stream, errors_context_overflow, errors_credentials,
    errors_provider, errors_rate_limit,
};
pub use self::forks::a_fork_may_end_before_a_turn;
pub use self::instructions::{
    a_replaced_system_prompt_reaches_the_model, an_appended_system_prompt_reaches_the_model,
};
pub use self::permissions::{permissions_for_the_session, permissions_once, permissions_reject};
pub use self::skills::a_skill_of_the_session_is_told_to_the_model;
pub use self::talk::{
    a_code_block_keeps_its_fences_and_blanks, images, reasoning, several_turns, streaming_deltas,
    text_messages,
};
pub use self::tools::{
    command_execution, file_changes_as_diffs, mcp_tools, parallel_tools, tool_calls_and_results,
};

use crate::agents::RealAgent;
use crate::fixture::Fixture;
use crate::models::{Model, Reply, Script};

/// An agent's calls of the tools that all agents have.
#[derive(Clone, Copy)]
pub struct Dialect {
    /// The daemon's program.
    pub program: &'static str,
    pub script: fn() -> Script,
    pub agent: fn(&Model) -> RealAgent,
    /// Runs a shell command.
    pub shell: fn(&str) -> Reply,
    pub read: fn(&Path) -> Reply,
    /// Writes a new file.
    pub write: fn(&Path, &str) -> Reply,
    /// Replaces a text in a file.
    pub edit: fn(&Path, &str, &str) -> Reply,
    /// The name of the tool `add` of the MCP server `tiny`.
    pub mcp_tool: &'static str,
    /// A model other than the initial one: the clients' name for it, and the provider's.
    pub other_model: (&'static str, &'static str),
    /// Writes a file by a tool that asks for permission, in a session of `asking_mode`.
    pub make: fn(&Path) -> Reply,
    pub asking_mode: Option<&'static str>,
    /// A rejected permission ends the turn.
    pub stops_when_rejected: bool,
    /// The agent tells each of its calls of the model.
    pub tells_steps: bool,
    /// The agent may answer for a command before it has read all of its output, and then its model never gets it.
    pub may_lose_output: bool,
}

impl Dialect {
    /// Opens a session whose model follows this script.
    pub async fn fixture(&self, replies: impl IntoIterator<Item = Reply>) -> Fixture {
        self.fixture_with(replies, |_| {}).await
    }

    /// Opens a session in which tools ask for permission.
    pub async fn asking_fixture(&self) -> Fixture {
        self.fixture_with([], |request| request.permission_mode = self.asking_mode.map(str::to_owned)).await
    }

    pub async fn fixture_with(
        &self,
        replies: impl IntoIterator<Item = Reply>,
        requested: impl FnOnce(&mut CreateSessionRequest),
    ) -> Fixture {
        let script = replies.into_iter().fold((self.script)(), Script::reply);
        Fixture::open_with(self.program, script, self.agent, requested).await
    }
}

/// Makes each named scenario a test of this agent.
#[macro_export]
macro_rules! real_agent_tests {
    ($dialect:expr; $($scenario:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $scenario() {
            $crate::scenarios::$scenario(&$dialect).await;
        })*
    };
}
