//! Runs one task at the daemon of a data directory: finds or becomes it, does the work, disconnects.

use omniglot_client::{Client, ClientError};
use omniglot_runtime::Backlog;

use crate::cli::DataDirArgs;
use crate::connect::{ATTEMPTS, Home, explain, is_lost};

/// Does `work`, again over another connection if the daemon was exiting. Where this process becomes the
/// daemon, queued messages stay queued.
pub(crate) async fn with_daemon<T>(
    data: &DataDirArgs,
    work: impl AsyncFn(&Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let home = Home::of(data)?;
    let mut attempt = 1;
    loop {
        let connection = home.connect(Backlog::Keep).await?;
        let done = work(&connection.client).await;
        connection.leave().await?;
        match done.map_err(|error| error.downcast::<ClientError>()) {
            Ok(value) => return Ok(value),
            Err(Ok(error)) if is_lost(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(Ok(error)) => return Err(explain(error)),
            Err(Err(error)) => return Err(error),
        }
    }
}
