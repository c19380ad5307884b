//! Forwards the file and terminal requests of a session's agent to the client that offers its machine.
//!
//! The connection gives the client to ask and ends with it; `routes` turn each request into `fs/*` or
//! `terminal/*` requests. A request that the client cannot answer is dropped, and the runtime's own host
//! handles it.

mod terminal;

use agent_client_protocol_schema::v1::{
    ClientCapabilities, ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest,
};
use futures_util::TryFutureExt as _;
use omniglot_runtime::agent::client_host::{
    ClientHost, ClientHostOffer, ClientHostRequest, HostError, HostErrorKind, ReadFile,
};
use omniglot_schema::SessionId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Sends requests to one client. Cheap to clone.
pub(crate) trait AskClient: Clone + Send + Sync + 'static {
    /// Waits for the answer, for as long as the client is connected.
    fn ask(
        &self,
        method: &'static str,
        params: Box<RawValue>,
    ) -> impl Future<Output = Result<Box<RawValue>, Unanswered>> + Send;
}

/// The reason why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The client answered with an error.
    Refused { code: i64, message: String },
    /// The client is gone, or its answer is invalid.
    Gone,
}

/// Returns the host duties that the client's handshake offers.
pub(crate) fn offer(client: &ClientCapabilities) -> ClientHostOffer {
    ClientHostOffer {
        reads_files: client.fs.read_text_file,
        writes_files: client.fs.write_text_file,
        runs_commands: client.terminal,
    }
}

/// Serves requests until the client host or this future is dropped.
pub(crate) async fn serve(mut client_host: ClientHost, session: SessionId, client: impl AskClient) {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            request = client_host.next() => match request {
                Some(request) => drop(tasks.spawn(run(request, Caller { session: session.clone(), client: client.clone() }))),
                None => return,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
}

async fn run<C: AskClient>(request: ClientHostRequest, caller: Caller<C>) {
    match request {
        ClientHostRequest::Read { file, done } => answer(done, caller.read(file)).await,
        ClientHostRequest::Write { path, content, done } => {
            let request = WriteTextFileRequest::new(caller.session.to_string(), path, content);
            let written = caller.call::<serde::de::IgnoredAny>("fs/write_text_file", &request);
            answer(done, written.map_ok(drop)).await;
        }
        ClientHostRequest::Run { start, terminal } => terminal::run(start, terminal, caller).await,
    }
}

/// One client, for one session.
struct Caller<C> {
    session: SessionId,
    client: C,
}

impl<C: AskClient> Caller<C> {
    async fn read(&self, file: ReadFile) -> Result<String, Unanswered> {
        let ReadFile { path, line, limit } = file;
        let request = ReadTextFileRequest::new(self.session.to_string(), path).line(line).limit(limit);
        let answer: ReadTextFileResponse = self.call("fs/read_text_file", &request).await?;
        Ok(answer.content)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<T, Unanswered> {
        let params = serde_json::value::to_raw_value(params).map_err(|_| Unanswered::Gone)?;
        let result = self.client.ask(method, params).await?;
        serde_json::from_str(result.get()).map_err(|error| {
            tracing::debug!(%error, method, "an answer of a client");
            Unanswered::Gone
        })
    }
}

/// Drops a request without a valid answer, which its sender notices; one without a sender is not asked.
async fn answer<T>(
    mut done: oneshot::Sender<Result<T, HostError>>,
    result: impl Future<Output = Result<T, Unanswered>>,
) {
    let result = tokio::select! {
        result = result => result,
        () = done.closed() => return,
    };
    match result {
        Ok(value) => drop(done.send(Ok(value))),
        Err(Unanswered::Refused { code, message }) => drop(done.send(Err(refusal(code, message)))),
        Err(Unanswered::Gone) => {}
    }
}

/// JSON-RPC's "resource not found" of ACP, and "invalid params".
const NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;

fn refusal(code: i64, message: String) -> HostError {
    let kind = match code {
        NOT_FOUND => HostErrorKind::NotFound,
        INVALID_PARAMS => HostErrorKind::Refused,
        _ => HostErrorKind::Failed,
    };
    HostError::new(kind, message)
}
