//! `omniglot acp`: an editor launches it as its agent. Relays ACP lines between stdio and the daemon.
//!
//! Reads of a message only whether it is a request, an answer or neither: the daemon interprets it. Only ACP
//! goes to stdout; messages for people go to stderr. The sessions are the daemon's and stay when the editor
//! exits.

mod daemon_link;
mod envelope;
mod outbound;
mod pending;
mod stream;
mod upstream;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::cli::AcpArgs;
use crate::print;
use crate::signals::StopSignals;
use daemon_link::DaemonLink;
use outbound::Outbound;
use pending::PendingRequests;
use upstream::Upstream;

/// The time for pending answers after the editor has closed stdin.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// The time for the daemon to disconnect us, and for the editor to read the last lines.
const LEAVING: Duration = Duration::from_secs(2);

/// The state that both directions share.
struct Relay {
    daemon_link: DaemonLink,
    /// Names this connection at the daemon.
    server: String,
    agent: Option<String>,
    pending: PendingRequests,
    /// The position in the daemon's stream up to which the editor has received messages.
    cursor: stream::Cursor,
    outbound: Outbound,
}

pub(crate) async fn run(args: AcpArgs) -> anyhow::Result<ExitCode> {
    let mut signals = StopSignals::listen()?;
    let (outbound, closed) = Outbound::start();
    let relay = Arc::new(Relay {
        daemon_link: DaemonLink::open(args.data).await?,
        server: format!("stdio-{}", uuid::Uuid::new_v4()),
        agent: args.agent,
        pending: PendingRequests::default(),
        cursor: stream::Cursor::default(),
        outbound,
    });
    let (wake, woken) = mpsc::channel(1);
    let upstream = Upstream::new(relay.clone(), woken);
    let done = tokio::select! {
        done = upstream.run(tokio::io::stdin()) => done,
        failed = stream::follow(relay.clone(), wake) => Err(failed),
        () = signals.next() => Ok(()),
        () = closed => Ok(()),
    };
    relay.leave().await;
    done.map(|()| ExitCode::SUCCESS)
}

impl Relay {
    async fn leave(&self) {
        let attached = self.daemon_link.attached().await;
        match timeout(LEAVING, attached.client.acp_leave(&self.server)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the daemon did not hear that we left"),
            Err(_) => tracing::debug!("the daemon took too long to let us go"),
        }
        if timeout(LEAVING, self.outbound.flush()).await.is_err() {
            tracing::debug!("the editor does not read its last lines");
        }
    }
}

/// Writes a message for the reader of the editor's log.
fn note(text: &str) {
    print::note(&format!("omniglot acp: {text}"));
}
