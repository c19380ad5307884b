//! The agent's side of the protocol: answers methods, keeps open sessions, plays prompts one by one.
//!
//! Every method but `session/prompt` is answered at once, also while a prompt plays; prompts queue up.
//! Leaves framing to `rpc`, the course of a prompt to `turn`, and records to `store`.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Instant;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as METHODS, AgentCapabilities, AgentResponse, CLIENT_METHOD_NAMES, CancelNotification,
    CloseSessionRequest, CloseSessionResponse, ContentBlock, Error, ForkSessionRequest, ForkSessionResponse,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, RequestId, ResumeSessionRequest,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionForkCapabilities, SessionId,
    SessionListCapabilities, SessionNotification, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason,
};

use super::rpc::{Call, Exit, Incoming, Params, Wire};
use super::session::{Mode, Record, Session};
use super::store::{Store, StoreError};
use super::turn::Turn;

pub(super) struct Agent {
    inbox: Receiver<Incoming>,
    pub(super) wire: Wire,
    pub(super) errors: Box<dyn Write + Send>,
    store: Store,
    sessions: HashMap<SessionId, Session>,
    /// Prompts that arrived while another one plays.
    waiting: VecDeque<Call>,
    running: Option<Running>,
    /// The request of ours whose answer a script waits for; answers to others are too late.
    awaited: Option<RequestId>,
    answer: Option<Result<Params, Error>>,
}

struct Running {
    session: SessionId,
    cancelled: bool,
}

/// The limit of a wait for the next message.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    Not,
    Until(Instant),
    Forever,
}

impl Agent {
    pub(super) fn new(
        inbox: Receiver<Incoming>,
        wire: Wire,
        errors: Box<dyn Write + Send>,
        store: Store,
    ) -> Self {
        Self {
            inbox,
            wire,
            errors,
            store,
            sessions: HashMap::new(),
            waiting: VecDeque::new(),
            running: None,
            awaited: None,
            answer: None,
        }
    }

    /// Serves until the peer is gone or a script ends the process; returns the exit code.
    pub(super) fn run(mut self) -> u8 {
        loop {
            let step = match self.waiting.pop_front() {
                Some(call) => self.prompt(&call),
                None => self.receive(Wait::Forever).map(drop),
            };
            if let Err(Exit(code)) = step {
                return code;
            }
        }
    }

    /// Takes and handles one message; `false` if none arrived in time.
    pub(super) fn receive(&mut self, wait: Wait) -> Result<bool, Exit> {
        match self.next(wait)? {
            Some(message) => self.handle(message).map(|()| true),
            None => Ok(false),
        }
    }

    /// Takes one message, if one arrives in time.
    pub(super) fn next(&mut self, wait: Wait) -> Result<Option<Incoming>, Exit> {
        match wait {
            Wait::Not => match self.inbox.try_recv() {
                Ok(message) => Ok(Some(message)),
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(Exit::PEER_GONE),
            },
            Wait::Until(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                match self.inbox.recv_timeout(left) {
                    Ok(message) => Ok(Some(message)),
                    Err(RecvTimeoutError::Timeout) => Ok(None),
                    Err(RecvTimeoutError::Disconnected) => Err(Exit::PEER_GONE),
                }
            }
            Wait::Forever => self.inbox.recv().map(Some).map_err(|_| Exit::PEER_GONE),
        }
    }

    pub(super) fn handle(&mut self, message: Incoming) -> Result<(), Exit> {
        match message {
            Incoming::Call(call) if call.method == METHODS.session_prompt => {
                self.waiting.push_back(call);
                Ok(())
            }
            Incoming::Call(call) => self.respond(&call),
            Incoming::Notification { method, params } if method == METHODS.session_cancel => {
                params.parse().map_or(Ok(()), |cancel| self.cancel(&cancel))
            }
            // Unknown notifications must be ignored.
            Incoming::Notification { .. } => Ok(()),
            Incoming::Answer { id, outcome } => {
                if self.awaited.as_ref() == Some(&id) {
                    self.answer = Some(outcome);
                }
                Ok(())
            }
            Incoming::Malformed { id, error } => self.wire.respond::<()>(&id, &Err(error)),
            Incoming::Eof => Err(Exit::PEER_GONE),
        }
    }

    fn respond(&mut self, call: &Call) -> Result<(), Exit> {
        let outcome = self.dispatch(call);
        if let Ok(AgentResponse::LoadSessionResponse(_)) = &outcome {
            self.replay(call)?;
        }
        self.wire.respond(&call.id, &outcome)
    }

    fn dispatch(&mut self, call: &Call) -> Result<AgentResponse, Error> {
        let params = &call.params;
        let method = call.method.as_str();
        match method {
            _ if method == METHODS.initialize => initialize(&params.parse()?),
            _ if method == METHODS.session_new => self.new_session(params.parse()?),
            _ if method == METHODS.session_load => self.load(params.parse()?),
            _ if method == METHODS.session_resume => self.resume(params.parse()?),
            _ if method == METHODS.session_fork => self.fork(params.parse()?),
            _ if method == METHODS.session_list => self.list(&params.parse()?),
            _ if method == METHODS.session_close => self.close(&params.parse()?),
            _ if method == METHODS.session_set_mode => self.set_mode(&params.parse()?),
            _ if method == METHODS.session_set_config_option => self.set_config_option(&params.parse()?),
            _ => Err(Error::method_not_found().data(format!("no method {method}"))),
        }
    }

    fn new_session(&mut self, request: NewSessionRequest) -> Result<AgentResponse, Error> {
        check_cwd(&request.cwd)?;
        let record = self.store.create(request.cwd)?;
        let response = NewSessionResponse::new(record.id.clone())
            .modes(record.modes())
            .config_options(record.config_options());
        let session = Session { mcp: request.mcp_servers, ..Session::new(record) };
        self.sessions.insert(session.record.id.clone(), session);
        Ok(AgentResponse::NewSessionResponse(response))
    }

    fn load(&mut self, request: LoadSessionRequest) -> Result<AgentResponse, Error> {
        check_cwd(&request.cwd)?;
        let record = self.reopen(&request.session_id, &request.cwd, request.mcp_servers)?;
        let response =
            LoadSessionResponse::new().modes(record.modes()).config_options(record.config_options());
        Ok(AgentResponse::LoadSessionResponse(response))
    }

    fn resume(&mut self, request: ResumeSessionRequest) -> Result<AgentResponse, Error> {
        check_cwd(&request.cwd)?;
        let record = self.reopen(&request.session_id, &request.cwd, request.mcp_servers)?;
        let response =
            ResumeSessionResponse::new().modes(record.modes()).config_options(record.config_options());
        Ok(AgentResponse::ResumeSessionResponse(response))
    }

    fn reopen(&mut self, id: &SessionId, cwd: &Path, mcp: Vec<McpServer>) -> Result<&Record, Error> {
        let mut session = match self.sessions.remove(id) {
            Some(open) => open,
            None => {
                let record = self.store.find(id)?.ok_or_else(|| Error::session_not_found(id.clone()))?;
                Session::new(record)
            }
        };
        session.record.cwd = cwd.to_owned();
        session.mcp = mcp;
        Ok(&self.sessions.entry(id.clone()).insert_entry(session).into_mut().record)
    }

    /// Sends the whole history before `session/load` is answered.
    fn replay(&mut self, call: &Call) -> Result<(), Exit> {
        let Ok(LoadSessionRequest { session_id, .. }) = call.params.parse() else { return Ok(()) };
        let Some(session) = self.sessions.get(&session_id) else { return Ok(()) };
        for update in &session.record.history {
            let note = SessionNotification::new(session_id.clone(), update.clone());
            self.wire.push(CLIENT_METHOD_NAMES.session_update, &note)?;
        }
        self.wire.flush()
    }

    fn list(&self, request: &ListSessionsRequest) -> Result<AgentResponse, Error> {
        let records = self.store.all()?;
        let here = records.iter().filter(|record| request.cwd.as_ref().is_none_or(|cwd| *cwd == record.cwd));
        let response = ListSessionsResponse::new(here.map(Record::info).collect());
        Ok(AgentResponse::ListSessionsResponse(response))
    }

    fn close(&mut self, request: &CloseSessionRequest) -> Result<AgentResponse, Error> {
        let id = &request.session_id;
        let session = self.sessions.remove(id).ok_or_else(|| Error::session_not_found(id.clone()))?;
        self.store.save(&session.record)?;
        Ok(AgentResponse::CloseSessionResponse(CloseSessionResponse::new()))
    }

    fn set_mode(&mut self, request: &SetSessionModeRequest) -> Result<AgentResponse, Error> {
        let mode = Mode::from_id(&request.mode_id.0)
            .ok_or_else(|| Error::invalid_params().data(format!("no mode {}", request.mode_id)))?;
        self.change(&request.session_id, |record| record.mode = mode)?;
        Ok(AgentResponse::SetSessionModeResponse(SetSessionModeResponse::new()))
    }

    fn set_config_option(&mut self, request: &SetSessionConfigOptionRequest) -> Result<AgentResponse, Error> {
        let value = request.value.as_value_id().map(|value| &*value.0).unwrap_or_default();
        let mut set = Ok(());
        let record =
            self.change(&request.session_id, |record| set = record.set_option(&request.config_id.0, value))?;
        set.map_err(|why| Error::invalid_params().data(why))?;
        let response = SetSessionConfigOptionResponse::new(record.config_options());
        Ok(AgentResponse::SetSessionConfigOptionResponse(response))
    }

    /// Copies a session; the original stays unchanged.
    fn fork(&mut self, request: ForkSessionRequest) -> Result<AgentResponse, Error> {
        check_cwd(&request.cwd)?;
        let open = self.sessions.get(&request.session_id).map(|session| session.record.clone());
        let origin = open.map_or_else(|| self.store.find(&request.session_id), |record| Ok(Some(record)))?;
        let mut record = origin.ok_or_else(|| Error::session_not_found(request.session_id))?;
        record.cwd = request.cwd;
        let record = self.store.add(record)?;
        let response = ForkSessionResponse::new(record.id.clone())
            .modes(record.modes())
            .config_options(record.config_options());
        self.sessions.insert(record.id.clone(), Session::new(record));
        Ok(AgentResponse::ForkSessionResponse(response))
    }

    fn change(&mut self, id: &SessionId, edit: impl FnOnce(&mut Record)) -> Result<&Record, Error> {
        let session = self.sessions.get_mut(id).ok_or_else(|| Error::session_not_found(id.clone()))?;
        edit(&mut session.record);
        self.store.save(&session.record)?;
        Ok(&session.record)
    }

    fn cancel(&mut self, request: &CancelNotification) -> Result<(), Exit> {
        if let Some(running) = &mut self.running
            && running.session == request.session_id
        {
            running.cancelled = true;
        }
        let mut kept = VecDeque::new();
        for call in std::mem::take(&mut self.waiting) {
            let prompt = call.params.parse::<PromptRequest>();
            if prompt.is_ok_and(|prompt| prompt.session_id == request.session_id) {
                self.wire.respond(&call.id, &Ok(PromptResponse::new(StopReason::Cancelled)))?;
            } else {
                kept.push_back(call);
            }
        }
        self.waiting = kept;
        Ok(())
    }

    fn prompt(&mut self, call: &Call) -> Result<(), Exit> {
        let request = match self.accept_prompt(call) {
            Ok(request) => request,
            Err(error) => return self.wire.respond::<()>(&call.id, &Err(error)),
        };
        let (session, text) = (request.session_id, text_of(&request.prompt));
        self.running = Some(Running { session: session.clone(), cancelled: false });
        let ended = Turn::new(self, session.clone()).given(request.prompt).play(&text);
        self.running = None;
        let ended = ended?;
        self.wire.respond(&call.id, &ended.outcome)?;
        ended.epilogue.play(self, &session)
    }

    fn accept_prompt(&self, call: &Call) -> Result<PromptRequest, Error> {
        let request: PromptRequest = call.params.parse()?;
        let known = self.sessions.contains_key(&request.session_id);
        known.then_some(()).ok_or_else(|| Error::session_not_found(request.session_id.clone()))?;
        Ok(request)
    }

    pub(super) fn session(&mut self, id: &SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(id)
    }

    /// Adds to the history of an open session; a store failure is reported when the session is loaded.
    pub(super) fn remember(&mut self, id: &SessionId, update: &SessionUpdate) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.record.remember(update);
            drop(self.store.save(&session.record));
        }
    }

    /// Writes the record of an open session to the store.
    pub(super) fn save(&mut self, id: &SessionId) -> Result<(), Error> {
        let Some(session) = self.sessions.get(id) else { return Ok(()) };
        Ok(self.store.save(&session.record)?)
    }

    /// Whether the running prompt was cancelled, or its session closed under it.
    pub(super) fn cancelled(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.cancelled || !self.sessions.contains_key(&running.session))
    }

    pub(super) fn expect_answer(&mut self, id: RequestId) {
        self.awaited = Some(id);
        self.answer = None;
    }

    pub(super) fn take_answer(&mut self) -> Option<Result<Params, Error>> {
        self.answer.take()
    }
}

fn initialize(_request: &InitializeRequest) -> Result<AgentResponse, Error> {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    // Whatever was requested, we support version 1 alone; the client decides whether that will do.
    let response = InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("omniglot-mock", env!("CARGO_PKG_VERSION")).title("Omniglot mock"));
    Ok(AgentResponse::InitializeResponse(response))
}

fn check_cwd(cwd: &Path) -> Result<(), Error> {
    let absolute = cwd.is_absolute();
    absolute.then_some(()).ok_or_else(|| Error::invalid_params().data("cwd must be an absolute path"))
}

pub(super) fn text_of(prompt: &[ContentBlock]) -> String {
    let texts = prompt.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Error::internal_error().data(error.to_string())
    }
}
