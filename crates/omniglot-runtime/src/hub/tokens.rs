//! The named tokens of the daemon: made, listed, revoked and recognised. The store keeps hashes of their secrets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use omniglot_schema::{AuditCall, AuditEntry, CreateTokenRequest, CreatedToken, Scope, TokenInfo};
use omniglot_store::{AuditQuery, Store, TokenRecord};
use subtle::ConstantTimeEq as _;
use tokio_util::sync::CancellationToken;

use super::{Hub, lock};
use crate::caller::{Caller, OWNER};
use crate::digest::sha256;
use crate::error::RuntimeError;

/// Tells a person, and programs that search for leaked secrets, what this is.
pub const NAMED_TOKEN_PREFIX: &str = "omniglot_";
const SECRET_BYTES: usize = 32;
const MAX_NAME: usize = 64;
const MAX_TOKENS: usize = 1000;

/// The tokens that the daemon knows.
pub(super) struct Tokens {
    known: Mutex<Vec<Known>>,
    /// Held while a token is made: of two with the same name only one is.
    making: tokio::sync::Mutex<()>,
    /// Ends the streams of limited tokens when labels change.
    relabelled: Mutex<CancellationToken>,
    label_changes: AtomicU64,
}

/// The meaning of a secret among the named tokens.
#[derive(Debug)]
pub enum NamedToken {
    Unknown,
    /// It was revoked or has expired, and means nobody any more.
    Ended,
    Valid(Box<Caller>),
}

struct Known {
    record: TokenRecord,
    revoked: CancellationToken,
}

impl Known {
    fn new(record: TokenRecord) -> Self {
        Self { record, revoked: CancellationToken::new() }
    }
}

impl Tokens {
    pub(super) async fn load(store: &Store) -> Result<Self, RuntimeError> {
        let known = store.tokens().await?.into_iter().map(Known::new).collect();
        Ok(Self {
            known: Mutex::new(known),
            making: tokio::sync::Mutex::default(),
            relabelled: Mutex::default(),
            label_changes: AtomicU64::default(),
        })
    }

    /// The time that this takes does not depend on how much of a secret is right.
    fn find(&self, secret: &str) -> NamedToken {
        let hash = sha256(secret.as_bytes());
        let known = lock(&self.known);
        let same = |known: &Known| bool::from(known.record.hash.as_bytes().ct_eq(hash.as_bytes()));
        let found = known.iter().fold(None, |found, known| if same(known) { Some(known) } else { found });
        let Some(Known { record, revoked }) = found else { return NamedToken::Unknown };
        if !record.info.is_valid_at(Timestamp::now().as_millisecond()) {
            return NamedToken::Ended;
        }
        let relabelled = lock(&self.relabelled).clone();
        NamedToken::Valid(Box::new(Caller::of_token(record.info.clone(), revoked.clone(), relabelled)))
    }

    /// Returns how often labels have changed since the daemon started.
    pub(super) fn label_changes(&self) -> u64 {
        self.label_changes.load(Ordering::Acquire)
    }

    /// Ends the streams of limited tokens, which begin again with what the tokens see now.
    pub(super) fn labels_changed(&self) {
        self.label_changes.fetch_add(1, Ordering::Release);
        let mut relabelled = self.relabelled.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *relabelled).cancel();
    }
}

impl Hub {
    /// Returns the named token that a secret is.
    pub fn named_token(&self, secret: &str) -> NamedToken {
        self.inner.tokens.find(secret)
    }

    /// Makes a token. Its secret is in this answer and nowhere else.
    pub async fn create_token(&self, request: CreateTokenRequest) -> Result<CreatedToken, RuntimeError> {
        let tokens = &self.inner.tokens;
        let _making = tokens.making.lock().await;
        let now = Timestamp::now().as_millisecond();
        check(&request)?;
        self.check_room(&request.name, now)?;
        let expires_at = request.expires_in_seconds.map(|seconds| after(now, seconds)).transpose()?;
        let secret = format!("{NAMED_TOKEN_PREFIX}{}", random_hex()?);
        let info = TokenInfo {
            id: format!("tok_{}", uuid::Uuid::now_v7().simple()),
            name: request.name,
            scope: request.scope,
            sessions: request.sessions,
            created_at: now,
            expires_at,
            revoked_at: None,
        };
        let record = TokenRecord { info: info.clone(), hash: sha256(secret.as_bytes()) };
        self.committed(self.inner.store.put_token(record.clone())).await?;
        lock(&tokens.known).push(Known::new(record));
        Ok(CreatedToken { info, secret })
    }

    /// Names are told as authors, so no two tokens have the same one at the same time.
    fn check_room(&self, name: &str, now: i64) -> Result<(), RuntimeError> {
        let known = lock(&self.inner.tokens.known);
        let mut valid = known.iter().filter(|known| known.record.info.is_valid_at(now));
        if valid.clone().count() >= MAX_TOKENS {
            return Err(RuntimeError::Overloaded(format!(
                "there are {MAX_TOKENS} tokens; revoke some first"
            )));
        }
        match valid.find(|known| known.record.info.name == name) {
            Some(_) => Err(RuntimeError::TokenExists(name.to_owned())),
            None => Ok(()),
        }
    }

    /// All tokens, also those that are revoked or expired, oldest first.
    pub fn tokens(&self) -> Vec<TokenInfo> {
        lock(&self.inner.tokens.known).iter().map(|known| known.record.info.clone()).collect()
    }

    /// Refuses the token from now on and ends its streams; one that was revoked before stays so.
    pub async fn revoke_token(&self, id: &str) -> Result<TokenInfo, RuntimeError> {
        let record = {
            let mut known = lock(&self.inner.tokens.known);
            let found = known.iter_mut().find(|known| known.record.info.id == id);
            let Known { record, revoked } =
                found.ok_or_else(|| RuntimeError::TokenNotFound(id.to_owned()))?;
            record.info.revoked_at.get_or_insert_with(|| Timestamp::now().as_millisecond());
            // At once, also when the log cannot be written.
            revoked.cancel();
            record.clone()
        };
        self.committed(self.inner.store.put_token(record.clone())).await?;
        Ok(record.info)
    }

    /// Adds a call to the audit. Does not wait until it is written.
    pub fn record_call(&self, call: AuditCall) {
        drop(self.inner.store.record_call(call));
    }

    /// Entries of the audit, oldest first.
    pub async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, RuntimeError> {
        Ok(self.inner.store.audit(query).await?)
    }
}

fn check(request: &CreateTokenRequest) -> Result<(), RuntimeError> {
    let CreateTokenRequest { name, scope, sessions, .. } = request;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'@' | b'-');
    let refuse = |why: String| Err(RuntimeError::InvalidRequest(why));
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(allowed) {
        return refuse(format!("the name of a token has 1 to {MAX_NAME} characters of A-Z a-z 0-9 . _ @ -"));
    }
    if name == OWNER {
        return refuse(format!("`{OWNER}` is the name of the daemon's own token; choose another"));
    }
    let Some(label) = sessions else { return Ok(()) };
    if matches!(scope, Scope::Admin | Scope::Metrics) {
        return refuse(format!("a token of scope {scope} cannot be limited to some sessions"));
    }
    label.check().map_err(|error| RuntimeError::InvalidRequest(error.to_string()))
}

fn after(now: i64, seconds: u64) -> Result<i64, RuntimeError> {
    let milliseconds = i64::try_from(seconds).ok().filter(|s| *s > 0).and_then(|s| s.checked_mul(1000));
    let expires = milliseconds.and_then(|milliseconds| now.checked_add(milliseconds));
    expires.ok_or_else(|| RuntimeError::InvalidRequest("`expiresInSeconds` is out of range".into()))
}

fn random_hex() -> Result<String, RuntimeError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| RuntimeError::Store(std::io::Error::other(error.to_string()).into()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
