//! The scenarios that every real agent must pass: each is a test of each agent that supports it.
//!
//! An agent's names for common tools are its [`Dialect`]; features of only one agent are tested in its own
//! test file.

mod control;
mod errors;
mod permissions;
mod talk;
mod tools;

use std::path::Path;

use omniglot_schema::CreateSessionRequest;

pub use self::control::{
    a_cancel_stops_a_running_command, a_cancel_while_the_agent_asks_rejects_the_request,
    a_cancelled_command_ends_with_its_agent, a_cancelled_turn_ends_and_the_next_prompt_works,
    a_terminated_session_stops_its_running_command, another_mode_holds_for_the_next_prompt,
    another_model_is_asked_from_then_on, the_agent_remembers_after_a_restart_of_the_daemon,
};
pub use self::errors::{
    a_broken_stream_ends_the_turn_with_an_error, a_failing_server_is_an_api_error,
    a_key_that_is_refused_is_a_matter_of_auth, a_prompt_that_is_too_long_is_an_overflow,
    a_refused_request_is_an_api_error, a_throttled_request_is_a_rate_limit, an_empty_answer_ends_the_turn,
    an_overloaded_server_is_an_api_error,
};
pub use self::permissions::{
    a_permission_for_ever_is_asked_once, a_permission_once_is_asked_again, a_rejected_tool_does_not_run,
    a_rejected_tool_ends_the_turn,
};
pub use self::talk::{
    an_image_reaches_the_model, text_is_streamed, the_next_prompt_follows_the_first,
    thoughts_are_items_of_their_own,
};
pub use self::tools::{
    a_file_is_read_and_really_edited, a_shell_command_runs, parallel_tools_all_get_their_results,
    tools_of_an_mcp_server_run,
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
}

impl Dialect {
    /// Opens a session whose model follows this script.
    pub async fn fixture(&self, replies: impl IntoIterator<Item = Reply>) -> Fixture {
        self.stage_with(replies, |_| {}).await
    }

    /// Opens a session in which tools ask for permission.
    pub async fn asking_stage(&self) -> Fixture {
        self.stage_with([], |request| request.permission_mode = self.asking_mode.map(str::to_owned)).await
    }

    pub async fn stage_with(
        &self,
        replies: impl IntoIterator<Item = Reply>,
        wishes: impl FnOnce(&mut CreateSessionRequest),
    ) -> Fixture {
        let script = replies.into_iter().fold((self.script)(), Script::reply);
        Fixture::open_with(self.program, script, self.agent, wishes).await
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
