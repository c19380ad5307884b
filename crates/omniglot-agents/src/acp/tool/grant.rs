//! The pattern that an `always` to a call covers (T11): never more than a person was asked about.

use std::collections::BTreeSet;

use agent_client_protocol_schema::v1::ToolKind;
use omniglot_schema::ContentPart;

use super::Tool;
use super::about::{Arguments, Command};
use crate::about::arguments;
use crate::grant;

impl Tool {
    /// With the tool's name, what the grant is for; without it nothing is remembered. The title says enough only
    /// beside a name: some agents give every edit and every command the same one.
    pub(super) fn pattern(&self) -> Option<String> {
        if self.switches_mode() {
            return None;
        }
        if self.kind == ToolKind::Execute {
            let input = self.arguments.as_deref().unwrap_or_default();
            let command = arguments::<Arguments>(input).command.and_then(Command::pattern);
            let command = command.or_else(|| self.title_of_named())?;
            let paths: Vec<&str> = self.locations.iter().map(|file| file.path.as_str()).collect();
            return Some(grant::pattern(command, &arguments(input), self.directory.as_deref(), &paths));
        }
        let changes_files = matches!(self.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move)
            || !self.content.edits.is_empty();
        if changes_files { self.paths() } else { self.title_of_named() }
    }

    /// Each plan and each mode is a decision of its own.
    pub(super) fn switches_mode(&self) -> bool {
        self.kind == ToolKind::SwitchMode || self.quirks.switches_mode(&self.name())
    }

    /// All files that it touches, one a line.
    fn paths(&self) -> Option<String> {
        let edited = self.content.edits.iter().filter_map(|part| {
            if let ContentPart::FileRef { path, .. } = part { Some(path.as_str()) } else { None }
        });
        let paths: BTreeSet<&str> =
            self.locations.iter().map(|file| file.path.as_str()).chain(edited).collect();
        // A line break in a name would make it look like two.
        let clear = !paths.is_empty() && !paths.iter().any(|path| path.contains('\n'));
        clear.then(|| paths.into_iter().collect::<Vec<_>>().join("\n"))
    }

    fn title_of_named(&self) -> Option<String> {
        let name = self.name_and_arguments().0?;
        Some(self.title.clone().unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::quirks::{CODEX_ACP, GEMINI, NONE, Quirks};
    use super::super::super::update::ToolFields;
    use super::super::{Mention, Tools};

    /// Tool and pattern of a request for this call.
    fn asked(call: &str, quirks: &'static Quirks) -> (String, Option<String>) {
        let mut faults = vec![];
        let call = ToolFields::parse("call", serde_json::from_str(call).unwrap(), &mut faults).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        let (id, mut tools) = (call.id.clone(), Tools::default());
        tools.mention(call, Mention::Request, quirks, &mut vec![]);
        let asked = tools.asked(&id).unwrap();
        (asked.name, asked.pattern)
    }

    fn grant(tool: &str, pattern: &str) -> (String, Option<String>) {
        (tool.to_owned(), Some(pattern.to_owned()))
    }

    #[test]
    fn an_edit_is_granted_for_its_files_whatever_its_title() {
        let two = r#"{"toolCallId":"1","title":"Edit files","kind":"edit","locations":[{"path":"/w/b"},{"path":"/w/a"}],
            "content":[{"type":"diff","path":"/w/a","newText":"x"}]}"#;
        assert_eq!(asked(two, &CODEX_ACP), grant("edit", "/w/a\n/w/b"));
        let diff =
            r#"{"toolCallId":"1","title":"Tidy","content":[{"type":"diff","path":"/w/a","newText":"x"}]}"#;
        assert_eq!(asked(diff, &NONE), grant("other", "/w/a"));
        let unknown = r#"{"toolCallId":"1","title":"Edit files","name":"Write","kind":"edit"}"#;
        assert_eq!(asked(unknown, &NONE), ("Write".to_owned(), None));
        let broken =
            r#"{"toolCallId":"1","title":"Edit files","kind":"edit","locations":[{"path":"/w/a\n/w/b"}]}"#;
        assert_eq!(asked(broken, &NONE), ("edit".to_owned(), None));
    }

    #[test]
    fn a_command_is_granted_word_for_word() {
        let line = r#"{"toolCallId":"1","title":"Shell","kind":"execute","rawInput":{"command":"rm a b"}}"#;
        assert_eq!(asked(line, &NONE), grant("execute", "rm a b"));
        let words =
            r#"{"toolCallId":"1","title":"Shell","kind":"execute","rawInput":{"command":["rm","a b"]}}"#;
        assert_eq!(asked(words, &NONE), grant("execute", r#"["rm","a b"]"#));
        let title = r#"{"toolCallId":"run_shell_command__1","title":"rm a","kind":"execute"}"#;
        assert_eq!(asked(title, &GEMINI), grant("run_shell_command", "rm a"));
        assert_eq!(asked(title, &NONE), ("execute".to_owned(), None));
    }

    #[test]
    fn a_command_is_granted_with_all_that_decides_what_it_does() {
        let call = |more: &str| {
            format!(
                r#"{{"toolCallId":"1","title":"Shell","kind":"execute","rawInput":{{"command":"git status",{more}}}}}"#
            )
        };
        let same = call(r#""description":"Look","timeout":5,"call_id":"7","env":null"#);
        assert_eq!(asked(&same, &NONE), grant("execute", "git status"));
        let more = [
            (r#""cwd":"/elsewhere""#, r#"{"command":"git status","cwd":"/elsewhere"}"#),
            (r#""env":{"GIT_DIR":"/x"}"#, r#"{"command":"git status","env":{"GIT_DIR":"/x"}}"#),
        ];
        for (more, pattern) in more {
            assert_eq!(asked(&call(more), &NONE), grant("execute", pattern));
        }
        let script = call(r#""script":"rm -r .","args":["x"]"#);
        let pattern = r#"{"args":["x"],"command":"git status","script":"rm -r ."}"#;
        assert_eq!(asked(&script, &NONE), grant("execute", pattern));
        let located = r#"{"toolCallId":"1","title":"Shell","kind":"execute","locations":[{"path":"/etc"}],
            "rawInput":{"command":"git status"}}"#;
        assert_eq!(asked(located, &NONE), grant("execute", r#"{"command":"git status","paths":["/etc"]}"#));
    }

    #[test]
    fn another_tool_is_granted_by_its_name_and_title_and_not_without_a_name() {
        let mcp = r#"{"toolCallId":"1","title":"Approve MCP tool call",
            "rawInput":{"server":"tiny","tool":"add","arguments":{}}}"#;
        assert_eq!(asked(mcp, &CODEX_ACP), grant("tiny/add", "Approve MCP tool call"));
        assert_eq!(asked(mcp, &NONE), ("other".to_owned(), None));
    }

    #[test]
    fn a_change_of_mode_is_never_granted() {
        let plan =
            r#"{"toolCallId":"1","title":"Ready to code?","name":"ExitPlanMode","kind":"switch_mode"}"#;
        assert_eq!(asked(plan, &NONE), ("ExitPlanMode".to_owned(), None));
        let plan = r#"{"toolCallId":"exit_plan_mode__1","title":"Requesting plan approval","kind":"other"}"#;
        assert_eq!(asked(plan, &GEMINI), ("exit_plan_mode".to_owned(), None));
    }
}
