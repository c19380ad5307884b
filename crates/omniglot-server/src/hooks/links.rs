//! Links by which a person answers one request of an agent: made for a call, good for an hour and for one answer.
//!
//! The secret of a link is in the call alone; the store has its hash. A link allows once or rejects, never always, and
//! is dead as soon as its request is resolved.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use omniglot_runtime::digest::sha256;
use omniglot_schema::SessionId;
use omniglot_store::{HookRow, Store, StoreError};
use serde::{Deserialize, Serialize};

pub(super) const LINK: &str = "link";
const LIFE_MS: i64 = 3_600_000;
const SECRET_BYTES: usize = 32;
/// The most links that live at once; the one that ends first makes room.
const MOST: usize = 10_000;

/// The request that a link is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkTarget {
    pub(crate) session_id: SessionId,
    pub(crate) request_id: String,
    hook: String,
    expires_at: i64,
}

/// The links that live.
pub(super) struct Links {
    store: Store,
    /// By the hash of the secret.
    known: Mutex<HashMap<String, LinkTarget>>,
}

impl Links {
    pub(super) async fn load(store: &Store) -> Result<Self, StoreError> {
        let rows = store.hook_rows(LINK).await?;
        let known =
            rows.into_iter().filter_map(|row| Some((row.name, serde_json::from_str(&row.value).ok()?)));
        Ok(Self { store: store.clone(), known: Mutex::new(known.collect()) })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, LinkTarget>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a link and returns its secret once it is kept; `None` when there is no randomness or no log.
    pub(super) async fn make(
        &self,
        hook: &str,
        session: &SessionId,
        request: &str,
        now: Timestamp,
    ) -> Option<String> {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let target = LinkTarget {
            session_id: session.clone(),
            request_id: request.to_owned(),
            hook: hook.to_owned(),
            expires_at: now.as_millisecond().saturating_add(LIFE_MS),
        };
        let hash = sha256(secret.as_bytes());
        let mut rows = self.forget_old(now);
        rows.push(row(&target.hook, &hash, serde_json::to_string(&target).ok()));
        self.known().insert(hash, target);
        self.store.keep_hook_rows(rows).await.ok()?.ok()?;
        Some(secret)
    }

    /// Returns the request of a link that lives.
    pub(super) fn find(&self, secret: &str, now: Timestamp) -> Option<LinkTarget> {
        let target = self.known().get(&sha256(secret.as_bytes())).cloned()?;
        (target.expires_at > now.as_millisecond()).then_some(target)
    }

    /// Ends all links to a request.
    pub(super) fn end(&self, target: &LinkTarget) {
        let same = |other: &LinkTarget| {
            other.session_id == target.session_id && other.request_id == target.request_id
        };
        let rows = self.remove(|other| same(other));
        drop(self.store.keep_hook_rows(rows));
    }

    fn forget_old(&self, now: Timestamp) -> Vec<HookRow> {
        let mut rows = self.remove(|target| target.expires_at <= now.as_millisecond());
        let mut known = self.known();
        if known.len() >= MOST
            && let Some(oldest) = known.iter().min_by_key(|(_, target)| target.expires_at)
        {
            let hash = oldest.0.clone();
            rows.extend(known.remove(&hash).map(|target| row(&target.hook, &hash, None)));
        }
        rows
    }

    fn remove(&self, is_over: impl Fn(&LinkTarget) -> bool) -> Vec<HookRow> {
        let mut rows = vec![];
        self.known().retain(|hash, target| {
            let over = is_over(target);
            rows.extend(over.then(|| row(&target.hook, hash, None)));
            !over
        });
        rows
    }
}

fn row(hook: &str, hash: &str, value: Option<String>) -> HookRow {
    HookRow { kind: LINK, hook: hook.to_owned(), name: hash.to_owned(), value }
}

#[cfg(test)]
mod tests {
    use omniglot_store::Options;

    use super::*;

    #[tokio::test]
    async fn a_link_lives_for_an_hour_survives_a_restart_and_is_kept_as_a_hash() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let links = Links::load(&store).await.unwrap();
        let (now, session) = (Timestamp::from_second(1_800_000_000).unwrap(), SessionId::parse("s").unwrap());
        let secret = links.make("h", &session, "perm_1", now).await.unwrap();
        assert_eq!(secret.len(), 64, "256 bits");
        let kept = format!("{:?}", store.hook_rows(LINK).await.unwrap());
        assert!(kept.contains("perm_1") && !kept.contains(&secret), "{kept}");
        let links = Links::load(&store).await.unwrap();
        let later = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let target = links.find(&secret, later(3599)).unwrap();
        assert_eq!((target.request_id.as_str(), &target.session_id), ("perm_1", &session));
        assert_eq!(links.find(&secret, later(3600)), None);
        assert_eq!(links.find("", now), None);
        let second = links.make("h", &session, "perm_2", later(3600)).await.unwrap();
        assert_eq!(store.hook_rows(LINK).await.unwrap().len(), 1, "what has ended is removed");
        let target = links.find(&second, later(3601)).unwrap();
        links.end(&target);
        assert_eq!(links.find(&second, later(3601)), None);
        store.written().await.unwrap();
        assert!(store.hook_rows(LINK).await.unwrap().is_empty());
    }
}
