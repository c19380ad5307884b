//! One lock per session: whoever makes, wakes or deletes a session holds it, so that it happens once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use omniglot_schema::SessionId;
use tokio::sync::OwnedMutexGuard;

/// Locks that somebody holds or waits at.
#[derive(Debug, Default)]
pub(crate) struct SessionLocks {
    session_locks: Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>,
}

impl SessionLocks {
    pub(crate) async fn hold(&self, id: &SessionId) -> OwnedMutexGuard<()> {
        self.mutex(id).lock_owned().await
    }

    fn mutex(&self, id: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut session_locks = self.session_locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mutex) = session_locks.get(id).and_then(Weak::upgrade) {
            return mutex;
        }
        session_locks.retain(|_, mutex| mutex.strong_count() > 0);
        let mutex = Arc::default();
        session_locks.insert(id.clone(), Arc::downgrade(&mutex));
        mutex
    }
}
