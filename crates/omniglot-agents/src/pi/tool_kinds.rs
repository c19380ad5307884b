//! The tools of Pi: the kind of each, and the arguments that tell the subject of a call.

use omniglot_schema::{ToolKind, ToolSubject};
use serde::Deserialize;

use crate::about::{self, About, arguments, if_fitting, mcp_server, path, text};
use crate::adapter::ToolTable;

pub(crate) const TOOLS: ToolTable = &[
    (ToolKind::Execute, &["bash", "codemode"]),
    (ToolKind::Read, &["read"]),
    (ToolKind::Edit, &["edit", "write"]),
    (ToolKind::Search, &["grep", "find", "ls"]),
];

/// Returns the kind of the tool with this name.
pub(crate) fn kind(name: &str) -> ToolKind {
    about::kind(TOOLS, name)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    #[serde(deserialize_with = "text")]
    command: Option<String>,
    #[serde(deserialize_with = "text")]
    path: Option<String>,
    #[serde(deserialize_with = "if_fitting")]
    offset: Option<u64>,
    #[serde(deserialize_with = "text")]
    pattern: Option<String>,
}

/// Returns the kind and the subject of a call with these arguments.
pub(crate) fn about(name: &str, input: &str) -> About {
    let kind = kind(name);
    let input: Arguments = arguments(input);
    let none = ToolSubject::default();
    let subject = match kind {
        ToolKind::Execute => ToolSubject { command: input.command, ..none },
        ToolKind::Read => ToolSubject { paths: path(input.path, input.offset), ..none },
        ToolKind::Edit => ToolSubject { paths: path(input.path, None), ..none },
        ToolKind::Search => ToolSubject { query: input.pattern, paths: path(input.path, None), ..none },
        ToolKind::Mcp => ToolSubject { server: mcp_server(name).map(str::to_owned), ..none },
        ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Fetch
        | ToolKind::Think
        | ToolKind::Plan
        | ToolKind::Agent
        | ToolKind::Mode
        | ToolKind::Other => none,
    };
    About { kind, subject }
}
