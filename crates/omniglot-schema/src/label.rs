//! Labels of sessions: words of clients about a session, by which it is found and by which a token is limited.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The labels of one session, by key.
pub type Labels = BTreeMap<String, String>;

pub const MAX_LABELS: usize = 16;
const MAX_KEY: usize = 63;
const MAX_VALUE: usize = 128;

/// One label with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Label {
    /// 1 to 63 of `a-z 0-9 _ . -`.
    pub key: String,
    /// At most 128 bytes.
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLabel {
    #[error("the label key `{0}` is not 1 to {MAX_KEY} characters of a-z 0-9 _ . -")]
    Key(String),
    #[error("the value of label `{0}` is longer than {MAX_VALUE} bytes")]
    Value(String),
    #[error("{0} labels; at most {MAX_LABELS} are allowed")]
    TooMany(usize),
    #[error("`{0}` is no label; write KEY=VALUE")]
    Form(String),
}

impl Label {
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Result<Self, BadLabel> {
        let label = Self { key: key.into(), value: value.into() };
        label.check().map(|()| label)
    }

    pub fn check(&self) -> Result<(), BadLabel> {
        check(&self.key, &self.value)
    }

    /// Whether a session with these labels has this one.
    pub fn is_in(&self, labels: &Labels) -> bool {
        labels.get(&self.key) == Some(&self.value)
    }
}

impl FromStr for Label {
    type Err = BadLabel;

    fn from_str(text: &str) -> Result<Self, BadLabel> {
        let (key, value) = text.split_once('=').ok_or_else(|| BadLabel::Form(text.to_owned()))?;
        Self::new(key, value)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

pub fn check_labels(labels: &Labels) -> Result<(), BadLabel> {
    if labels.len() > MAX_LABELS {
        return Err(BadLabel::TooMany(labels.len()));
    }
    labels.iter().try_for_each(|(key, value)| check(key, value))
}

fn check(key: &str, value: &str) -> Result<(), BadLabel> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-');
    if key.is_empty() || key.len() > MAX_KEY || !key.bytes().all(allowed) {
        return Err(BadLabel::Key(key.to_owned()));
    }
    if value.len() > MAX_VALUE {
        return Err(BadLabel::Value(key.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_checked() {
        assert_eq!("app=a=b".parse(), Label::new("app", "a=b"));
        assert!("app=".parse::<Label>().is_ok());
        for bad in ["app", "=x", "App=x", "a b=x", &format!("{}=x", "a".repeat(64))] {
            assert!(bad.parse::<Label>().is_err(), "{bad}");
        }
        assert!(Label::new("a", "x".repeat(129)).is_err());
        let many: Labels = (0..=MAX_LABELS).map(|n| (n.to_string(), String::new())).collect();
        assert_eq!(check_labels(&many), Err(BadLabel::TooMany(17)));
    }
}
