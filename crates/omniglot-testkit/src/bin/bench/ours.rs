//! Omniglot as a subject: the REST face, a token, a data directory.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use omniglot_schema::{CreateSessionRequest, SessionStatus};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;

use crate::subject::{Agent, Programs, Subject};
use crate::subscriber::Subscriber;

pub(crate) struct Ours {
    daemon: Daemon,
    session: SessionDriver,
    /// The number of events before the first turn.
    base: u64,
}

impl Ours {
    /// Opens a stream of all events after `after`.
    pub(crate) async fn subscribe_after(&self, after: u64) -> anyhow::Result<Subscriber> {
        let Daemon { url, token, .. } = &self.daemon;
        let path = format!("/v1/sessions/bench/events/sse?offset={after}");
        let bearer = format!("Authorization: Bearer {token}\r\n");
        Subscriber::connect(url.trim_start_matches("http://"), &path, &bearer, after).await
    }
}

impl Subject for Ours {
    const NAME: &'static str = "omniglot";

    fn command(programs: &Programs, home: &Path, port: u16) -> anyhow::Result<Command> {
        let mut command = Command::new(&programs.omniglot);
        command.args(["serve", "--port", &port.to_string()]).env_clear();
        command.env("HOME", home).env("OMNIGLOT_HOME", home);
        Ok(command)
    }

    async fn start(programs: &Programs, agent: Agent) -> anyhow::Result<Self> {
        let clock = programs.bench.display().to_string();
        let config = format!("[agents.clock]\nprotocol = \"acp\"\ncommand = [{clock:?}, \"agent\"]\n");
        let daemon = Setup::new(&programs.omniglot).config(config).start();
        let agent = match agent {
            Agent::Mock => "mock",
            Agent::Clock => "clock",
        };
        let session =
            SessionDriver::create_with(&daemon.client, "bench", &CreateSessionRequest::new(agent)).await;
        let base = daemon.client.detail(&session.id).await?.info.event_count;
        Ok(Self { daemon, session, base })
    }

    fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    async fn subscribe(&self) -> anyhow::Result<Subscriber> {
        let mut subscriber = self.subscribe_after(self.base).await?;
        subscriber.until(b"event: caught_up").await?;
        Ok(subscriber)
    }

    /// Polls the session's row, which costs the daemon little, until the turn has ended.
    async fn turn(&self, prompt: &str) -> anyhow::Result<u64> {
        self.session.post(prompt).await;
        loop {
            let detail = self.session.client.detail(&self.session.id).await?;
            if detail.status == SessionStatus::Idle {
                return Ok(detail.info.event_count);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
