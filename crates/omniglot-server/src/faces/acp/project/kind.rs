//! What a tool call is about, read from its name and arguments: ACP shows kind, title and files.
//!
//! The agents' tools are known by name alone, so this is a hint for icons and links, never for decisions.

use agent_client_protocol_schema::v1::{ToolCallLocation, ToolKind};
use serde::Deserialize;

/// The names of tools, in lower case and without separators, as the agents spell them.
const KINDS: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Execute,
        &[
            "bash",
            "shell",
            "execute",
            "execcommand",
            "runshellcommand",
            "writestdin",
            "bashoutput",
            "killshell",
        ],
    ),
    (ToolKind::Read, &["read", "readfile", "readmanyfiles", "view", "viewimage", "notebookread"]),
    (
        ToolKind::Edit,
        &["edit", "write", "writefile", "multiedit", "replace", "patch", "applypatch", "notebookedit"],
    ),
    (ToolKind::Delete, &["delete", "deletefile"]),
    (ToolKind::Move, &["move", "movefile", "rename"]),
    (
        ToolKind::Search,
        &["search", "grep", "glob", "ls", "list", "listdirectory", "searchfilecontent", "codesearch"],
    ),
    (ToolKind::Fetch, &["fetch", "webfetch", "websearch", "googlewebsearch"]),
    (
        ToolKind::Think,
        &[
            "think",
            "task",
            "agent",
            "spawnagent",
            "invokeagent",
            "todowrite",
            "writetodos",
            "updateplan",
            "taskcreate",
            "taskupdate",
        ],
    ),
    (ToolKind::SwitchMode, &["switchmode", "enterplanmode", "exitplanmode", "planenter", "planexit"]),
];

pub(super) fn of_name(name: &str) -> ToolKind {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let found = KINDS.iter().find(|(_, names)| names.contains(&plain.as_str()));
    found.map_or(ToolKind::Other, |(kind, _)| *kind)
}

/// The arguments that most tools share, under the names that agents give them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Arguments {
    #[serde(default, alias = "cmd")]
    command: Option<Command>,
    #[serde(
        default,
        alias = "file_path",
        alias = "filePath",
        alias = "absolute_path",
        alias = "notebook_path"
    )]
    path: Option<String>,
    #[serde(default, alias = "offset")]
    line: Option<u32>,
    #[serde(default, alias = "query")]
    pattern: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Command {
    Line(String),
    Words(Vec<String>),
}

impl Arguments {
    /// Whatever of them can be read.
    pub(super) fn of(input: Option<&serde_json::Value>) -> Self {
        input.and_then(|input| Self::deserialize(input).ok()).unwrap_or_default()
    }

    /// The tool's name and what it works on, for a call that has no title of its own.
    pub(super) fn title(&self, name: &str) -> String {
        let command = self.command.as_ref().map(|command| match command {
            Command::Line(line) => line.clone(),
            Command::Words(words) => words.join(" "),
        });
        let about = command.as_ref().or(self.path.as_ref()).or(self.pattern.as_ref());
        match about.or(self.description.as_ref()).filter(|about| !about.is_empty()) {
            Some(about) => format!("{name}: {about}"),
            None => name.to_owned(),
        }
    }

    pub(super) fn location(&self) -> Option<ToolCallLocation> {
        let path = self.path.as_ref().filter(|path| !path.is_empty())?;
        Some(ToolCallLocation::new(path).line(self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_known_however_its_agent_spells_it() {
        for name in ["apply_patch", "Write", "write_file", "multi-edit"] {
            assert_eq!(of_name(name), ToolKind::Edit, "{name}");
        }
        assert_eq!(of_name("mcp__labtools__write"), ToolKind::Other);
    }

    #[test]
    fn a_call_without_a_title_is_named_by_what_it_works_on() {
        let title = |input: serde_json::Value| Arguments::of(Some(&input)).title("t");
        assert_eq!(title(serde_json::json!({"cmd": ["ls", "-l"]})), "t: ls -l");
        assert_eq!(title(serde_json::json!({"filePath": "/a"})), "t: /a");
        assert_eq!(title(serde_json::json!([1])), "t");
    }
}
