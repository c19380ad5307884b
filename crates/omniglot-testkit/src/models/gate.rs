//! A gate in a scripted answer: the server waits before it, the test opens it, without a sleep.

use std::sync::Arc;

use tokio::sync::watch;

/// Both ends of a gate; clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: Arc<watch::Sender<bool>>,
    open: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(watch::Sender::new(false)), open: Arc::new(watch::Sender::new(false)) }
    }
}

impl Gate {
    /// Lets the answer continue.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until everything before the gate has been sent.
    pub async fn reached(&self) {
        wait(&self.reached).await;
    }

    pub(crate) async fn pass(&self) {
        self.reached.send_replace(true);
        wait(&self.open).await;
    }
}

async fn wait(flag: &watch::Sender<bool>) {
    flag.subscribe().wait_for(|set| *set).await.expect("the gate itself holds its sender");
}
