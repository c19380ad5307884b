//! The kind of an ACP call in our words: the agent's own word, unless a quirk knows the tool better.

use agent_client_protocol_schema::v1::ToolKind as Word;
use omniglot_schema::ToolKind;

use super::quirks::Quirks;
use crate::adapter::tool_kind;

/// Returns the kind of a call. `name` is the tool's own, if the agent tells it.
pub(crate) fn kind(word: Word, name: Option<&str>, quirks: &Quirks) -> ToolKind {
    name.and_then(|name| by_name(name, quirks)).unwrap_or_else(|| by_word(word))
}

fn by_name(name: &str, quirks: &Quirks) -> Option<ToolKind> {
    if quirks.is_mcp_tool(name) {
        return Some(ToolKind::Mcp);
    }
    tool_kind(quirks.tools, name)
}

fn by_word(word: Word) -> ToolKind {
    match word {
        Word::Read => ToolKind::Read,
        Word::Edit => ToolKind::Edit,
        Word::Delete => ToolKind::Delete,
        Word::Move => ToolKind::Move,
        Word::Search => ToolKind::Search,
        Word::Execute => ToolKind::Execute,
        Word::Think => ToolKind::Think,
        Word::Fetch => ToolKind::Fetch,
        Word::SwitchMode => ToolKind::Mode,
        Word::Other | _ => ToolKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::quirks::{CLAUDE_ACP, GEMINI, NONE};
    use super::*;

    #[test]
    fn an_agent_without_quirks_is_taken_at_its_word() {
        assert_eq!(kind(Word::Execute, Some("Agent"), &NONE), ToolKind::Execute);
        assert_eq!(kind(Word::SwitchMode, None, &NONE), ToolKind::Mode);
        assert_eq!(kind(Word::Other, Some("mcp__tiny__add"), &NONE), ToolKind::Other);
        assert_eq!(kind(Word::default(), None, &NONE), ToolKind::Other);
    }

    #[test]
    fn a_tool_whose_kind_the_agent_has_no_word_for_is_known_by_its_name() {
        assert_eq!(kind(Word::Think, Some("Agent"), &CLAUDE_ACP), ToolKind::Agent);
        assert_eq!(kind(Word::Think, Some("TodoWrite"), &CLAUDE_ACP), ToolKind::Plan);
        assert_eq!(kind(Word::Other, Some("mcp__tiny__add"), &CLAUDE_ACP), ToolKind::Mcp);
        assert_eq!(kind(Word::Think, Some("invoke_agent"), &GEMINI), ToolKind::Agent);
        assert_eq!(kind(Word::Other, Some("write_todos"), &GEMINI), ToolKind::Plan);
        assert_eq!(kind(Word::Other, Some("enter_plan_mode"), &GEMINI), ToolKind::Mode);
        assert_eq!(kind(Word::Other, Some("mcp_tiny_add"), &GEMINI), ToolKind::Mcp);
        assert_eq!(kind(Word::Edit, Some("write_file"), &GEMINI), ToolKind::Edit);
    }
}
