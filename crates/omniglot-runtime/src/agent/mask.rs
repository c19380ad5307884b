//! Secrets of an agent's configured environment and of a session's MCP servers, hidden in everything that
//! the agent says and that it is told (P18).
//!
//! A value counts as a secret when its name says so; hiding every value would hide paths and addresses
//! that the stream is about.

use bytes::Bytes;
use indexmap::IndexMap;
use memchr::memmem;
use omniglot_schema::McpServers;
use omniglot_schema::secrets::names_a_secret;

use crate::agent::mcp;

const HIDDEN: &[u8] = b"***";

/// Shorter values are words that occur by chance.
const SHORTEST: usize = 8;

#[derive(Debug, Clone, Default)]
pub(crate) struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    pub(crate) fn of(env: &IndexMap<String, String>, mcp: &McpServers) -> Self {
        let configured = env.iter().filter(|(name, _)| names_a_secret(name)).map(|(_, value)| value.clone());
        let values = configured.chain(mcp::secrets(mcp));
        let forms = |value: String| [in_json(&value), value];
        let mut secrets: Vec<String> = values.filter(|v| v.len() >= SHORTEST).flat_map(forms).collect();
        // The longer form first: it may contain the shorter one.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// For one secret of our own.
    pub(crate) fn hiding(secret: String) -> Self {
        Self { secrets: vec![secret] }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    pub(crate) fn bytes(&self, line: Bytes) -> Bytes {
        self.secrets.iter().fold(line, |line, secret| hide(line, secret.as_bytes()))
    }

    pub(crate) fn text(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), "***"))
    }
}

fn hide(line: Bytes, secret: &[u8]) -> Bytes {
    let mut hits = memmem::find_iter(&line, secret).peekable();
    if hits.peek().is_none() {
        drop(hits);
        return line;
    }
    let (mut masked, mut done) = (Vec::with_capacity(line.len()), 0);
    for at in hits {
        masked.extend_from_slice(line.get(done..at).unwrap_or_default());
        masked.extend_from_slice(HIDDEN);
        done = at + secret.len();
    }
    masked.extend_from_slice(line.get(done..).unwrap_or_default());
    masked.into()
}

/// The value as it stands inside a JSON string.
fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted.trim_start_matches('"').trim_end_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> Mask {
        let env = [("API_KEY", "hush\"hush-1"), ("HOME", "/home/somebody"), ("SHORT_KEY", "abc")];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Mask::of(&env, &McpServers::new())
    }

    #[test]
    fn secrets_are_hidden_plain_and_in_json_and_the_rest_stays() {
        let line = Bytes::from(r#"{"a":"hush\"hush-1","home":"/home/somebody abc","b":"xhush\"hush-1"}"#);
        assert_eq!(mask().bytes(line), r#"{"a":"***","home":"/home/somebody abc","b":"x***"}"#);
        assert_eq!(mask().text("key hush\"hush-1!".into()), "key ***!");
    }

    #[test]
    fn a_line_without_secrets_is_not_copied() {
        let line = Bytes::from("nothing here");
        assert_eq!(mask().bytes(line.clone()).as_ptr(), line.as_ptr());
    }
}
