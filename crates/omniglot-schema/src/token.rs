//! Named tokens, their scopes, and the audit of the calls that were made with them.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::SessionId;
use crate::label::Label;

/// The calls that a token allows. `read`, `answer`, `drive` and `admin` include those before them; `metrics`
/// stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Metrics,
    /// Look at sessions, events, blobs and agents.
    Read,
    /// Also reply to permissions and questions.
    Answer,
    /// Also create sessions, send messages, cancel and change.
    Drive,
    /// Also delete, import, see native frames, and manage tokens.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 5] = [Self::Metrics, Self::Read, Self::Answer, Self::Drive, Self::Admin];

    /// Whether a token of this scope may do what needs `needed`.
    pub fn allows(self, needed: Self) -> bool {
        self.rank().is_some_and(|rank| needed.rank().is_some_and(|needed| rank >= needed))
            || self == needed
            || self == Self::Admin
    }

    /// The place in the order of scopes that include each other.
    fn rank(self) -> Option<u8> {
        match self {
            Self::Metrics => None,
            Self::Read => Some(0),
            Self::Answer => Some(1),
            Self::Drive => Some(2),
            Self::Admin => Some(3),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Drive => "drive",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A named token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// The id by which the token is revoked.
    pub id: String,
    /// The name that the audit and `metadata.by` show.
    pub name: String,
    /// The calls that the token allows.
    pub scope: Scope,
    /// The token sees only sessions with this label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Label>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<i64>,
}

impl TokenInfo {
    pub fn is_valid_at(&self, now_ms: i64) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires| now_ms < expires)
    }
}

/// A request for a new named token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// 1 to 64 of `A-Z a-z 0-9 . _ @ -`, but not `admin`; no other valid token has it.
    pub name: String,
    /// The calls that the token allows.
    pub scope: Scope,
    /// Limits the token to sessions with this label; not for `admin` and `metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Label>,
    /// Without it the token is valid until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// A new token. This is the only answer that has its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    #[serde(flatten)]
    pub info: TokenInfo,
    /// The token itself, to be sent as `Authorization: Bearer`.
    pub secret: String,
}

impl fmt::Debug for CreatedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedToken").field("info", &self.info).finish_non_exhaustive()
    }
}

/// All named tokens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenListResponse {
    /// All named tokens, revoked ones included.
    pub tokens: Vec<TokenInfo>,
}

/// One call that changed something, or was to change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Ascends with every entry.
    pub number: u64,
    /// Milliseconds since 1970.
    pub time: i64,
    #[serde(flatten)]
    pub call: AuditCall,
}

/// The content of an entry of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditCall {
    /// The name of the token; `admin` for the token of the daemon's file.
    pub who: String,
    /// The id of a named token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The address of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The method and path of the request, or `acp` and the method of the protocol.
    pub what: String,
    /// The session that the call was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub session_id: Option<SessionId>,
    /// The status of the answer, `ok` or `error` of a protocol inside, or `disconnected`: the client has not
    /// waited for the answer.
    pub outcome: String,
}

/// A page of the audit.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditResponse {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// Whether there are further entries.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_includes_those_before_it_and_metrics_stands_alone() {
        use Scope::{Admin, Answer, Drive, Metrics, Read};
        assert!(Read.allows(Read) && !Read.allows(Answer) && Drive.allows(Answer) && !Drive.allows(Admin));
        assert!(Metrics.allows(Metrics) && !Metrics.allows(Read) && !Drive.allows(Metrics));
        assert!(Scope::ALL.iter().all(|needed| Admin.allows(*needed)));
    }

    #[test]
    fn a_secret_is_not_in_debug_output() {
        let info = TokenInfo {
            id: "tok_1".into(),
            name: "n".into(),
            scope: Scope::Read,
            sessions: None,
            created_at: 5,
            expires_at: Some(10),
            revoked_at: None,
        };
        assert!(info.is_valid_at(9) && !info.is_valid_at(10));
        assert!(!format!("{:?}", CreatedToken { info, secret: "hush".into() }).contains("hush"));
    }
}
