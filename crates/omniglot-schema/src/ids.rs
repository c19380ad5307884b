//! Identifiers as types of their own, so that no id is passed where another is meant.
//!
//! Only the session id is chosen by a client and therefore checked; all others are minted by the
//! Timeline or the runtime.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String)]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

id!(/// One event of one session.
    EventId);
id!(/// One item of one session.
    ItemId);
id!(/// One turn of one session.
    TurnId);
id!(/// One permission request.
    PermissionId);
id!(/// One question to the user.
    QuestionId);
id!(/// Ties a tool result to its call.
    CallId);
id!(/// One message that a client posted.
    MessageId);

/// A session's name, chosen by its client.
///
/// Holds 1 to 128 of `A-Z a-z 0-9 . _ : -`. It is never used as a file name. `.` and `..` are not allowed: in
/// a URL they address another path.
// Every event has a session id, so a clone must cost nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String)]
pub struct SessionId(Arc<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session id has 1 to 128 characters of A-Z a-z 0-9 . _ : -, and is not . or ..")]
pub struct BadSessionId;

impl SessionId {
    pub const MAX_LEN: usize = 128;

    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
        let dots = matches!(text, "." | "..");
        if text.is_empty() || dots || text.len() > Self::MAX_LEN || !text.bytes().all(allowed) {
            return Err(BadSessionId);
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = BadSessionId;
    fn try_from(text: String) -> Result<Self, BadSessionId> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.as_str().to_owned()
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_checked() {
        assert!(SessionId::parse("my-session_1.2:3").is_ok());
        assert!(SessionId::parse("...").is_ok());
        assert!(SessionId::parse(&"a".repeat(128)).is_ok());
        for bad in ["", "a b", ".", "..", "../x", "ä", "a/b", &"a".repeat(129)] {
            assert_eq!(SessionId::parse(bad), Err(BadSessionId), "{bad}");
        }
    }
}
