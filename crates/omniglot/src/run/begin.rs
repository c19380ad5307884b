//! The beginning of a run: finds or becomes the daemon, opens the session, posts the message.
//!
//! `turn` watches the turn; nothing is printed here, so that a spinner can run beside it.

use omniglot_client::{ClientError, Receipt};
use omniglot_runtime::Backlog;
use omniglot_schema::MessageRequest;

use super::session::{Opened, Wanted};
use crate::connect::{ATTEMPTS, Connection, Home, explain, is_lost};

/// The parameters of a run.
pub(crate) struct Task {
    pub(crate) home: Home,
    pub(crate) wanted: Wanted,
    pub(crate) message: MessageRequest,
    /// The idempotency key, with which the message can be repeated without being posted twice.
    pub(crate) key: String,
}

/// A turn that runs, or waits for the one before it.
pub(crate) struct Begun {
    pub(crate) connection: Connection,
    pub(crate) opened: Opened,
    pub(crate) receipt: Receipt,
}

impl Task {
    pub(crate) async fn begin(&mut self) -> anyhow::Result<Begun> {
        let mut attempt = 1;
        loop {
            let connection = self.home.connect(Backlog::Deliver).await?;
            match self.post(&connection).await {
                Ok((opened, receipt)) => return Ok(Begun { connection, opened, receipt }),
                Err(error) => {
                    connection.close().await?;
                    match error.downcast::<ClientError>() {
                        // The daemon was exiting.
                        Ok(error) if is_lost(&error) && attempt < ATTEMPTS => attempt += 1,
                        Ok(error) => return Err(explain(error)),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
    }

    async fn post(&mut self, connection: &Connection) -> anyhow::Result<(Opened, Receipt)> {
        let opened = self.wanted.open(&connection.client).await?;
        let receipt = connection.client.post(&self.wanted.id, &self.message, Some(&self.key)).await?;
        Ok((opened, receipt))
    }
}
