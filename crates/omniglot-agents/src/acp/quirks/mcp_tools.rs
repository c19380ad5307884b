//! How calls of MCP tools are known: ACP has no word for them, so each agent marks them in its own way.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Quirks;

/// The form of the names of MCP tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpNames {
    /// `mcp__server__tool`
    Doubled,
    /// `mcp_server_tool`, with the title `tool (server MCP Server)`
    Titled,
}

/// A call of an MCP tool that stands in the arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct McpCall {
    pub(crate) server: String,
    tool: String,
    /// JSON text.
    pub(crate) arguments: String,
}

impl McpCall {
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.server, self.tool)
    }
}

impl Quirks {
    /// Returns the call of an MCP tool that these arguments are.
    pub(crate) fn mcp_call(&self, arguments: &str) -> Option<McpCall> {
        #[derive(Deserialize)]
        struct Call<'a> {
            server: String,
            tool: String,
            #[serde(borrow)]
            arguments: &'a RawValue,
        }
        let call = self.repairs.mcp_in_arguments.then(|| serde_json::from_str::<Call<'_>>(arguments).ok());
        call.flatten().map(|Call { server, tool, arguments }| McpCall {
            server,
            tool,
            arguments: arguments.get().to_owned(),
        })
    }

    pub(crate) fn is_mcp_tool(&self, name: &str) -> bool {
        match self.repairs.mcp_names {
            Some(McpNames::Doubled) => name.starts_with("mcp__"),
            Some(McpNames::Titled) => name.starts_with("mcp_"),
            None => false,
        }
    }

    /// Returns the server of an MCP tool.
    pub(crate) fn mcp_server<'a>(&self, name: &'a str, title: Option<&'a str>) -> Option<&'a str> {
        let server = match self.repairs.mcp_names? {
            McpNames::Doubled => name.strip_prefix("mcp__")?.split_once("__")?.0,
            McpNames::Titled => title?.strip_suffix(" MCP Server)")?.split_once(" (")?.1,
        };
        (!server.is_empty()).then_some(server)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CLAUDE_ACP, CODEX_ACP, GEMINI, NONE};

    #[test]
    fn an_mcp_call_of_codex_is_named_after_its_tool() {
        let input = r#"{"server":"tiny","tool":"add","arguments":{"a": 2}}"#;
        let call = CODEX_ACP.mcp_call(input).unwrap();
        assert_eq!((call.name().as_str(), call.arguments.as_str()), ("tiny/add", r#"{"a": 2}"#));
        assert_eq!(call.server, "tiny");
        assert_eq!(CODEX_ACP.mcp_call(r#"{"command":"ls"}"#), None);
        assert_eq!(GEMINI.mcp_call(input), None);
    }

    #[test]
    fn the_server_of_an_mcp_tool_is_where_its_agent_tells_it() {
        let title = Some("add (tiny MCP Server)");
        assert!(GEMINI.is_mcp_tool("mcp_tiny_add") && !GEMINI.is_mcp_tool("read_file"));
        assert_eq!(GEMINI.mcp_server("mcp_tiny_add", title), Some("tiny"));
        assert_eq!(GEMINI.mcp_server("mcp_tiny_add", Some("add")), None);
        assert!(CLAUDE_ACP.is_mcp_tool("mcp__tiny__add") && !CLAUDE_ACP.is_mcp_tool("Read"));
        assert_eq!(CLAUDE_ACP.mcp_server("mcp__tiny__add", None), Some("tiny"));
        assert!(!NONE.is_mcp_tool("mcp__tiny__add"));
    }
}
