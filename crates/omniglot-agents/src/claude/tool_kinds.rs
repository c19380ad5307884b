//! The tools of Claude Code: the kind of each, and the arguments that tell the subject of a call.

use omniglot_schema::{ToolKind, ToolSubject};
use serde::Deserialize;

use crate::about::{self, About, arguments, if_fitting, mcp_server, path, text};
use crate::adapter::ToolTable;

/// The names of all tools, of older versions too.
pub(crate) const TOOLS: ToolTable = &[
    // The two task tools read and end what runs in the background.
    (
        ToolKind::Execute,
        &["Bash", "PowerShell", "BashOutput", "KillShell", "Monitor", "TaskOutput", "TaskStop"],
    ),
    (ToolKind::Read, &["Read", "NotebookRead"]),
    (ToolKind::Edit, &["Edit", "MultiEdit", "Write", "NotebookEdit"]),
    (ToolKind::Search, &["Glob", "Grep", "LS", "LSP", "ToolSearch", "WebSearch"]),
    (ToolKind::Fetch, &["WebFetch"]),
    (
        ToolKind::Agent,
        &["Agent", "Task", "SendMessage", "ListAgents", "TeamCreate", "TeamDelete", "Workflow"],
    ),
    (ToolKind::Plan, &["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"]),
    (ToolKind::Mode, &["EnterPlanMode", "ExitPlanMode"]),
    (ToolKind::Mcp, &["ListMcpResourcesTool", "ReadMcpResourceTool"]),
    (ToolKind::Other, &["AskUserQuestion", "StructuredOutput"]),
];

/// Returns the kind of the tool with this name.
pub(crate) fn kind(name: &str) -> ToolKind {
    about::kind(TOOLS, name)
}

/// The arguments of all tools that tell what a call is about.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    #[serde(deserialize_with = "text")]
    command: Option<String>,
    #[serde(deserialize_with = "text")]
    description: Option<String>,
    #[serde(deserialize_with = "text")]
    file_path: Option<String>,
    #[serde(deserialize_with = "text")]
    notebook_path: Option<String>,
    #[serde(deserialize_with = "if_fitting")]
    offset: Option<u64>,
    #[serde(deserialize_with = "text")]
    path: Option<String>,
    #[serde(deserialize_with = "text")]
    pattern: Option<String>,
    #[serde(deserialize_with = "text")]
    query: Option<String>,
    #[serde(deserialize_with = "text")]
    url: Option<String>,
    #[serde(deserialize_with = "text")]
    server: Option<String>,
    /// The title of a task.
    #[serde(deserialize_with = "text")]
    subject: Option<String>,
    /// The short form of a message to another agent.
    #[serde(deserialize_with = "text")]
    summary: Option<String>,
}

/// Returns the kind and the subject of a call with these arguments.
pub(crate) fn about(name: &str, input: &str) -> About {
    let kind = kind(name);
    let input: Arguments = arguments(input);
    let none = ToolSubject::default();
    let subject = match kind {
        ToolKind::Execute => ToolSubject { command: input.command, description: input.description, ..none },
        ToolKind::Read => {
            ToolSubject { paths: path(input.file_path.or(input.notebook_path), input.offset), ..none }
        }
        ToolKind::Edit => ToolSubject { paths: path(input.file_path.or(input.notebook_path), None), ..none },
        ToolKind::Search => {
            ToolSubject { query: input.pattern.or(input.query), paths: path(input.path, None), ..none }
        }
        ToolKind::Fetch => ToolSubject { url: input.url, ..none },
        ToolKind::Agent => ToolSubject { description: input.description.or(input.summary), ..none },
        ToolKind::Plan => ToolSubject { description: input.subject, ..none },
        ToolKind::Mcp => ToolSubject { server: mcp_server(name).map(str::to_owned).or(input.server), ..none },
        ToolKind::Delete | ToolKind::Move | ToolKind::Think | ToolKind::Mode | ToolKind::Other => none,
    };
    About { kind, subject }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::ToolPath;

    use super::*;

    #[test]
    fn every_tool_has_its_kind() {
        let kinds = [
            (ToolKind::Execute, "Bash BashOutput KillShell TaskOutput TaskStop"),
            (ToolKind::Read, "Read NotebookRead"),
            (ToolKind::Edit, "Edit Write MultiEdit NotebookEdit"),
            (ToolKind::Search, "Glob Grep LS ToolSearch WebSearch"),
            (ToolKind::Fetch, "WebFetch"),
            (ToolKind::Agent, "Agent Task SendMessage TeamCreate"),
            (ToolKind::Plan, "TodoWrite TaskCreate TaskUpdate TaskList TaskGet"),
            (ToolKind::Mode, "EnterPlanMode ExitPlanMode"),
            (ToolKind::Mcp, "mcp__demo__echo mcp__a_b__c__d"),
            (ToolKind::Other, "AskUserQuestion StructuredOutput NoSuchTool unknown mcp__demo mcp____x"),
        ];
        for (kind, names) in kinds {
            for name in names.split(' ') {
                assert_eq!(super::kind(name), kind, "{name}");
            }
        }
    }

    #[test]
    fn the_subject_of_a_call_is_read_from_its_arguments() {
        let subject = |name: &str, input: &str| about(name, input).subject;
        let none = ToolSubject::default;
        let bash = subject("Bash", r#"{"command":"ls -l","description":"List","timeout":5}"#);
        let list = ToolSubject { command: Some("ls -l".into()), description: Some("List".into()), ..none() };
        assert_eq!(bash, list);
        let file = |line| vec![ToolPath { path: "/w/a".into(), line }];
        let read = subject("Read", r#"{"file_path":"/w/a","offset":20,"limit":5}"#);
        assert_eq!(read, ToolSubject { paths: file(Some(20)), ..none() });
        let edit = subject("Edit", r#"{"file_path":"/w/a","old_string":"x","new_string":"y"}"#);
        assert_eq!(edit, ToolSubject { paths: file(None), ..none() });
        let cell = subject("NotebookEdit", r#"{"notebook_path":"/w/a","new_source":"x"}"#);
        assert_eq!(cell, ToolSubject { paths: file(None), ..none() });
        let grep = subject("Grep", r#"{"pattern":"fn main","path":"/w/a"}"#);
        assert_eq!(grep, ToolSubject { query: Some("fn main".into()), paths: file(None), ..none() });
        let fetch = subject("WebFetch", r#"{"url":"https://example.org","prompt":"Sum up"}"#);
        assert_eq!(fetch, ToolSubject { url: Some("https://example.org".into()), ..none() });
        let task = subject("TaskCreate", r#"{"subject":"Look","description":"Look at it all"}"#);
        assert_eq!(task, ToolSubject { description: Some("Look".into()), ..none() });
        let mcp = subject("mcp__demo__echo", r#"{"command":"not ours"}"#);
        assert_eq!(mcp, ToolSubject { server: Some("demo".into()), ..none() });
    }
}
