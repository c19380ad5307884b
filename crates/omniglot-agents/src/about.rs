//! The kind and the subject of a tool call, as an adapter finds them in the words of its agent.
//!
//! Arguments have the shape of their tool: whatever has another form than the adapter expects counts as absent.

use omniglot_schema::{ContentPart, FileAction, ToolKind, ToolPath, ToolSubject};
use omniglot_timeline::ToolCall;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::adapter::{ToolTable, tool_kind};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct About {
    pub(crate) kind: ToolKind,
    pub(crate) subject: ToolSubject,
}

impl About {
    /// A call of which nothing but its kind is known.
    pub(crate) fn of(kind: ToolKind) -> Self {
        Self { kind, subject: ToolSubject::default() }
    }

    /// Returns the call with this kind and this subject.
    pub(crate) fn call(self, name: impl Into<String>, arguments: impl Into<String>) -> ToolCall {
        ToolCall { kind: Some(self.kind), subject: self.subject.boxed(), ..ToolCall::new(name, arguments) }
    }

    /// Returns a `file_ref` part for each file that a successful call has read.
    pub(crate) fn files_read(self) -> impl Iterator<Item = ContentPart> {
        let paths = if self.kind == ToolKind::Read { self.subject.paths } else { vec![] };
        paths.into_iter().map(|file| file_read(file.path))
    }

    /// Leaves the directory of a command out where it is the session's.
    pub(crate) fn in_session_of(mut self, directory: Option<&str>) -> Self {
        self.subject.cwd.take_if(|cwd| Some(cwd.as_str()) == directory);
        self
    }
}

pub(crate) fn file_read(path: String) -> ContentPart {
    ContentPart::file(path, FileAction::Read, None)
}

/// Returns the one file of a call, or none; lines count from 1.
pub(crate) fn path(path: Option<String>, line: Option<u64>) -> Vec<ToolPath> {
    path.map(|path| ToolPath { path, line: line.filter(|line| *line > 0) }).into_iter().collect()
}

/// Returns the server of a tool that is named `mcp__server__tool`.
pub(crate) fn mcp_server(name: &str) -> Option<&str> {
    let (server, _) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty()).then_some(server)
}

/// Returns the kind of a tool: by the table of its agent, else by the name that MCP tools have.
pub(crate) fn kind(tools: ToolTable, name: &str) -> ToolKind {
    let of_server = || mcp_server(name).map(|_| ToolKind::Mcp);
    tool_kind(tools, name).or_else(of_server).unwrap_or(ToolKind::Other)
}

/// Reads the arguments of a call. A list is none, although serde would read it as an object.
pub(crate) fn arguments<T: DeserializeOwned + Default>(json: &str) -> T {
    let object = json.trim_start().starts_with('{');
    object.then(|| serde_json::from_str(json).ok()).flatten().unwrap_or_default()
}

/// Reads the value, or nothing where it has another form.
pub(crate) fn if_fitting<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(value)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Reads a text that says something.
pub(crate) fn text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let text: Option<String> = if_fitting(value)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Arguments {
        #[serde(deserialize_with = "text")]
        path: Option<String>,
        #[serde(deserialize_with = "if_fitting")]
        line: Option<u64>,
    }

    fn read(json: &str) -> Vec<ToolPath> {
        let Arguments { path: file, line } = arguments(json);
        path(file, line)
    }

    #[test]
    fn an_argument_of_another_form_takes_none_of_the_others_away() {
        assert_eq!(read(r#"{"path":"/a","line":"7"}"#), [ToolPath::new("/a")]);
        assert_eq!(read(r#"{"path":"/a","line":7}"#), [ToolPath { path: "/a".into(), line: Some(7) }]);
        assert_eq!(read(r#"{"path":["/a"],"line":7}"#), []);
    }

    #[test]
    fn what_is_no_object_has_no_arguments() {
        for json in ["", "null", "[\"/a\",7]", "\"/a\"", "{\"path\":\"/a", "{\"path\":\" \"}"] {
            assert_eq!(read(json), [], "{json}");
        }
    }
}
