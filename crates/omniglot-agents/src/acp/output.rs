//! The output of a tool, from the many places in which ACP agents put it.
//!
//! Decides nothing about when a result starts or ends; that is the tool table's.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, ToolCallContent};
use omniglot_schema::{ContentPart, FileAction};
use omniglot_timeline::{inline_file, inline_image};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::diff::file_ref;
use crate::contract::Unparsed;
use crate::fault::unparsed;

/// Text of a block, or a part beside the text.
pub(crate) enum Piece {
    Text(String),
    Part(ContentPart),
}

/// Reads one content block.
pub(crate) fn piece(block: ContentBlock) -> Result<Piece, Unparsed> {
    match block {
        ContentBlock::Text(text) => Ok(Piece::Text(text.text)),
        ContentBlock::ResourceLink(link) => Ok(Piece::Part(file_read(&link.uri))),
        ContentBlock::Resource(embedded) => match embedded.resource {
            EmbeddedResourceResource::TextResourceContents(text) => Ok(Piece::Text(text.text)),
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                Ok(Piece::Part(inline(blob.mime_type.as_deref().unwrap_or_default(), &blob.blob)))
            }
            _ => Err(unparsed("content", "unknown kind of resource")),
        },
        ContentBlock::Image(image) => Ok(Piece::Part(inline_image(&image.mime_type, &image.data))),
        ContentBlock::Audio(audio) => Ok(Piece::Part(inline(&audio.mime_type, &audio.data))),
        _ => Err(unparsed("content", "unknown content block")),
    }
}

/// Bytes within a message; a picture is shown as one.
fn inline(mime: &str, base64: &str) -> ContentPart {
    if mime.starts_with("image/") { inline_image(mime, base64) } else { inline_file(mime, base64) }
}

/// A file that somebody points at.
pub(crate) fn file_read(uri: &str) -> ContentPart {
    let path = omniglot_schema::uri::to_path(uri).unwrap_or_else(|| uri.to_owned());
    ContentPart::file(path, FileAction::Read, None)
}

/// The content list of a call, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) text: String,
    /// `file_ref` parts of the edits in it.
    pub(crate) edits: Vec<ContentPart>,
    /// The names of the terminals in it.
    pub(crate) terminals: Vec<String>,
    pub(crate) parts: Vec<ContentPart>,
}

impl Content {
    pub(crate) fn read(content: Vec<ToolCallContent>, faults: &mut Vec<Unparsed>) -> Self {
        let mut read = Self::default();
        for entry in content {
            match entry {
                ToolCallContent::Content(content) => match piece(content.content) {
                    Ok(Piece::Text(text)) => read.push_text(&text),
                    Ok(Piece::Part(part)) => read.parts.push(part),
                    Err(fault) => faults.push(fault),
                },
                ToolCallContent::Diff(diff) => read.edits.push(file_ref(&diff)),
                // It may be none of ours: codex-acp points at one of its own and tells its output apart.
                ToolCallContent::Terminal(terminal) => {
                    read.terminals.push(terminal.terminal_id.0.as_ref().to_owned());
                }
                _ => faults.push(unparsed("tool_call.content", "unknown kind of content")),
            }
        }
        read
    }

    fn push_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// Returns the text within a code fence, if there is nothing beside it.
pub(crate) fn unfenced(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let marks = first.len() - first.trim_start_matches('`').len();
    let fence = first.get(..marks).filter(|_| marks >= 3)?;
    let (inner, last) = rest.rsplit_once('\n').unwrap_or(("", rest));
    (last == fence).then_some(inner)
}

/// The content of `rawOutput`.
#[derive(Debug, Default)]
pub(crate) struct RawOutput {
    pub(crate) text: String,
    /// The stderr of the command, where `text` is without it.
    pub(crate) stderr: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) json: Option<Value>,
    /// Pictures among the blocks; most agents say them in the content as well.
    pub(crate) images: Vec<ContentPart>,
}

/// The fields that known agents and MCP servers use.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Known {
    formatted_output: Option<String>,
    aggregated_output: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    output: Option<String>,
    #[serde(alias = "exitCode")]
    exit_code: Option<i64>,
    duration: Option<CodexDuration>,
    #[serde(rename = "durationMs")]
    duration_ms: Option<u64>,
    content: Option<Vec<Value>>,
    #[serde(rename = "structuredContent")]
    structured_content: Option<Value>,
}

#[derive(Deserialize)]
struct CodexDuration {
    secs: u64,
    nanos: u64,
}

impl RawOutput {
    pub(crate) fn read(raw: &RawValue) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(raw.get()) else { return Self::default() };
        match value {
            Value::Null => Self::default(),
            Value::String(text) => Self { text, ..Self::default() },
            Value::Array(blocks) => match read_blocks(&blocks) {
                Some((text, images)) => Self { text, images, ..Self::default() },
                None => Self { json: Some(Value::Array(blocks)), ..Self::default() },
            },
            Value::Object(_) => Self::read_object(value),
            Value::Bool(_) | Value::Number(_) => Self { text: value.to_string(), ..Self::default() },
        }
    }

    fn read_object(value: Value) -> Self {
        let value = within_result(value);
        let known: Known = serde_json::from_value(value.clone()).unwrap_or_default();
        let duration =
            known.duration.map(|d| d.secs.saturating_mul(1000).saturating_add(d.nanos / 1_000_000));
        let is_apart = known.aggregated_output.is_none() && known.stdout.is_some();
        let stderr = known.stderr.filter(|stderr| is_apart && !stderr.is_empty());
        let (mcp, images) = known.content.as_deref().and_then(read_blocks).unzip();
        // What codex formats for its model is cut.
        let text =
            known.aggregated_output.or(known.stdout).or(known.output).or(known.formatted_output).or(mcp);
        let understood = text.is_some() || known.exit_code.is_some() || known.structured_content.is_some();
        Self {
            text: text.unwrap_or_default(),
            stderr,
            exit_code: known.exit_code,
            duration_ms: duration.or(known.duration_ms),
            json: if understood { known.structured_content } else { Some(value) },
            images: images.unwrap_or_default(),
        }
    }
}

/// Returns the output of an MCP tool, which codex-acp 2.6 wraps as `{result, error}`.
fn within_result(mut value: Value) -> Value {
    let inner = value.get_mut("result").filter(|inner| inner.get("content").is_some_and(Value::is_array));
    inner.map(Value::take).unwrap_or(value)
}

/// The texts and pictures of a list of blocks; `None` when there is anything else in it.
fn read_blocks(blocks: &[Value]) -> Option<(String, Vec<ContentPart>)> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in blocks {
        match block.get("type").and_then(Value::as_str)? {
            "text" => texts.push(block.get("text").and_then(Value::as_str)?),
            "image" => images.push(block_image(block)?),
            _ => return None,
        }
    }
    Some((texts.join("\n"), images))
}

/// A picture as MCP has it, or as the Anthropic API has it.
fn block_image(block: &Value) -> Option<ContentPart> {
    let text = |place: &str| block.pointer(place).and_then(Value::as_str);
    let data = text("/data").or_else(|| text("/source/data"))?;
    let mime = text("/mimeType").or_else(|| text("/source/media_type"))?;
    Some(inline_image(mime, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(raw: &str) -> String {
        let RawOutput { text, stderr, exit_code, duration_ms, json, images } =
            RawOutput::read(serde_json::from_str(raw).unwrap());
        let json = serde_json::to_string(&json).unwrap();
        let text = stderr.map_or_else(|| text.clone(), |stderr| format!("{text}|{stderr}"));
        let images = if images.is_empty() { String::new() } else { format!(" {images:?}") };
        format!("{text:?} {exit_code:?} {duration_ms:?} {json}{images}")
    }

    #[test]
    fn a_fence_is_taken_off_only_whole() {
        assert_eq!(unfenced("```console\nhello\noops\n```"), Some("hello\noops"));
        assert_eq!(unfenced("````\n```\n````"), Some("```"));
        assert_eq!(unfenced("```\n```"), Some(""));
        assert_eq!(unfenced("```\nhello"), None);
        assert_eq!(unfenced("see:\n```\nhello\n```"), None);
    }

    #[test]
    fn output_is_found_wherever_the_agent_puts_it() {
        insta::assert_snapshot!(read(r#""done""#), @r#""done" None None null"#);
        insta::assert_snapshot!(read(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#), @r#""a\nb" None None null"#);
        let codex = r#"{"stdout":"x","stderr":"","formatted_output":"f\n","exit_code":3,"duration":{"secs":1,"nanos":2000000}}"#;
        insta::assert_snapshot!(read(codex), @r#""x" Some(3) Some(1002) null"#);
        insta::assert_snapshot!(read(r#"{"stdout":"x","stderr":"oops"}"#), @r#""x|oops" None None null"#);
        insta::assert_snapshot!(read(r#"{"exit_code":0}"#), @r#""" Some(0) None null"#);
        let mcp = r#"{"content":[{"type":"text","text":"5"}],"structuredContent":{"sum":5}}"#;
        insta::assert_snapshot!(read(mcp), @r#""5" None None {"sum":5}"#);
        let wrapped =
            r#"{"result":{"content":[{"type":"text","text":"5"}],"structuredContent":null},"error":null}"#;
        insta::assert_snapshot!(read(wrapped), @r#""5" None None null"#);
        let picture =
            r#"[{"type":"text","text":"see"},{"type":"image","data":"AA==","mimeType":"image/png"}]"#;
        insta::assert_snapshot!(read(picture), @r#""see" None None null [Image { path: "data:image/png;base64,AA==", mime: Some("image/png") }]"#);
        insta::assert_snapshot!(read(r#"{"trigger":"manual"}"#), @r#""" None None {"trigger":"manual"}"#);
    }
}
