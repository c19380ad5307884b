//! The tools of Amp: the kind of each, and the arguments that tell the subject of a call.

use omniglot_schema::{ToolKind, ToolPath, ToolSubject};
use serde::Deserialize;

use crate::about::{self, About, arguments, if_fitting, mcp_server, path, text};
use crate::adapter::ToolTable;

pub(crate) const TOOLS: ToolTable = &[
    (
        ToolKind::Execute,
        &["shell_command", "async_shell_command", "shell_command_status", "shell_command_kill", "Bash"],
    ),
    (ToolKind::Read, &["Read", "read_mcp_resource", "download_thread_file", "download_thread_changes"]),
    (ToolKind::Edit, &["create_file", "edit_file", "apply_patch", "write_file", "undo_edit"]),
    (ToolKind::Search, &["glob", "Grep", "find_thread", "finder"]),
    (ToolKind::Fetch, &["web_search", "read_web_page"]),
    (ToolKind::Agent, &["Task", "oracle", "librarian"]),
];

/// Returns the kind of the tool with this name.
pub(crate) fn kind(name: &str) -> ToolKind {
    about::kind(TOOLS, name)
}

/// Tools that change nothing run without asking. Everything that goes out to the network is asked for.
pub(crate) fn only_reads(name: &str) -> bool {
    matches!(name, "Read" | "Grep" | "glob" | "finder" | "find_thread" | "skill" | "shell_command_status")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    #[serde(deserialize_with = "text")]
    command: Option<String>,
    #[serde(deserialize_with = "text")]
    cmd: Option<String>,
    #[serde(deserialize_with = "text")]
    workdir: Option<String>,
    #[serde(deserialize_with = "text")]
    path: Option<String>,
    #[serde(deserialize_with = "if_fitting")]
    read_range: Vec<u64>,
    #[serde(rename = "patchText", deserialize_with = "text")]
    patch: Option<String>,
    #[serde(deserialize_with = "text")]
    pattern: Option<String>,
    #[serde(rename = "filePattern", deserialize_with = "text")]
    file_pattern: Option<String>,
    #[serde(deserialize_with = "text")]
    query: Option<String>,
    #[serde(deserialize_with = "text")]
    url: Option<String>,
    #[serde(deserialize_with = "text")]
    description: Option<String>,
}

/// Returns the kind and the subject of a call with these arguments.
pub(crate) fn about(name: &str, input: &str) -> About {
    let kind = kind(name);
    let input: Arguments = arguments(input);
    let none = ToolSubject::default();
    let subject = match kind {
        ToolKind::Execute => ToolSubject { command: input.command.or(input.cmd), cwd: input.workdir, ..none },
        ToolKind::Read => ToolSubject { paths: path(input.path, input.read_range.first().copied()), ..none },
        ToolKind::Edit => {
            let patched = input.patch.as_deref().map(patched_files).unwrap_or_default();
            ToolSubject { paths: path(input.path, None).into_iter().chain(patched).collect(), ..none }
        }
        ToolKind::Search => {
            let query = input.pattern.or(input.file_pattern).or(input.query);
            ToolSubject { query, paths: path(input.path, None), ..none }
        }
        ToolKind::Fetch => ToolSubject { query: input.query, url: input.url, ..none },
        ToolKind::Agent => ToolSubject { description: input.description, ..none },
        ToolKind::Mcp => ToolSubject { server: mcp_server(name).map(str::to_owned), ..none },
        ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Think
        | ToolKind::Plan
        | ToolKind::Mode
        | ToolKind::Other => none,
    };
    About { kind, subject }
}

/// Returns the files that a patch names. Amp takes every kind of line break.
fn patched_files(patch: &str) -> Vec<ToolPath> {
    let signs = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let file = |line: &str| {
        let line = line.trim_start();
        signs.iter().find_map(|sign| line.strip_prefix(sign)).map(str::trim).map(ToolPath::new)
    };
    patch.split(['\n', '\r']).filter_map(file).collect()
}
