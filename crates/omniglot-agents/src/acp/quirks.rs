//! The peculiarities of single ACP agents, as data: one file per agent that was recorded.
//!
//! A set is chosen by the agent's name in the registry or in the configuration, else by the agent's own name
//! in the handshake. Each entry was seen in a recording; an agent without a set is taken at its word. Nothing
//! here acts: the modules that read a field implement it.

pub mod claude_acp;
pub mod codex_acp;
pub mod copilot;
pub mod gemini;
mod mcp_tools;
pub mod qwen;

pub use claude_acp::CLAUDE_ACP;
pub use codex_acp::CODEX_ACP;
pub use copilot::COPILOT;
pub use gemini::GEMINI;
pub use mcp_tools::McpNames;
pub use qwen::QWEN;

use jiff::{SignedDuration, Timestamp};
use omniglot_schema::{AgentCapabilities, StatusLabel, ToolKind};

use crate::acp::adapter::UNVERIFIED;
use crate::adapter::{ToolTable, tool_kind};
use crate::launch::Start;

/// Every set that has a name.
pub const ALL: &[&Quirks] = &[&GEMINI, &QWEN, &COPILOT, &CLAUDE_ACP, &CODEX_ACP];

/// The set of an agent that was never recorded.
pub const NONE: Quirks = Quirks {
    name: "none",
    calls_itself: &[],
    start: Start::NONE,
    offers: Offers { read_files: true, write_files: true, terminals: true, forms: true },
    permission_modes: &[],
    resume: Resumable::Anytime,
    capabilities: UNVERIFIED,
    tools: &[],
    repairs: Repairs::NONE,
};

/// The peculiarities of one agent.
#[derive(Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The name of this set, which is also the agent's in the registry.
    pub name: &'static str,
    /// The names that the agent gives itself in the handshake.
    pub calls_itself: &'static [&'static str],
    pub start: Start,
    pub offers: Offers,
    /// Our permission modes that the agent has under another name, each with that name.
    pub permission_modes: &'static [(&'static str, &'static str)],
    pub resume: Resumable,
    /// The capabilities that no handshake tells.
    pub capabilities: AgentCapabilities,
    /// The kinds of its tools, as far as they are known by name: it has no word for some of them.
    pub tools: ToolTable,
    pub repairs: Repairs,
}

/// The host duties that we offer to the agent; it does the others itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offers {
    pub read_files: bool,
    pub write_files: bool,
    pub terminals: bool,
    /// Elicitation: without it some agents have no tool to ask with.
    pub forms: bool,
}

/// The time from which an earlier session may be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumable {
    Anytime,
    /// Not in the UTC minute in which it was created.
    AfterItsMinute,
}

/// Data that the agent sends in an unusual form, and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repairs {
    /// A call's id is `<tool>__<call>`, and the tool's name occurs nowhere else.
    pub tool_name_in_call_id: bool,
    /// A load is answered before the whole history was sent, and nothing marks its end.
    pub late_replay: bool,
    /// Each chunk of thought is a whole thought, with no separator between two.
    pub whole_thoughts: bool,
    /// A chunk of thought that is exactly this precedes each thought.
    pub thought_break: Option<&'static str>,
    /// A chunk of assistant text with this prefix names the agent's new mode.
    pub mode_announcement: Option<&'static str>,
    /// A chunk of assistant text without a message id that has this prefix is a notice of the agent.
    pub notices: &'static [&'static str],
    /// A chunk with this prefix reports the compaction of the context.
    pub compaction_texts: &'static [&'static str],
    /// A call with this title is the compaction of the context.
    pub compaction_call: Option<&'static str>,
    /// The output of a command that failed begins with this and the exit code.
    pub exit_code_line: Option<&'static str>,
    /// The text of a permission request is the arguments of the call, if it is a JSON object.
    pub arguments_in_request: bool,
    /// The arguments of an MCP tool's call are `{server, tool, arguments}`, and the call has no name.
    pub mcp_in_arguments: bool,
    /// Methods with this prefix are the agent's own, though they lack the underscore of extensions.
    pub own_methods: &'static [&'static str],
    /// Options of kind `allow_always` that allow more than requested, or for longer than the session.
    pub too_wide_options: &'static [&'static str],
    /// The form of the names of MCP tools.
    pub mcp_names: Option<McpNames>,
    /// The title of a command's call is the command, and it is told nowhere else.
    pub command_in_title: bool,
    /// Nothing more is said about a call that was rejected.
    pub silent_rejections: bool,
}

impl Repairs {
    const NONE: Self = Self {
        silent_rejections: false,
        tool_name_in_call_id: false,
        late_replay: false,
        whole_thoughts: false,
        thought_break: None,
        mode_announcement: None,
        notices: &[],
        compaction_texts: &[],
        compaction_call: None,
        exit_code_line: None,
        arguments_in_request: false,
        mcp_in_arguments: false,
        own_methods: &[],
        too_wide_options: &[],
        mcp_names: None,
        command_in_title: false,
    };
}

impl Default for &'static Quirks {
    fn default() -> Self {
        &NONE
    }
}

impl Quirks {
    /// Returns the set with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|quirks| quirks.name == name)
    }

    /// Returns the set of an agent that gives itself this name.
    pub(crate) fn of_agent(called: &str) -> &'static Self {
        ALL.iter().copied().find(|quirks| quirks.calls_itself.contains(&called)).unwrap_or(&NONE)
    }

    /// Returns the time from which a session that began at `created` may be loaded; `None` for at once.
    pub fn resumable_from(&self, created: Timestamp) -> Option<Timestamp> {
        const MINUTE: i64 = 60;
        match self.resume {
            Resumable::Anytime => None,
            Resumable::AfterItsMinute => {
                let into_minute = created.as_second().rem_euclid(MINUTE);
                let rest = SignedDuration::from_secs(MINUTE - into_minute);
                Timestamp::from_second(created.as_second()).ok()?.checked_add(rest).ok()
            }
        }
    }

    pub(crate) fn tool_name(&self, call_id: &str) -> Option<String> {
        let (name, _) = call_id.split_once("__").filter(|_| self.repairs.tool_name_in_call_id)?;
        (!name.is_empty()).then(|| name.to_owned())
    }

    pub(crate) fn is_own_method(&self, method: &str) -> bool {
        self.repairs.own_methods.iter().any(|own| method.starts_with(own))
    }

    /// Returns the text of a permission request if it is the arguments of the call.
    pub(crate) fn arguments_in(&self, text: &str) -> Option<String> {
        let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
        (self.repairs.arguments_in_request && object.is_ok()).then(|| text.to_owned())
    }

    pub(crate) fn allows_too_much(&self, option: &str) -> bool {
        self.repairs.too_wide_options.contains(&option)
    }

    pub(crate) fn switches_mode(&self, tool: &str) -> bool {
        tool_kind(self.tools, tool) == Some(ToolKind::Mode)
    }

    pub(crate) fn announced_mode<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mode = text.strip_prefix(self.repairs.mode_announcement?)?;
        let is_word = !mode.is_empty() && mode.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_word.then_some(mode)
    }

    /// Returns the status that a chunk without a message reports as text.
    pub(crate) fn happening_in(&self, text: &str) -> Option<StatusLabel> {
        let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
        if begins(self.repairs.compaction_texts) {
            Some(StatusLabel::Compaction)
        } else {
            begins(self.repairs.notices).then_some(StatusLabel::Warning)
        }
    }

    pub(crate) fn is_compaction(&self, title: Option<&str>) -> bool {
        self.repairs.compaction_call.is_some_and(|call| title == Some(call))
    }

    /// Returns the exit code that the output of a command begins with.
    pub(crate) fn exit_code_in(&self, output: &str) -> Option<i64> {
        let rest = output.strip_prefix(self.repairs.exit_code_line?)?;
        rest.split(['\n', ' ']).next()?.parse().ok()
    }

    /// The names under which the agent may know one of our permission modes; the first that it lists counts.
    pub(crate) fn mode_names(&self, permission_mode: &str) -> impl Iterator<Item = &'static str> {
        let own = self.permission_modes.iter().filter(move |(ours, _)| *ours == permission_mode);
        own.map(|(_, theirs)| *theirs).chain(usual_names(permission_mode).iter().copied())
    }

    /// Our permission modes that the agent was recorded with; none where nothing is known of its modes.
    pub(crate) fn recorded_modes(&self) -> impl Iterator<Item = &'static str> {
        let mut before = None;
        self.permission_modes
            .iter()
            .map(|(ours, _)| *ours)
            .filter(move |ours| before.replace(*ours) != Some(*ours))
    }

    /// Whether the agent may have this mode, as far as one can tell without its list.
    pub(crate) fn may_have_mode(&self, mode: &str) -> bool {
        let is_own = self.permission_modes.iter().any(|(ours, theirs)| *ours == mode || *theirs == mode);
        is_own || OURS.iter().any(|ours| usual_names(ours).contains(&mode))
    }

    /// Returns our permission mode for an agent's mode; the agent's own name where we have none.
    pub(crate) fn permission_mode_of<'m>(&self, mode: &'m str) -> &'m str {
        if let Some((ours, _)) = self.permission_modes.iter().find(|(_, theirs)| *theirs == mode) {
            return ours;
        }
        OURS.into_iter().find(|ours| usual_names(ours).contains(&mode)).unwrap_or(mode)
    }
}

/// Our permission modes that agents know under several names.
const OURS: [&str; 3] = ["acceptEdits", "plan", "bypass"];

/// Returns the common names of several agents for our permission modes.
fn usual_names(permission_mode: &str) -> &'static [&'static str] {
    match permission_mode {
        "acceptEdits" => &["acceptEdits", "autoEdit", "auto-edit"],
        "plan" => &["plan"],
        "bypass" => &["bypass", "bypassPermissions", "yolo"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_found_by_its_name_and_by_what_the_agent_calls_itself() {
        for quirks in ALL {
            assert_eq!(Quirks::named(quirks.name), Some(*quirks));
            assert!(quirks.start.spec().is_some(), "{} has no command", quirks.name);
            for called in quirks.calls_itself {
                assert_eq!(Quirks::of_agent(called), *quirks);
            }
        }
        assert_eq!(Quirks::of_agent("somebody"), &NONE);
        assert_eq!(Quirks::named("none"), None);
    }

    #[test]
    fn our_permission_modes_are_known_under_the_names_of_each_agent() {
        let first = |quirks: &Quirks, ours| quirks.mode_names(ours).next();
        assert_eq!(first(&CODEX_ACP, "plan"), Some("read-only"));
        assert_eq!(first(&NONE, "plan"), Some("plan"));
        assert_eq!(CODEX_ACP.permission_mode_of("agent-full-access"), "bypass");
        assert_eq!(GEMINI.permission_mode_of("autoEdit"), "acceptEdits");
        assert_eq!(GEMINI.permission_mode_of("strange"), "strange");
    }

    #[test]
    fn a_session_of_gemini_is_not_loaded_in_the_minute_of_its_creation() {
        let created: Timestamp = "2026-01-01T10:00:59.5Z".parse().unwrap();
        let from = GEMINI.resumable_from(created).unwrap();
        assert_eq!(from.to_string(), "2026-01-01T10:01:00Z");
        assert_eq!(QWEN.resumable_from(created), None);
    }

    #[test]
    fn an_exit_code_is_read_from_the_first_line_alone() {
        assert_eq!(CLAUDE_ACP.exit_code_in("Exit code 3\nls: no such file"), Some(3));
        assert_eq!(CLAUDE_ACP.exit_code_in("Exit code"), None);
        assert_eq!(CLAUDE_ACP.exit_code_in("ok\nExit code 3"), None);
        assert_eq!(GEMINI.exit_code_in("Exit code 3"), None);
    }
}
