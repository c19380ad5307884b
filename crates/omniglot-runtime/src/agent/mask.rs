//! Secrets of an agent's configured environment and of a session's MCP servers, hidden in everything that
//! the agent says and that it is told (P18).
//!
//! A value counts as a secret when its name says so; hiding every value would hide paths and addresses
//! that the stream is about. Here frames and stderr are masked; events are by the Timeline, which knows how texts
//! go on.

use bytes::Bytes;
use indexmap::IndexMap;
use omniglot_schema::McpServers;
use omniglot_schema::secrets::names_a_secret;
use omniglot_timeline::Secrets;

use crate::agent::mcp;

/// Shorter values are words that occur by chance.
const SHORTEST: usize = 8;

#[derive(Debug, Clone, Default)]
pub(crate) struct Mask {
    secrets: Secrets,
}

impl Mask {
    pub(crate) fn of(env: &IndexMap<String, String>, mcp: &McpServers) -> Self {
        let configured = env.iter().filter(|(name, _)| names_a_secret(name)).map(|(_, value)| value.clone());
        let values = configured.chain(mcp::secrets(mcp));
        Self { secrets: Secrets::new(values.filter(|value| value.len() >= SHORTEST)) }
    }

    /// For one secret of our own.
    pub(crate) fn hiding(secret: String) -> Self {
        Self { secrets: Secrets::new([secret]) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Returns the secrets, for the Timeline of the session.
    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    pub(crate) fn bytes(&self, line: Bytes) -> Bytes {
        if self.is_empty() {
            return line;
        }
        self.secrets.mask_line(&line).map_or(line, Bytes::from)
    }

    pub(crate) fn text(&self, text: String) -> String {
        self.secrets.mask(&text).unwrap_or(text)
    }
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
        let line =
            Bytes::from(r#"{"a":"hush\"hush-1","home":"/home/somebody abc","b":"x\u0068ush\"hush-1"}"#);
        assert_eq!(mask().bytes(line), r#"{"a":"***","home":"/home/somebody abc","b":"x***"}"#);
        assert_eq!(mask().text("key hush\"hush-1!".into()), "key ***!");
    }

    #[test]
    fn a_line_without_secrets_is_not_copied() {
        let line = Bytes::from("nothing here");
        assert_eq!(mask().bytes(line.clone()).as_ptr(), line.as_ptr());
    }
}
