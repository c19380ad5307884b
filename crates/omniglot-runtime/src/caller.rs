//! The author of a call: the name, the rights, and how long they last.
//!
//! Faces find the caller of a request and use the hub in its name; the hub shows it only what it may see.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use omniglot_schema::{AuditCall, Label, Scope, SessionId, TokenInfo};
use tokio_util::sync::CancellationToken;

/// The name of the caller who shows the daemon's own token, in the audit.
pub(crate) const OWNER: &str = "admin";

/// The name of the caller who has the link of a call, in the audit.
const LINK: &str = "link";

/// A sleeping machine does not count, so a long wait looks at the clock once in a while.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The author of a call. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Caller {
    /// `None` for the daemon's own token.
    token: Option<TokenInfo>,
    scope: Scope,
    /// Whether the caller has the link of a call and nothing else.
    link: bool,
    /// The address of the client, for the audit.
    address: Option<IpAddr>,
    /// Cancelled when the token is revoked.
    revoked: CancellationToken,
    /// Cancelled when the sessions that a limited token sees may be others.
    relabelled: CancellationToken,
}

impl Caller {
    /// Returns the caller who shows the daemon's own token, or needs none.
    pub fn owner() -> Self {
        Self::nameless(Scope::Admin)
    }

    /// Returns a caller without a token, for the routes that are open to all.
    pub fn stranger() -> Self {
        Self::nameless(Scope::Metrics)
    }

    /// Returns a caller who has the link of a call and may answer its request.
    pub fn link() -> Self {
        Self { link: true, ..Self::nameless(Scope::Answer) }
    }

    pub(crate) fn is_link(&self) -> bool {
        self.link
    }

    fn nameless(scope: Scope) -> Self {
        Self {
            token: None,
            scope,
            link: false,
            address: None,
            revoked: CancellationToken::new(),
            relabelled: CancellationToken::new(),
        }
    }

    pub fn of_token(token: TokenInfo, revoked: CancellationToken, relabelled: CancellationToken) -> Self {
        Self { scope: token.scope, token: Some(token), link: false, address: None, revoked, relabelled }
    }

    #[must_use]
    pub fn at(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Describes a call of this caller for the audit.
    pub fn call(&self, what: String, session_id: Option<SessionId>, outcome: impl Into<String>) -> AuditCall {
        AuditCall {
            who: self.name().to_owned(),
            token_id: self.token_id().map(str::to_owned),
            from: self.address.map(|address| address.to_canonical().to_string()),
            what,
            session_id,
            outcome: outcome.into(),
        }
    }

    /// The name in the audit.
    pub fn name(&self) -> &str {
        let nameless = if self.link { LINK } else { OWNER };
        self.token.as_ref().map_or(nameless, |token| &token.name)
    }

    /// The name in `metadata.by` of what the caller has sent: only named tokens are told there.
    pub fn by(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.name.as_str())
    }

    pub fn token_id(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.id.as_str())
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    pub fn may(&self, needed: Scope) -> bool {
        self.scope.allows(needed)
    }

    /// The label of the only sessions that the caller sees.
    pub fn limit(&self) -> Option<&Label> {
        self.token.as_ref()?.sessions.as_ref()
    }

    /// Resolves when the token is revoked or expires. Cancel-safe.
    pub async fn ended(&self) {
        tokio::select! {
            () = self.revoked.cancelled() => {}
            () = self.expired() => {}
        }
    }

    /// Resolves when an open stream must not go on: the token has ended, or may see other sessions than before.
    /// Cancel-safe.
    pub async fn stream_ended(&self) {
        tokio::select! {
            () = self.ended() => {}
            () = self.relabelled.cancelled(), if self.limit().is_some() => {}
        }
    }

    async fn expired(&self) {
        let Some(expires) = self.token.as_ref().and_then(|token| token.expires_at) else {
            return std::future::pending().await;
        };
        while let Ok(left) = u64::try_from(expires - Timestamp::now().as_millisecond())
            && left > 0
        {
            tokio::time::sleep(Duration::from_millis(left).min(LOOK_EVERY)).await;
        }
    }
}
