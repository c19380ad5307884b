//! The routes as methods.

use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStream;
use omniglot_schema::{
    AgentCheck, AgentInstallRequest, AgentInstallResponse, AgentListResponse, AgentModelsResponse,
    AgentModesResponse, AuditResponse, CancelRequest, CreateSessionRequest, CreateSessionResponse,
    CreateTokenRequest, CreatedToken, DaemonStatus, DeadLettersResponse, Delivered, EventsResponse,
    ForkRequest, HealthResponse, HookInfo, HookListResponse, HookRetryResponse, HookTestResponse,
    ImportResponse, Label, MessageId, MessageRequest, PermissionReplyRequest, ProblemDetails,
    QuestionReplyRequest, QueueOnCancel, RevertRequest, RevertResponse, SearchResponse, SessionDetail,
    SessionId, SessionInfo, SessionListResponse, SessionPatch, TokenInfo, TokenListResponse, TurnId,
    UniversalEventType,
};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, Url};
use serde::de::DeserializeOwned;

use crate::error::ClientError;
use crate::stream::{EventStream, FrameStream};
use crate::tls::Trust;
use crate::transport::{Call, Transport};

/// The timeout for connecting to a daemon, and for its health and status.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The client of one daemon. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    base: Url,
    token: Option<String>,
}

/// The daemon has committed a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub message_id: MessageId,
    pub delivered: Delivered,
}

/// The filter of a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub limit: Option<u64>,
    /// Only sessions created before this one.
    pub after: Option<SessionId>,
    pub agent: Option<String>,
    pub ended: Option<bool>,
    /// Only sessions with all of these labels.
    pub labels: Vec<Label>,
}

/// The filter of a read of events.
#[derive(Debug, Clone, Default)]
pub struct EventsQuery {
    /// The last sequence seen.
    pub offset: u64,
    pub limit: Option<u64>,
    /// All when empty.
    pub types: Vec<UniversalEventType>,
    pub include_raw: bool,
}

/// The position where an event stream begins.
#[derive(Debug, Clone, Default)]
pub enum StreamFrom {
    #[default]
    Start,
    /// After this sequence.
    Offset(u64),
    /// After the event with this id; refused if the id belongs to another log.
    Id(String),
}

impl Client {
    /// `address` such as `http://127.0.0.1:2468`, `unix:/run/omniglot.sock` or `https://box.example.com:2468`.
    pub fn new(address: &str, token: Option<String>) -> Result<Self, ClientError> {
        Self::trusting(address, token, Trust::default())
    }

    /// As [`Self::new`]; of daemons that speak TLS, believes those that `trust` says.
    pub fn trusting(address: &str, token: Option<String>, trust: Trust) -> Result<Self, ClientError> {
        let (transport, base) = Transport::to(address, trust)?;
        Ok(Self { transport, base, token })
    }

    /// Answered at once by a daemon that works.
    pub async fn health(&self) -> Result<HealthResponse, ClientError> {
        read(self.get(&["v1", "health"]).timeout(CONNECT_TIMEOUT).send().await?).await
    }

    /// Returns the daemon's identity and start time; answered at once by a daemon that works.
    pub async fn daemon(&self) -> Result<DaemonStatus, ClientError> {
        read(self.get(&["v1", "daemon"]).timeout(CONNECT_TIMEOUT).send().await?).await
    }

    /// `Err` with the reason while the daemon cannot serve sessions.
    pub async fn ready(&self) -> Result<(), ClientError> {
        accepted(self.get(&["readyz"]).send().await?).await.map(drop)
    }

    pub async fn agents(&self) -> Result<AgentListResponse, ClientError> {
        read(self.get(&["v1", "agents"]).send().await?).await
    }

    /// Returns the agents when the versions of all of them are known, as far as they can be found out.
    pub async fn agents_with_versions(&self) -> Result<AgentListResponse, ClientError> {
        let query = [("versions", Some("true".to_owned()))];
        read(self.request(Method::GET, &["v1", "agents"], &query).send().await?).await
    }

    /// Installs a version of the agent, and waits for as long as it takes.
    pub async fn install_agent(
        &self,
        agent: &str,
        request: &AgentInstallRequest,
    ) -> Result<AgentInstallResponse, ClientError> {
        let path = ["v1", "agents", agent, "install"];
        let request = self.request(Method::POST, &path, &[]).json(request);
        read(request.header(ACCEPT, "application/json").send().await?).await
    }

    pub async fn models(&self, agent: &str) -> Result<AgentModelsResponse, ClientError> {
        read(self.get(&["v1", "agents", agent, "models"]).send().await?).await
    }

    pub async fn modes(&self, agent: &str) -> Result<AgentModesResponse, ClientError> {
        read(self.get(&["v1", "agents", agent, "modes"]).send().await?).await
    }

    /// Checks whether the agent works.
    pub async fn check_agent(&self, agent: &str) -> Result<AgentCheck, ClientError> {
        let path = ["v1", "agents", agent, "check"];
        read(self.request(Method::POST, &path, &[]).send().await?).await
    }

    pub async fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionInfo>, ClientError> {
        let label = |label: &Label| ("label", Some(format!("{}:{}", label.key, label.value)));
        let mut query = vec![
            ("limit", filter.limit.map(|limit| limit.to_string())),
            ("after", filter.after.as_ref().map(ToString::to_string)),
            ("agent", filter.agent.clone()),
            ("ended", filter.ended.map(|ended| ended.to_string())),
        ];
        query.extend(filter.labels.iter().map(label));
        let request = self.request(Method::GET, &["v1", "sessions"], &query);
        Ok(read::<SessionListResponse>(request.send().await?).await?.sessions)
    }

    /// Finds items of all sessions by their words.
    pub async fn search(&self, words: &str, limit: Option<u64>) -> Result<SearchResponse, ClientError> {
        let query = [("q", Some(words.to_owned())), ("limit", limit.map(|limit| limit.to_string()))];
        read(self.request(Method::GET, &["v1", "search"], &query).send().await?).await
    }

    /// Makes a named token. Only this answer has its secret.
    pub async fn create_token(&self, request: &CreateTokenRequest) -> Result<CreatedToken, ClientError> {
        read(self.request(Method::POST, &["v1", "tokens"], &[]).json(request).send().await?).await
    }

    /// Returns all named tokens, oldest first.
    pub async fn tokens(&self) -> Result<Vec<TokenInfo>, ClientError> {
        let response = self.get(&["v1", "tokens"]).send().await?;
        Ok(read::<TokenListResponse>(response).await?.tokens)
    }

    pub async fn revoke_token(&self, id: &str) -> Result<(), ClientError> {
        let request = self.request(Method::DELETE, &["v1", "tokens", id], &[]);
        accepted(request.send().await?).await.map(drop)
    }

    /// Returns a page of the audit: entries after this number and since this time, in milliseconds since 1970.
    pub async fn audit(&self, after: u64, since: Option<i64>) -> Result<AuditResponse, ClientError> {
        let query = [("after", Some(after.to_string())), ("since", since.map(|since| since.to_string()))];
        read(self.request(Method::GET, &["v1", "audit"], &query).send().await?).await
    }

    /// Returns all hooks, in the order of the configuration.
    pub async fn hooks(&self) -> Result<Vec<HookInfo>, ClientError> {
        let response = self.get(&["v1", "hooks"]).send().await?;
        Ok(read::<HookListResponse>(response).await?.hooks)
    }

    /// Returns the dead letters of a hook.
    pub async fn dead_letters(&self, hook: &str) -> Result<DeadLettersResponse, ClientError> {
        read(self.get(&["v1", "hooks", hook, "dead"]).send().await?).await
    }

    /// Sends dead letters of a hook again, all or the one of this id.
    pub async fn retry_hook(&self, hook: &str, id: Option<&str>) -> Result<HookRetryResponse, ClientError> {
        let query = [("id", id.map(str::to_owned))];
        read(self.request(Method::POST, &["v1", "hooks", hook, "retry"], &query).send().await?).await
    }

    /// Calls a hook at once and returns what became of it.
    pub async fn test_hook(&self, hook: &str) -> Result<HookTestResponse, ClientError> {
        read(self.request(Method::POST, &["v1", "hooks", hook, "test"], &[]).send().await?).await
    }

    pub async fn create(
        &self,
        id: &SessionId,
        request: &CreateSessionRequest,
    ) -> Result<CreateSessionResponse, ClientError> {
        read(self.post_to(id, &[]).json(request).send().await?).await
    }

    pub async fn detail(&self, id: &SessionId) -> Result<SessionDetail, ClientError> {
        read(self.get(&["v1", "sessions", id.as_str()]).send().await?).await
    }

    /// Returns the session as it is after the change.
    pub async fn patch(&self, id: &SessionId, patch: &SessionPatch) -> Result<SessionDetail, ClientError> {
        let request = self.request(Method::PATCH, &["v1", "sessions", id.as_str()], &[]);
        read(request.json(patch).send().await?).await
    }

    /// Makes `new` a session that continues from the present state of `id`.
    pub async fn fork(&self, id: &SessionId, new: &SessionId) -> Result<CreateSessionResponse, ClientError> {
        self.fork_before(id, new, None).await
    }

    /// Makes `new` a session that continues from the state of `id` before a turn.
    pub async fn fork_before(
        &self,
        id: &SessionId,
        new: &SessionId,
        before_turn: Option<TurnId>,
    ) -> Result<CreateSessionResponse, ClientError> {
        let request = ForkRequest { session_id: new.clone(), before_turn };
        read(self.post_to(id, &["fork"]).json(&request).send().await?).await
    }

    /// Restores the files that a turn changed.
    pub async fn revert(
        &self,
        id: &SessionId,
        request: &RevertRequest,
    ) -> Result<RevertResponse, ClientError> {
        read(self.post_to(id, &["revert"]).json(request).send().await?).await
    }

    /// Takes a revert back.
    pub async fn unrevert(
        &self,
        id: &SessionId,
        request: &RevertRequest,
    ) -> Result<RevertResponse, ClientError> {
        read(self.post_to(id, &["unrevert"]).json(request).send().await?).await
    }

    /// Creates the session `id` from an export. `file` is streamed as it is read.
    pub async fn import(
        &self,
        id: &SessionId,
        directory: Option<&str>,
        file: impl TryStream<Ok = Bytes, Error = std::io::Error> + Send + 'static,
    ) -> Result<ImportResponse, ClientError> {
        let path = ["v1", "sessions", id.as_str(), "import"];
        let query = [("directory", directory.map(str::to_owned))];
        let request = self.request(Method::POST, &path, &query);
        let request = request.header(CONTENT_TYPE, "application/x-ndjson");
        read(request.body(reqwest::Body::wrap_stream(file)).send().await?).await
    }

    /// Compacts the agent's context, in a turn of its own.
    pub async fn compact(&self, id: &SessionId) -> Result<Receipt, ClientError> {
        receipt(&accepted(self.post_to(id, &["compact"]).send().await?).await?)
    }

    pub async fn delete(&self, id: &SessionId) -> Result<(), ClientError> {
        self.delete_with(id, false).await
    }

    /// Deletes the session; `force` also loses what is in its worktree alone.
    pub async fn delete_with(&self, id: &SessionId, force: bool) -> Result<(), ClientError> {
        let query = [("force", force.then(|| "true".to_owned()))];
        let request = self.request(Method::DELETE, &["v1", "sessions", id.as_str()], &query);
        accepted(request.send().await?).await.map(drop)
    }

    /// Returns once the message is committed. With a `key` it can be repeated without harm.
    pub async fn post(
        &self,
        id: &SessionId,
        message: &MessageRequest,
        key: Option<&str>,
    ) -> Result<Receipt, ClientError> {
        let request = with_key(self.post_to(id, &["messages"]), key);
        receipt(&accepted(request.json(message).send().await?).await?)
    }

    /// Posts a message and streams the turn that answers it.
    pub async fn post_stream(
        &self,
        id: &SessionId,
        message: &MessageRequest,
        key: Option<&str>,
    ) -> Result<(Receipt, EventStream), ClientError> {
        let request = with_key(self.post_to(id, &["messages", "stream"]), key);
        let response = accepted(request.json(message).send().await?).await?;
        Ok((receipt(&response)?, events_of(response)))
    }

    /// Removes a message from the queue.
    pub async fn remove_queued(&self, id: &SessionId, message: &MessageId) -> Result<(), ClientError> {
        let path = ["v1", "sessions", id.as_str(), "messages", message.as_str()];
        accepted(self.request(Method::DELETE, &path, &[]).send().await?).await.map(drop)
    }

    /// Fetches the bytes of a blob, by the path in an event or in the state.
    pub async fn blob(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        Ok(self.typed_blob(path).await?.1)
    }

    /// Fetches the media type and the bytes of a blob.
    pub async fn typed_blob(&self, path: &str) -> Result<(String, Vec<u8>), ClientError> {
        let path: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let response = accepted(self.get(&path).send().await?).await?;
        let mime = header(response.headers(), "content-type").unwrap_or_default().to_owned();
        Ok((mime, response.bytes().await?.into()))
    }

    pub async fn events(&self, id: &SessionId, query: &EventsQuery) -> Result<EventsResponse, ClientError> {
        let types: Vec<&str> = query.types.iter().map(|kind| kind.as_str()).collect();
        let pairs = [
            ("offset", Some(query.offset.to_string())),
            ("limit", query.limit.map(|limit| limit.to_string())),
            ("types", (!types.is_empty()).then(|| types.join(","))),
            ("include_raw", query.include_raw.then(|| "true".to_owned())),
        ];
        let path = ["v1", "sessions", id.as_str(), "events"];
        read(self.request(Method::GET, &path, &pairs).send().await?).await
    }

    /// Streams all events from there on, then new ones.
    pub async fn sse(
        &self,
        id: &SessionId,
        from: &StreamFrom,
        include_raw: bool,
    ) -> Result<EventStream, ClientError> {
        let offset = match from {
            StreamFrom::Offset(offset) => Some(offset.to_string()),
            StreamFrom::Start | StreamFrom::Id(_) => None,
        };
        let pairs = [("offset", offset), ("include_raw", include_raw.then(|| "true".to_owned()))];
        let mut request =
            self.request(Method::GET, &["v1", "sessions", id.as_str(), "events", "sse"], &pairs);
        if let StreamFrom::Id(id) = from {
            request = request.header("last-event-id", id);
        }
        let response = accepted(request.header(ACCEPT, "text/event-stream").send().await?).await?;
        Ok(events_of(response))
    }

    /// Streams the events of all sessions behind this cursor, without one those that come from now on.
    pub async fn all_events(&self, after: Option<&str>, deltas: bool) -> Result<FrameStream, ClientError> {
        let pairs = [("offset", after.map(str::to_owned)), ("deltas", deltas.then(|| "true".to_owned()))];
        let request = self.request(Method::GET, &["v1", "events", "sse"], &pairs);
        let response = accepted(request.header(ACCEPT, "text/event-stream").send().await?).await?;
        Ok(FrameStream::new(response.bytes_stream()))
    }

    pub async fn reply_permission(
        &self,
        id: &SessionId,
        permission: &str,
        reply: &PermissionReplyRequest,
    ) -> Result<(), ClientError> {
        let request = self.post_to(id, &["permissions", permission, "reply"]);
        accepted(request.json(reply).send().await?).await.map(drop)
    }

    pub async fn reply_question(
        &self,
        id: &SessionId,
        question: &str,
        reply: &QuestionReplyRequest,
    ) -> Result<(), ClientError> {
        let request = self.post_to(id, &["questions", question, "reply"]);
        accepted(request.json(reply).send().await?).await.map(drop)
    }

    pub async fn reject_question(&self, id: &SessionId, question: &str) -> Result<(), ClientError> {
        accepted(self.post_to(id, &["questions", question, "reject"]).send().await?).await.map(drop)
    }

    pub async fn cancel(&self, id: &SessionId, queue: QueueOnCancel) -> Result<(), ClientError> {
        let request = self.post_to(id, &["cancel"]).json(&CancelRequest { queue: Some(queue) });
        accepted(request.send().await?).await.map(drop)
    }

    pub async fn terminate(&self, id: &SessionId) -> Result<(), ClientError> {
        accepted(self.post_to(id, &["terminate"]).send().await?).await.map(drop)
    }

    fn get(&self, path: &[&str]) -> Call {
        self.request(Method::GET, path, &[])
    }

    fn post_to(&self, id: &SessionId, rest: &[&str]) -> Call {
        let path = [&["v1", "sessions", id.as_str()], rest].concat();
        self.request(Method::POST, &path, &[])
    }

    pub(crate) fn request(&self, method: Method, path: &[&str], query: &[(&str, Option<String>)]) -> Call {
        let mut url = self.base.clone();
        // Never an error: `new` has checked that this address can have a path.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        for (name, value) in query {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        let request = self.transport.call(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

fn with_key(request: Call, key: Option<&str>) -> Call {
    match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    }
}

fn events_of(response: Response) -> EventStream {
    EventStream::new(FrameStream::new(response.bytes_stream()))
}

pub(crate) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, ClientError> {
    let bytes = accepted(response).await?.bytes().await?;
    Ok(serde_json::from_slice(&bytes)?)
}

pub(crate) async fn accepted(response: Response) -> Result<Response, ClientError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let bytes = response.bytes().await?;
    match serde_json::from_slice::<ProblemDetails>(&bytes) {
        Ok(problem) => Err(ClientError::Problem(Box::new(problem))),
        Err(_) => Err(ClientError::Unexpected(status)),
    }
}

fn receipt(response: &Response) -> Result<Receipt, ClientError> {
    let header = |name| header(response.headers(), name);
    let found = header("omniglot-message-id").zip(header("omniglot-delivery"));
    let (id, delivery) = found.ok_or(ClientError::Unexpected(response.status()))?;
    let delivered = serde_json::from_value(delivery.into())?;
    Ok(Receipt { message_id: MessageId(id.to_owned()), delivered })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_are_escaped_below_the_base() {
        let client = Client::new("http://h:1/below/", None).unwrap();
        let request =
            client.request(Method::GET, &["v1", "agents", "a/b c"], &[("agent", Some("ä&b".into()))]);
        assert_eq!(request.url().as_str(), "http://h:1/below/v1/agents/a%2Fb%20c?agent=%C3%A4%26b");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in ["", "127.0.0.1:1", "mailto:a@b", "unix:", "unix:o.sock", "ftp://h/"] {
            assert!(matches!(Client::new(bad, None), Err(ClientError::Url(_))), "{bad}");
        }
    }
}
