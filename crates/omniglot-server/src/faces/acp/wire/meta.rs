//! The extensions of ACP that this face uses: every `_meta` key, its location and its value.
//!
//! One table, so that a client's author finds all of them in one place, and a test walks it.

use agent_client_protocol_schema::v1::{ClientCapabilities, Meta};
use omniglot_schema::UniversalEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One key of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    pub place: MetaLocation,
    pub carries: &'static str,
}

/// The object whose `_meta` has the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetaLocation {
    /// `session/update.params`; also the parameters of `session/request_permission` and `elicitation/create`.
    Notification,
    /// `session/update.params.update`
    Update,
    /// `session/update.params.update.content`
    Content,
    /// `session/prompt.result`
    PromptResult,
    /// `data` of a JSON-RPC error.
    Error,
    /// One entry of `session/list.result.sessions`; also the results that open a session.
    SessionInfo,
    /// `initialize.params.clientCapabilities`
    ClientCapabilities,
    /// `session/new.params`
    NewSession,
    /// `session/prompt.params`
    Prompt,
    /// One entry of `session/new.params.mcpServers`.
    McpServer,
}

impl MetaLocation {
    /// Whether clients write the key and we read it.
    pub fn is_incoming(self) -> bool {
        matches!(self, Self::ClientCapabilities | Self::NewSession | Self::Prompt | Self::McpServer)
    }
}

macro_rules! names {
    ($($constant:ident = $name:literal;)*) => {
        $(pub const $constant: &str = $name;)*
    };
}

names! {
    AGENT = "sandbox-agent/agent";
    AGENT_MODE = "sandbox-agent/agentMode";
    AGENT_VERSION = "sandbox-agent/agentVersion";
    BEARER_TOKEN_ENV_VAR = "sandbox-agent/bearerTokenEnvVar";
    CREATED_AT = "sandbox-agent/createdAt";
    CWD = "sandbox-agent/cwd";
    ENABLED = "sandbox-agent/enabled";
    ENDED = "sandbox-agent/ended";
    ENV_HEADERS = "sandbox-agent/envHeaders";
    ERROR_TYPE = "sandbox-agent/errorType";
    EVENT_COUNT = "sandbox-agent/eventCount";
    EVENT_ID = "sandbox-agent/eventId";
    INCLUDE_RAW = "sandbox-agent/includeRaw";
    ITEM_ID = "sandbox-agent/itemId";
    MCP = "sandbox-agent/mcp";
    METADATA = "sandbox-agent/metadata";
    MODEL = "sandbox-agent/model";
    NATIVE_ITEM_ID = "sandbox-agent/nativeItemId";
    NATIVE_SESSION_ID = "sandbox-agent/nativeSessionId";
    OAUTH = "sandbox-agent/oauth";
    OAUTH_DISABLED = "sandbox-agent/oauthDisabled";
    PARENT_ID = "sandbox-agent/parentId";
    PERMISSION_MODE = "sandbox-agent/permissionMode";
    RAW = "sandbox-agent/raw";
    REASONING_VISIBILITY = "sandbox-agent/reasoningVisibility";
    SEQUENCE = "sandbox-agent/sequence";
    SESSION_END = "sandbox-agent/sessionEnd";
    SESSION_ID = "sandbox-agent/sessionId";
    SKILLS = "sandbox-agent/skills";
    SOURCE = "sandbox-agent/source";
    STATUS = "sandbox-agent/status";
    SYNTHETIC = "sandbox-agent/synthetic";
    TIME = "sandbox-agent/time";
    TIMEOUT_MS = "sandbox-agent/timeoutMs";
    TITLE = "sandbox-agent/title";
    TOOL_NAME = "sandbox-agent/toolName";
    TURN_ID = "sandbox-agent/turnId";
    UNPARSED = "sandbox-agent/unparsed";
    VARIANT = "sandbox-agent/variant";
    // Data of the stream that neither ACP nor the keys above have a field for.
    FORKED_FROM = "omniglot/forkedFrom";
    RESULT = "omniglot/result";
    REQUEST = "omniglot/request";
    STATE = "omniglot/state";
    STARTED = "omniglot/started";
    TURN = "omniglot/turn";
}

const fn key(name: &'static str, place: MetaLocation, carries: &'static str) -> Key {
    Key { name, place, carries }
}

/// Every key, by the object that holds it.
pub const KEYS: &[Key] = &[
    key(EVENT_ID, MetaLocation::Notification, "the id of the event that the message was made from"),
    key(SEQUENCE, MetaLocation::Notification, "the event's place in the session, from 1"),
    key(TIME, MetaLocation::Notification, "when it happened: RFC 3339, UTC"),
    key(SOURCE, MetaLocation::Notification, "who made it: `agent` or `daemon`"),
    key(SYNTHETIC, MetaLocation::Notification, "whether the daemon made it to fill a gap"),
    key(NATIVE_SESSION_ID, MetaLocation::Notification, "the agent's own id of the session"),
    key(RAW, MetaLocation::Notification, "the agent's own frame, where it was asked for"),
    key(TURN_ID, MetaLocation::Notification, "the turn that it belongs to"),
    key(
        REQUEST,
        MetaLocation::Notification,
        "what a permission or question carries beside its contract fields",
    ),
    key(ITEM_ID, MetaLocation::Update, "the item that the update is about"),
    key(NATIVE_ITEM_ID, MetaLocation::Update, "the agent's own id of the item; it may repeat"),
    key(
        PARENT_ID,
        MetaLocation::Update,
        "the item's message, or the call that began the subagent which speaks",
    ),
    key(TOOL_NAME, MetaLocation::Update, "the agent's name of the tool"),
    key(RESULT, MetaLocation::Update, "a tool's exit code, duration in ms, and whether it failed"),
    key(STATUS, MetaLocation::Update, "something happened: `{type, label, detail}`"),
    key(UNPARSED, MetaLocation::Update, "a frame that was not understood: `{error, location, rawHash}`"),
    key(SESSION_END, MetaLocation::Update, "`{reason, terminatedBy, message, exitCode, stderr}`"),
    key(STARTED, MetaLocation::Update, "an ended session goes on: how much its agent remembers"),
    key(STATE, MetaLocation::Update, "what is now: the keys of the state that ACP has no update for"),
    key(REASONING_VISIBILITY, MetaLocation::Content, "`public` or `private`"),
    key(TURN_ID, MetaLocation::PromptResult, "the turn that answered the prompt"),
    key(TURN, MetaLocation::PromptResult, "the turn's stop reason, model, usage, cost and duration"),
    key(SESSION_END, MetaLocation::PromptResult, "how the session ended, where the turn ended with it"),
    key(AGENT, MetaLocation::Error, "the agent that the error is about"),
    key(SESSION_ID, MetaLocation::Error, "the session that the error is about"),
    key(ERROR_TYPE, MetaLocation::Error, "the error in one word"),
    key(SESSION_END, MetaLocation::Error, "how the session ended, where the agent's process died"),
    key(TURN_ID, MetaLocation::Error, "the turn that failed"),
    key(TURN, MetaLocation::Error, "the turn's stop reason, model, usage, cost and duration"),
    key(AGENT, MetaLocation::SessionInfo, "the session's agent"),
    key(AGENT_MODE, MetaLocation::SessionInfo, "its mode"),
    key(AGENT_VERSION, MetaLocation::SessionInfo, "the version of its agent, once it is known"),
    key(CREATED_AT, MetaLocation::SessionInfo, "milliseconds since 1970"),
    key(ENDED, MetaLocation::SessionInfo, "whether it has ended; a prompt resumes it"),
    key(EVENT_COUNT, MetaLocation::SessionInfo, "how many events its log has"),
    key(FORKED_FROM, MetaLocation::SessionInfo, "the session that it was forked from"),
    key(MCP, MetaLocation::SessionInfo, "its MCP servers, secrets hidden"),
    key(MODEL, MetaLocation::SessionInfo, "its model"),
    key(NATIVE_SESSION_ID, MetaLocation::SessionInfo, "the agent's own id of the session"),
    key(PERMISSION_MODE, MetaLocation::SessionInfo, "its permission mode"),
    key(SKILLS, MetaLocation::SessionInfo, "its skills"),
    key(VARIANT, MetaLocation::SessionInfo, "the reasoning effort of its model"),
    key(INCLUDE_RAW, MetaLocation::ClientCapabilities, "true: messages come with the agent's own frames"),
    key(AGENT, MetaLocation::NewSession, "which agent to start"),
    key(AGENT_MODE, MetaLocation::NewSession, "the mode to begin in"),
    key(AGENT_VERSION, MetaLocation::NewSession, "the agent's version"),
    key(MODEL, MetaLocation::NewSession, "the model to begin with"),
    key(PERMISSION_MODE, MetaLocation::NewSession, "the permission mode to begin in"),
    key(SKILLS, MetaLocation::NewSession, "skills to load: `{sources: [{type, source, …}]}`"),
    key(TITLE, MetaLocation::NewSession, "the session's title"),
    key(VARIANT, MetaLocation::NewSession, "the reasoning effort to begin with"),
    key(TURN_ID, MetaLocation::Prompt, "the client's own id of the turn, one of its `client_ids`"),
    key(METADATA, MetaLocation::Prompt, "an object of the client's own, `client_metadata` of the turn"),
    key(CWD, MetaLocation::McpServer, "where a local server runs"),
    key(ENABLED, MetaLocation::McpServer, "false keeps it off"),
    key(TIMEOUT_MS, MetaLocation::McpServer, "how long a call may take"),
    key(BEARER_TOKEN_ENV_VAR, MetaLocation::McpServer, "the variable that holds a remote server's token"),
    key(ENV_HEADERS, MetaLocation::McpServer, "headers whose values are variables"),
    key(OAUTH, MetaLocation::McpServer, "`{clientId, clientSecret, scope}`"),
    key(OAUTH_DISABLED, MetaLocation::McpServer, "true: no OAuth with this server"),
];

/// A `_meta` object under construction. An absent value leaves no key.
#[derive(Debug, Clone, Default)]
pub struct Notes(Meta);

impl Notes {
    /// The keys that every message has from its event.
    pub fn of_event(event: &UniversalEvent) -> Self {
        Self::default()
            .with(EVENT_ID, Some(&event.event_id))
            .with(SEQUENCE, Some(event.sequence))
            .with(TIME, Some(event.time))
            .with(SOURCE, Some(event.source))
            .with(SYNTHETIC, Some(event.synthetic))
            .with(NATIVE_SESSION_ID, event.native_session_id.as_ref())
            .with(RAW, event.raw.as_ref())
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: Option<impl Serialize>) -> Self {
        // Our own types always have a JSON form.
        if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
            self.0.insert(name.to_owned(), value);
        }
        self
    }

    /// Returns `None` rather than an empty object.
    pub fn into_meta(self) -> Option<Meta> {
        (!self.0.is_empty()).then_some(self.0)
    }

    pub fn into_map(self) -> Meta {
        self.0
    }
}

/// Reads a key that a client wrote.
pub fn read<T: DeserializeOwned>(meta: Option<&Meta>, name: &'static str) -> Result<Option<T>, BadKey> {
    match meta.and_then(|meta| meta.get(name)) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => {
            T::deserialize(value).map(Some).map_err(|error| BadKey { name, why: error.to_string() })
        }
    }
}

/// Whether a client's handshake requests the agent's own frames. A value other than a boolean is ignored: a
/// handshake does not fail over it.
pub fn wants_frames(client: &ClientCapabilities) -> bool {
    read(client.meta.as_ref(), INCLUDE_RAW).ok().flatten().unwrap_or_default()
}

/// A client wrote a value of another type than the key has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("_meta[\"{name}\"]: {why}")]
pub struct BadKey {
    pub name: &'static str,
    pub why: String,
}
