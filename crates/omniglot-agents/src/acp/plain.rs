//! A plain chunk of text: by far the most frequent message, so it is read in one pass.
//!
//! Whatever has one field more than these goes the long way through `wire` and `update`, and means the same
//! there.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::text::Voice;
use super::update::ChunkMeta;

/// A piece of what the agent says or thinks.
pub(crate) struct PlainChunk<'a> {
    pub(crate) session_id: &'a str,
    pub(crate) voice: Voice,
    pub(crate) text: Cow<'a, str>,
    pub(crate) message_id: Option<&'a str>,
    meta: Option<&'a RawValue>,
}

impl<'a> PlainChunk<'a> {
    /// `None` when the message is something else.
    pub(crate) fn read(frame: &'a RawValue) -> Option<Self> {
        let Frame { method, params: Params { session_id, update }, .. } =
            serde_json::from_str(frame.get()).ok()?;
        let Update { session_update, content: Content { r#type, text }, message_id, meta } = update;
        let voice = match (method, r#type, session_update) {
            ("session/update", "text", "agent_message_chunk") => Voice::Answer,
            ("session/update", "text", "agent_thought_chunk") => Voice::Thought,
            _ => return None,
        };
        Some(Self { session_id, voice, text, message_id, meta })
    }

    pub(crate) fn meta(&self) -> ChunkMeta {
        ChunkMeta::read(self.meta)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame<'a> {
    #[serde(default, rename = "jsonrpc")]
    _jsonrpc: IgnoredAny,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params<'a> {
    session_id: &'a str,
    #[serde(borrow)]
    update: Update<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update<'a> {
    session_update: &'a str,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(default)]
    message_id: Option<&'a str>,
    #[serde(default, borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(Voice, String)> {
        let frame: &RawValue = serde_json::from_str(line).unwrap();
        PlainChunk::read(frame).map(|chunk| (chunk.voice, chunk.text.into_owned()))
    }

    fn chunk(kind: &str, content: &str, more: &str) -> String {
        let update = format!(r#"{{"sessionUpdate":"{kind}","content":{content}{more}}}"#);
        let params = format!(r#"{{"sessionId":"s","update":{update}}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#)
    }

    #[test]
    fn a_chunk_of_text_is_plain_with_and_without_escapes() {
        let text = r#"{"type":"text","text":"a\n\"b\""}"#;
        let meta = r#","messageId":"m1","_meta":{"claudeCode":{}}"#;
        assert_eq!(read(&chunk("agent_message_chunk", text, meta)), Some((Voice::Answer, "a\n\"b\"".into())));
        assert_eq!(read(&chunk("agent_thought_chunk", text, "")), Some((Voice::Thought, "a\n\"b\"".into())));
    }

    #[test]
    fn everything_else_goes_the_long_way() {
        let text = r#"{"type":"text","text":"a"}"#;
        for line in [
            chunk("user_message_chunk", text, ""),
            chunk("agent_message_chunk", text, r#","new":1"#),
            chunk("agent_message_chunk", r#"{"type":"text","text":"a","annotations":{}}"#, ""),
            chunk("agent_message_chunk", r#"{"type":"resource_link","uri":"a"}"#, ""),
            chunk("agent_message_chunk", text, "").replace("session/update", "other/update"),
            chunk("agent_message_chunk", text, "").replace(r#""jsonrpc""#, r#""id":1,"jsonrpc""#),
            r#"["session/update"]"#.to_owned(),
        ] {
            assert_eq!(read(&line), None, "{line}");
        }
    }
}
