//! The tools of OpenCode: the kind of each, and the arguments that tell the subject of a call.
//!
//! A tool of an MCP server is named `server_tool`, so it is known by the names of the servers.

use std::collections::BTreeSet;

use omniglot_schema::{ToolKind, ToolPath, ToolSubject};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::PermissionMetadata;
use crate::about::{About, arguments, if_fitting, path, text};
use crate::adapter::{ToolTable, tool_kind};

pub(crate) const TOOLS: ToolTable = &[
    (ToolKind::Execute, &["bash"]),
    (ToolKind::Read, &["read"]),
    (ToolKind::Edit, &["edit", "write", "multiedit", "patch", "apply_patch"]),
    (ToolKind::Search, &["glob", "grep", "list", "lsp", "codesearch", "websearch"]),
    (ToolKind::Fetch, &["webfetch"]),
    (ToolKind::Agent, &["task"]),
    (ToolKind::Plan, &["todowrite", "todoread"]),
    (ToolKind::Mode, &["plan_enter", "plan_exit"]),
    (ToolKind::Other, &["question", "skill", "batch", "invalid", "StructuredOutput"]),
];

/// The names of the MCP servers that OpenCode is configured with.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    names: BTreeSet<String>,
}

impl Servers {
    pub(crate) fn learn(&mut self, names: impl IntoIterator<Item = String>) {
        self.names.extend(names);
    }

    /// Returns the server of a tool. OpenCode replaces the characters that no tool may have in its name.
    fn of_tool(&self, tool: &str) -> Option<&str> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
        let is_of = |server: &&String| {
            let prefix: String = server.chars().map(plain).collect();
            tool.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('_'))
        };
        self.names.iter().filter(is_of).max_by_key(|server| server.len()).map(String::as_str)
    }

    /// Returns the kind of a call, and its subject as far as its arguments are known.
    pub(crate) fn about(&self, tool: &str, input: Option<&RawValue>) -> About {
        match (tool_kind(TOOLS, tool), self.of_tool(tool)) {
            (Some(kind), _) => About { kind, subject: subject(kind, input.map_or("", RawValue::get)) },
            (None, Some(server)) => {
                let subject = ToolSubject { server: Some(server.to_owned()), ..ToolSubject::default() };
                About { kind: ToolKind::Mcp, subject }
            }
            (None, None) => About::of(ToolKind::Other),
        }
    }

    /// Returns the kind and the subject of what a permission is asked for; most permissions have the name of a tool.
    pub(crate) fn about_request(&self, permission: &str, metadata: &PermissionMetadata) -> About {
        let mut about = self.about(permission, None);
        about.subject.command.clone_from(&metadata.command);
        about.subject.paths = path(metadata.filepath.clone(), None);
        about
    }
}

/// The arguments of all tools that tell what a call is about.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Arguments {
    #[serde(deserialize_with = "text")]
    command: Option<String>,
    #[serde(deserialize_with = "text")]
    workdir: Option<String>,
    #[serde(deserialize_with = "text")]
    description: Option<String>,
    #[serde(deserialize_with = "text")]
    file_path: Option<String>,
    #[serde(deserialize_with = "if_fitting")]
    offset: Option<u64>,
    #[serde(deserialize_with = "text")]
    patch_text: Option<String>,
    #[serde(deserialize_with = "text")]
    path: Option<String>,
    #[serde(deserialize_with = "text")]
    pattern: Option<String>,
    #[serde(deserialize_with = "text")]
    query: Option<String>,
    #[serde(deserialize_with = "text")]
    url: Option<String>,
}

fn subject(kind: ToolKind, input: &str) -> ToolSubject {
    let input: Arguments = arguments(input);
    let none = ToolSubject::default();
    match kind {
        ToolKind::Execute => {
            ToolSubject { command: input.command, cwd: input.workdir, description: input.description, ..none }
        }
        ToolKind::Read => ToolSubject { paths: path(input.file_path, input.offset), ..none },
        ToolKind::Edit => match input.patch_text {
            Some(patch) => ToolSubject { paths: patched(&patch), ..none },
            None => ToolSubject { paths: path(input.file_path, None), ..none },
        },
        ToolKind::Search => ToolSubject {
            query: input.pattern.or(input.query),
            paths: path(input.path.or(input.file_path), None),
            ..none
        },
        ToolKind::Fetch => ToolSubject { url: input.url, ..none },
        ToolKind::Agent => ToolSubject { description: input.description, ..none },
        ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Think
        | ToolKind::Plan
        | ToolKind::Mode
        | ToolKind::Mcp
        | ToolKind::Other => none,
    }
}

/// Returns the files that the headers of a patch name.
fn patched(patch: &str) -> Vec<ToolPath> {
    const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let file = |line: &str| HEADERS.iter().find_map(|header| line.strip_prefix(header).map(str::to_owned));
    patch.lines().filter_map(file).map(|path| ToolPath::new(path.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(tool: &str, input: &str) -> String {
        let mut servers = Servers::default();
        servers.learn(["demo".to_owned(), "demo_two".to_owned(), "a b".to_owned()]);
        let input: Box<RawValue> = serde_json::from_str(input).unwrap();
        let about = servers.about(tool, Some(&input));
        let kind = serde_json::to_string(&about.kind).unwrap();
        format!("{kind} {}", serde_json::to_string(&about.subject).unwrap())
    }

    #[test]
    fn every_tool_has_its_kind() {
        let kinds = [
            (ToolKind::Execute, "bash"),
            (ToolKind::Read, "read"),
            (ToolKind::Edit, "edit write apply_patch"),
            (ToolKind::Search, "glob grep list websearch"),
            (ToolKind::Fetch, "webfetch"),
            (ToolKind::Agent, "task"),
            (ToolKind::Plan, "todowrite"),
            (ToolKind::Mode, "plan_exit"),
            (ToolKind::Other, "question StructuredOutput no_such_tool demo_echo"),
        ];
        for (kind, names) in kinds {
            for name in names.split(' ') {
                assert_eq!(Servers::default().about(name, None), About::of(kind), "{name}");
            }
        }
    }

    #[test]
    fn a_tool_of_an_mcp_server_is_known_by_the_name_of_the_server() {
        assert_eq!(about("demo_echo_upper", r#"{"command":"x"}"#), r#""mcp" {"server":"demo"}"#);
        assert_eq!(about("demo_two_echo", "{}"), r#""mcp" {"server":"demo_two"}"#);
        assert_eq!(about("a_b_echo", "{}"), r#""mcp" {"server":"a b"}"#);
        assert_eq!(about("demonstrate", "{}"), r#""other" {}"#);
    }

    #[test]
    fn the_subject_of_a_call_is_read_from_its_arguments() {
        let bash = about("bash", r#"{"command":"ls","workdir":"/w/a","description":"List","timeout":5}"#);
        assert_eq!(bash, r#""execute" {"command":"ls","cwd":"/w/a","description":"List"}"#);
        let read = about("read", r#"{"filePath":"/w/a","offset":20}"#);
        assert_eq!(read, r#""read" {"paths":[{"path":"/w/a","line":20}]}"#);
        let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** End Patch";
        let patch = about("apply_patch", &serde_json::json!({ "patchText": patch }).to_string());
        assert_eq!(patch, r#""edit" {"paths":[{"path":"a.txt"},{"path":"b.txt"}]}"#);
        let grep = about("grep", r#"{"pattern":"fn","path":"src"}"#);
        assert_eq!(grep, r#""search" {"paths":[{"path":"src"}],"query":"fn"}"#);
        assert_eq!(about("webfetch", r#"{"url":"https://a"}"#), r#""fetch" {"url":"https://a"}"#);
        let task = about("task", r#"{"description":"Count","prompt":"Count the lines"}"#);
        assert_eq!(task, r#""agent" {"description":"Count"}"#);
        assert_eq!(about("read", r#"["/w/a"]"#), r#""read" {}"#);
    }
}
