//! One door per session: whoever makes, wakes or deletes a session holds it, so that it happens once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use omniglot_schema::SessionId;
use tokio::sync::OwnedMutexGuard;

/// Doors that somebody holds or waits at.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    doors: Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>,
}

impl Doors {
    pub(crate) async fn hold(&self, id: &SessionId) -> OwnedMutexGuard<()> {
        self.door(id).lock_owned().await
    }

    fn door(&self, id: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(door) = doors.get(id).and_then(Weak::upgrade) {
            return door;
        }
        doors.retain(|_, door| door.strong_count() > 0);
        let door = Arc::default();
        doors.insert(id.clone(), Arc::downgrade(&door));
        door
    }
}
