//! Requests that a client does in our host's place, and how long we wait for it.
//!
//! A file that a client leaves undone is read or written by ourselves: twice does no harm. A command is
//! never run a second time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use omniglot_agents::{
    Exit, HostError, HostErrorKind, HostKey, HostOutcome, ReadFile, TerminalStart, TerminalText,
};
use omniglot_schema::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::terminal::Text;
use super::{HostContext, HostEvent, tell};
use crate::agent::client_host::{
    ClientHostOffer, ClientHostRequest, ClientHosts, ClientTerminal, TerminalUpdate,
};

/// Whom a session's host may send.
#[derive(Debug, Clone)]
pub(crate) struct ClientHostLookup {
    pub(crate) client_hosts: ClientHosts,
    pub(crate) session: SessionId,
}

pub(super) type ClientHostSender = mpsc::Sender<ClientHostRequest>;

/// How long a client may take for a file, or to start a command.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to end one.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// The messages of a command that are buffered before we listen.
const MAX_EVENTS: usize = 16;

impl ClientHostLookup {
    pub(super) fn find(&self, wanted: fn(&ClientHostOffer) -> bool) -> Option<ClientHostSender> {
        self.client_hosts.client(&self.session, wanted)
    }
}

/// `None` when the client left it undone.
pub(super) async fn read(client: &ClientHostSender, file: ReadFile) -> Option<Result<String, HostError>> {
    let (done, answer) = oneshot::channel();
    answered(client, ClientHostRequest::Read { file, done }, answer).await
}

/// `None` when the client left it undone.
pub(super) async fn write(
    client: &ClientHostSender,
    path: PathBuf,
    content: String,
) -> Option<Result<(), HostError>> {
    let (done, answer) = oneshot::channel();
    answered(client, ClientHostRequest::Write { path, content, done }, answer).await
}

async fn answered<T>(
    client: &ClientHostSender,
    request: ClientHostRequest,
    answer: oneshot::Receiver<T>,
) -> Option<T> {
    let done = async {
        client.send(request).await.ok()?;
        answer.await.ok()
    };
    timeout(CLIENT_TIMEOUT, done).await.ok().flatten()
}

/// A command that a client runs.
pub(super) struct ClientCommand {
    pub(super) key: HostKey,
    pub(super) context: Arc<HostContext>,
    pub(super) events: mpsc::Sender<HostEvent>,
    /// Ends the command.
    pub(super) end: CancellationToken,
}

impl ClientCommand {
    pub(super) async fn run(self, client: ClientHostSender, start: TerminalStart) {
        match self.begin(&client, start).await {
            Err(error) => self.tell(HostOutcome::Started(Err(error))).await,
            Ok(updates) => {
                self.tell(HostOutcome::Started(Ok(()))).await;
                let exit = self.listen(updates).await;
                self.tell(HostOutcome::Ended(exit)).await;
            }
        }
    }

    async fn begin(
        &self,
        client: &ClientHostSender,
        mut start: TerminalStart,
    ) -> Result<mpsc::Receiver<TerminalUpdate>, HostError> {
        start.cwd = Some(self.context.directory(start.cwd)?);
        let (sender, mut updates) = mpsc::channel(MAX_EVENTS);
        let terminal = ClientTerminal { updates: sender, end: self.end.clone() };
        let begun = async {
            client.send(ClientHostRequest::Run { start, terminal }).await.ok()?;
            updates.recv().await
        };
        let begun = timeout(CLIENT_TIMEOUT, begun);
        let Some(begun) = self.end.run_until_cancelled(begun).await else {
            return Err(failed("it was ended before the client had started it".to_owned()));
        };
        match begun {
            Ok(Some(TerminalUpdate::Started(started))) => started.map(|()| updates),
            Ok(_) => Err(failed("the client left before it started the command".to_owned())),
            Err(_) => {
                Err(failed(format!("the client did not start it within {} s", CLIENT_TIMEOUT.as_secs())))
            }
        }
    }

    async fn listen(&self, mut updates: mpsc::Receiver<TerminalUpdate>) -> Exit {
        let mut text = Text::new(self.context.whole_lines);
        let exit = loop {
            let told = tokio::select! {
                told = updates.recv() => told,
                () = overdue(&self.end) => None,
            };
            match told {
                Some(TerminalUpdate::Said(more)) => self.say(text.push(more.as_bytes())).await,
                Some(TerminalUpdate::Ended(exit)) => break exit,
                Some(TerminalUpdate::Started(_)) => {}
                // Nobody can tell any more how it ended.
                None => break Exit { code: None, signal: None },
            }
        };
        self.say(text.finish()).await;
        exit
    }

    async fn say(&self, text: String) {
        if !text.is_empty() {
            self.tell(HostOutcome::Said(TerminalText { text, masked: None })).await;
        }
    }

    async fn tell(&self, outcome: HostOutcome) {
        tell(&self.events, self.key, outcome).await;
    }
}

async fn overdue(end: &CancellationToken) {
    end.cancelled().await;
    sleep(END_TIMEOUT).await;
}

fn failed(message: String) -> HostError {
    HostError::new(HostErrorKind::Failed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(offer: ClientHostOffer) -> (ClientHostSender, crate::agent::client_host::ClientHost) {
        let client_hosts = ClientHosts::default();
        let session = SessionId::parse("s").unwrap();
        let client_host = client_hosts.add_client_host(session.clone(), offer);
        (ClientHostLookup { client_hosts, session }.find(|_| true).unwrap(), client_host)
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_left_undone_by_a_client_that_goes_or_never_answers() {
        let (gone, client_host) = client(ClientHostOffer::default());
        drop(client_host);
        assert_eq!(read(&gone, ReadFile::default()).await, None);
        let (silent, mut client_host) = client(ClientHostOffer::default());
        let (read, request) = tokio::join!(read(&silent, ReadFile::default()), client_host.next());
        assert_eq!(read, None);
        assert!(matches!(request, Some(ClientHostRequest::Read { .. })));
    }

    #[tokio::test]
    async fn a_client_answers_for_a_file() {
        let (sender, mut client_host) = client(ClientHostOffer::default());
        let work = async {
            let Some(ClientHostRequest::Read { file, done }) = client_host.next().await else {
                panic!("a request to read")
            };
            done.send(Ok(format!("text of {}", file.path.display()))).unwrap();
        };
        let file = ReadFile { path: "/w/a".into(), ..ReadFile::default() };
        let (read, ()) = tokio::join!(read(&sender, file), work);
        assert_eq!(read, Some(Ok("text of /w/a".to_owned())));
    }
}
