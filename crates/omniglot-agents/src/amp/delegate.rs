//! The words between the daemon and the delegate, which Amp starts before a tool runs and asks by its exit code.
//!
//! The delegate is Omniglot's own program, started by a link with this name, since Amp passes no arguments. It gets
//! the input of the tool on stdin and the name of the tool in a variable.

use serde::{Deserialize, Serialize};

/// The name of the link by which Amp starts the delegate.
pub const PROGRAM: &str = "omniglot-amp-delegate";
/// The variable with the path of the daemon's socket. Variables of the daemon itself do not reach an agent, so it
/// has another prefix.
pub const SOCKET: &str = "AMP_OMNIGLOT_SOCKET";
/// The variable in which Amp names the tool.
pub const TOOL: &str = "AGENT_TOOL_NAME";

/// The exit code that allows the tool.
const ALLOW: u8 = 0;
/// The exit code that rejects it, with the reason on stderr. 1 would mean "ask", which nobody could answer.
pub const REJECT: u8 = 2;

/// The question: may this tool run with this input?
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    pub tool: String,
    /// JSON text.
    pub input: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub exit_code: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl Answer {
    pub fn allow() -> Self {
        Self { exit_code: ALLOW, stderr: String::new() }
    }

    pub fn reject(words: impl Into<String>) -> Self {
        Self { exit_code: REJECT, stderr: words.into() }
    }

    pub(crate) fn line(&self) -> String {
        // It has no member that cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}
