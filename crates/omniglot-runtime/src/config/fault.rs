//! Configuration errors, with the place and the fix, and never with a value.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use omniglot_agents::nearest::nearest;

use super::ConfigError;

/// An error, and its place in the text, in bytes.
pub(super) struct Fault {
    span: Range<usize>,
    message: String,
}

impl Fault {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    pub(super) fn at(self, path: &Path, text: &[u8]) -> ConfigError {
        let (line, column) = place(text, self.span.start);
        let message = match &*self.message {
            "duplicate key" => format!("the key `{}` is there twice; keep one of them", self.key(text)),
            _ => self.message,
        };
        ConfigError::Invalid { path: path.into(), line, column, message }
    }
}

impl Fault {
    /// The key where it is; what follows it may be a secret.
    fn key(&self, text: &[u8]) -> String {
        let rest = text.get(self.span.start..).unwrap_or_default();
        let name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        rest.iter().skip_while(|byte| !name(byte)).take_while(name).map(|byte| char::from(*byte)).collect()
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        // Only the message: the full text repeats the source line, which may hold a secret.
        let message = error.message();
        let message = unknown_key(message)
            .or_else(|| missing_key(message))
            .unwrap_or_else(|| plainly(without_value(message)).trim_end().replace('\n', "; "));
        Self::new(error.span().unwrap_or_default(), message)
    }
}

/// Line and column, from 1, of a byte of the text.
pub(super) fn place(text: &[u8], at: usize) -> (usize, usize) {
    let before = String::from_utf8_lossy(text.get(..at).unwrap_or(text));
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    (before.matches('\n').count() + 1, column)
}

/// Of the name that was written and those that are known, as serde tells them.
fn unknown_key(message: &str) -> Option<String> {
    let (written, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let meant =
        nearest(written, known.iter().copied()).first().map(|name| format!("; did you mean `{name}`?"));
    let meant = meant.unwrap_or_default();
    Some(format!("unknown key `{written}`{meant} (known here: {})", known.join(", ")))
}

fn missing_key(message: &str) -> Option<String> {
    let name = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    let example = if name == "command" { r#": command = ["program", "argument", …]"# } else { "" };
    Some(format!("the key `{name}` is missing; add it{example}"))
}

/// Returns serde's message without the quoted value, which may be a secret.
fn without_value(message: &str) -> &str {
    let quotes = ["invalid type: ", "invalid value: ", "unknown variant "];
    if !quotes.iter().any(|quote| message.starts_with(quote)) {
        return message;
    }
    // The last one: the value may hold these words, too.
    message.rfind("expected ").and_then(|at| message.get(at..)).unwrap_or("another value is expected")
}

/// Returns serde's message in the terms of a TOML file.
fn plainly(message: &str) -> Cow<'_, str> {
    let Some(expected) = message.strip_prefix("expected ") else { return message.into() };
    let plain = match expected {
        "a sequence" => r#"a list, such as ["program", "argument"]"#,
        "a string" => "a text in quotes",
        "a map" => r#"a table, such as { NAME = "value" }"#,
        "a boolean" => "true or false",
        "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        expected if expected.starts_with("struct ") => "a table of keys",
        expected => expected,
    };
    format!("expected {plain}").into()
}
