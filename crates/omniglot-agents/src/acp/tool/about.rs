//! The kind and the subject of a call: its locations, and the arguments that most agents name alike.

use omniglot_schema::{ContentPart, ToolKind, ToolPath, ToolSubject};
use serde::Deserialize;

use super::Tool;
use crate::about::{About, arguments, if_fitting, path, text};
use crate::acp::auth::quoted;
use crate::acp::tool_kinds;

/// The protocol leaves the arguments to the agent; these are the names that agents use.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Arguments {
    #[serde(deserialize_with = "if_fitting")]
    pub(super) command: Option<Command>,
    #[serde(deserialize_with = "text")]
    cwd: Option<String>,
    #[serde(deserialize_with = "text")]
    description: Option<String>,
    #[serde(deserialize_with = "text")]
    path: Option<String>,
    #[serde(deserialize_with = "text")]
    file_path: Option<String>,
    #[serde(deserialize_with = "text")]
    query: Option<String>,
    #[serde(deserialize_with = "text")]
    pattern: Option<String>,
    #[serde(deserialize_with = "text")]
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Command {
    Line(String),
    Words(Vec<String>),
}

impl Command {
    fn line(self) -> Option<String> {
        let line = match self {
            Self::Line(line) => line,
            Self::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        (!line.trim().is_empty()).then_some(line)
    }

    /// Returns the command as a grant is for it: joined, `rm "a b"` would be `rm a b`.
    pub(super) fn pattern(self) -> Option<String> {
        match self {
            Self::Line(line) => (!line.trim().is_empty()).then_some(line),
            Self::Words(words) if words.is_empty() => None,
            Self::Words(words) => serde_json::to_string(&words).ok(),
        }
    }
}

impl Tool {
    pub(super) fn about(&self) -> About {
        let raw = self.arguments.as_deref().unwrap_or_default();
        if let Some(call) = self.quirks.mcp_call(raw).filter(|_| self.name.is_none()) {
            let subject = ToolSubject { server: Some(call.server), ..ToolSubject::default() };
            return About { kind: ToolKind::Mcp, subject };
        }
        let kind = tool_kinds::kind(self.kind, self.name.as_deref(), self.quirks);
        let subject = match kind {
            ToolKind::Mcp => {
                let name = self.name.as_deref().unwrap_or_default();
                let server = self.quirks.mcp_server(name, self.title.as_deref()).map(str::to_owned);
                ToolSubject { server, ..ToolSubject::default() }
            }
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Execute
            | ToolKind::Fetch
            | ToolKind::Think
            | ToolKind::Plan
            | ToolKind::Agent
            | ToolKind::Mode
            | ToolKind::Other => self.subject(arguments(raw)),
        };
        About { kind, subject }.in_session_of(self.directory.as_deref())
    }

    fn subject(&self, told: Arguments) -> ToolSubject {
        ToolSubject {
            command: told.command.and_then(Command::line).or_else(|| self.command_in_title()),
            cwd: told.cwd,
            paths: self.files(told.path.or(told.file_path)),
            query: told.query.or(told.pattern),
            url: told.url,
            server: None,
            description: told.description,
        }
    }

    fn command_in_title(&self) -> Option<String> {
        let runs = tool_kinds::kind(self.kind, self.name.as_deref(), self.quirks) == ToolKind::Execute;
        self.title.clone().filter(|_| runs && self.quirks.repairs.command_in_title)
    }

    /// Returns the locations of the call; without any, the files that it changes or names.
    fn files(&self, named: Option<String>) -> Vec<ToolPath> {
        if !self.locations.is_empty() {
            return self.locations.clone();
        }
        let edited = self.content.edits.iter().filter_map(|part| {
            if let ContentPart::FileRef { path, .. } = part { Some(ToolPath::new(path)) } else { None }
        });
        let edited: Vec<ToolPath> = edited.collect();
        if edited.is_empty() { path(named, None) } else { edited }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::quirks::{CODEX_ACP, GEMINI, NONE, QWEN, Quirks};
    use super::super::super::update::ToolFields;
    use super::super::Tool;

    fn about(call: &str, quirks: &'static Quirks) -> String {
        let mut faults = vec![];
        let call = ToolFields::parse("call", serde_json::from_str(call).unwrap(), &mut faults).unwrap();
        let mut tool = Tool::new(&call, 1, 1, quirks);
        tool.directory = Some("/w".to_owned());
        tool.learn(call, super::super::Mention::Announcement, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        let about = tool.about();
        let kind = serde_json::to_string(&about.kind).unwrap();
        format!("{kind} {}", serde_json::to_string(&about.subject).unwrap())
    }

    fn name(call: &str, quirks: &'static Quirks) -> String {
        let call = ToolFields::parse("call", serde_json::from_str(call).unwrap(), &mut vec![]).unwrap();
        Tool::new(&call, 1, 1, quirks).name()
    }

    #[test]
    fn locations_are_the_paths_of_a_call() {
        let read = r#"{"toolCallId":"1","kind":"read","locations":[{"path":"/w/a","line":7},{"path":"/w/b"}],
            "rawInput":{"path":"a"}}"#;
        insta::assert_snapshot!(about(read, &NONE), @r#""read" {"paths":[{"path":"/w/a","line":7},{"path":"/w/b"}]}"#);
        let named = r#"{"toolCallId":"1","kind":"read","locations":[],"rawInput":{"file_path":"/w/a"}}"#;
        insta::assert_snapshot!(about(named, &NONE), @r#""read" {"paths":[{"path":"/w/a"}]}"#);
        let edit =
            r#"{"toolCallId":"1","kind":"edit","content":[{"type":"diff","path":"/w/a","newText":"x"}]}"#;
        insta::assert_snapshot!(about(edit, &CODEX_ACP), @r#""edit" {"paths":[{"path":"/w/a"}]}"#);
    }

    #[test]
    fn the_command_of_a_call_is_a_line_that_a_shell_takes() {
        let words = r#"{"toolCallId":"1","kind":"execute","rawInput":{"command":["bash","-lc","ls \"a b\""],"cwd":"/w"}}"#;
        insta::assert_snapshot!(about(words, &NONE), @r#""execute" {"command":"bash -lc 'ls \"a b\"'"}"#);
        let line = r#"{"toolCallId":"1","kind":"execute","rawInput":{"command":"ls","cwd":"/elsewhere","description":"List"}}"#;
        insta::assert_snapshot!(about(line, &NONE), @r#""execute" {"command":"ls","cwd":"/elsewhere","description":"List"}"#);
        let title = r#"{"toolCallId":"run_shell_command__1","title":"rm a","kind":"execute"}"#;
        insta::assert_snapshot!(about(title, &GEMINI), @r#""execute" {"command":"rm a"}"#);
        insta::assert_snapshot!(about(title, &NONE), @r#""execute" {}"#);
    }

    #[test]
    fn a_call_of_an_mcp_tool_tells_its_server_alone() {
        let codex = r#"{"toolCallId":"1","rawInput":{"server":"tiny","tool":"add","arguments":{"url":"x"}}}"#;
        insta::assert_snapshot!(about(codex, &CODEX_ACP), @r#""mcp" {"server":"tiny"}"#);
        let gemini = r#"{"toolCallId":"mcp_tiny_add__1","title":"add (tiny MCP Server)","kind":"other"}"#;
        insta::assert_snapshot!(about(gemini, &GEMINI), @r#""mcp" {"server":"tiny"}"#);
    }

    #[test]
    fn qwen_names_its_tools_in_the_extensions_of_a_call() {
        let call = |tool: &str, provenance: &str, kind: &str| {
            format!(
                r#"{{"toolCallId":"call_1","status":"pending","title":"a title","content":[],"locations":[],
                "kind":"{kind}","rawInput":{{"description":"Look"}},"_meta":{{"toolName":"{tool}",{provenance}}}}}"#
            )
        };
        let add = call("mcp__tiny__add", r#""provenance":"mcp","serverId":"tiny""#, "other");
        assert_eq!(name(&add, &QWEN), "mcp__tiny__add");
        insta::assert_snapshot!(about(&add, &QWEN), @r#""mcp" {"server":"tiny"}"#);
        let in_subagent =
            call("mcp__tiny__add", r#""provenance":"subagent","parentToolCallId":"c""#, "other");
        insta::assert_snapshot!(about(&in_subagent, &QWEN), @r#""mcp" {"server":"tiny"}"#);
        let read = call("read_file", r#""provenance":"builtin""#, "read");
        assert_eq!(name(&read, &QWEN), "read_file");
        insta::assert_snapshot!(about(&read, &QWEN), @r#""read" {"description":"Look"}"#);
        let agent = call("agent", r#""provenance":"builtin","subagentSessionReady":false"#, "other");
        insta::assert_snapshot!(about(&agent, &QWEN), @r#""agent" {"description":"Look"}"#);
    }
}
