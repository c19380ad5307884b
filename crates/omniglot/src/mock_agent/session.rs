//! One conversation: its directory, mode, model and history. The [`Record`] outlives the process; grants
//! exist as long as the session is open.
//!
//! `store` keeps the records, `scripts` interpret modes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, McpServer, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionId, SessionInfo, SessionMode, SessionModeState, SessionUpdate,
    ToolCallUpdate,
};
use serde::{Deserialize, Serialize};

/// An open session.
pub(super) struct Session {
    pub(super) record: Record,
    /// Tools that were allowed "always". Like most agents we drop them when the process ends.
    pub(super) grants: BTreeSet<&'static str>,
    /// The MCP servers that the client gave when it opened the session.
    pub(super) mcp: Vec<McpServer>,
}

impl Session {
    pub(super) fn new(record: Record) -> Self {
        Self { record, grants: BTreeSet::new(), mcp: Vec::new() }
    }
}

/// The data of a session that is kept between processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: SessionId,
    pub(super) cwd: PathBuf,
    pub(super) mode: Mode,
    pub(super) model: Model,
    /// The effort of the model that has efforts; kept while another is in use.
    #[serde(default)]
    pub(super) effort: Effort,
    pub(super) title: Option<String>,
    /// Counters behind message and tool call ids, kept so that ids stay unique after a resume.
    pub(super) messages: u64,
    pub(super) calls: u64,
    /// Tokens of all ended turns: the present size of the context.
    pub(super) context: u64,
    pub(super) cost_micros: u64,
    pub(super) history: Vec<SessionUpdate>,
}

impl Record {
    pub(super) fn new(id: SessionId, cwd: PathBuf) -> Self {
        Self {
            id,
            cwd,
            mode: Mode::Default,
            model: Model::MockSmall,
            effort: Effort::Low,
            title: None,
            messages: 0,
            calls: 0,
            context: 0,
            cost_micros: 0,
            history: Vec::new(),
        }
    }

    pub(super) fn info(&self) -> SessionInfo {
        let first = self.prompts().next().map(|text| text.chars().take(60).collect());
        SessionInfo::new(self.id.clone(), self.cwd.clone()).title(self.title.clone().or(first))
    }

    /// Returns the user's prompts, oldest first.
    pub(super) fn prompts(&self) -> impl Iterator<Item = &str> {
        self.history.iter().filter_map(|update| match update {
            SessionUpdate::UserMessageChunk(chunk) => text_of(chunk),
            _ => None,
        })
    }

    /// Keeps the updates for a later `session/load`: messages whole, tool calls in their last state.
    pub(super) fn remember(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::AgentMessageChunk(_)
            | SessionUpdate::AgentThoughtChunk(_) => self.remember_chunk(update),
            SessionUpdate::ToolCall(_) => self.history.push(update.clone()),
            SessionUpdate::ToolCallUpdate(change) => self.remember_change(change),
            // Plans, modes, usage and the like are present state, not history.
            _ => {}
        }
    }

    fn remember_chunk(&mut self, update: &SessionUpdate) {
        let joined = self.history.last_mut().is_some_and(|last| match (last, update) {
            (SessionUpdate::AgentMessageChunk(last), SessionUpdate::AgentMessageChunk(new))
            | (SessionUpdate::AgentThoughtChunk(last), SessionUpdate::AgentThoughtChunk(new)) => {
                join(last, new)
            }
            _ => false,
        });
        if !joined {
            self.history.push(update.clone());
        }
    }

    fn remember_change(&mut self, change: &ToolCallUpdate) {
        for entry in self.history.iter_mut().rev() {
            if let SessionUpdate::ToolCall(call) = entry
                && call.tool_call_id == change.tool_call_id
            {
                call.update(change.fields.clone());
                return;
            }
        }
    }

    pub(super) fn modes(&self) -> SessionModeState {
        let modes = Mode::ALL.iter().map(|mode| {
            let (name, about) = mode.describe();
            SessionMode::new(mode.id(), name).description(about)
        });
        SessionModeState::new(self.mode.id(), modes.collect())
    }

    pub(super) fn config_options(&self) -> Vec<SessionConfigOption> {
        let models: Vec<_> = Model::ALL
            .iter()
            .map(|model| {
                let (name, about) = model.describe();
                SessionConfigSelectOption::new(model.id(), name).description(about)
            })
            .collect();
        let option = SessionConfigOption::select(MODEL_OPTION, "Model", self.model.id(), models)
            .description("Which scripted model answers")
            .category(SessionConfigOptionCategory::Model);
        std::iter::once(option).chain(self.effort_option()).collect()
    }

    /// Like some real models, the small one has no efforts.
    fn effort_option(&self) -> Option<SessionConfigOption> {
        if self.model == Model::MockSmall {
            return None;
        }
        let efforts: Vec<_> = Effort::ALL
            .iter()
            .map(|effort| SessionConfigSelectOption::new(effort.id(), effort.name()))
            .collect();
        let option = SessionConfigOption::select(EFFORT_OPTION, "Effort", self.effort.id(), efforts)
            .description("How hard the scripted model pretends to think")
            .category(SessionConfigOptionCategory::ThoughtLevel);
        Some(option)
    }

    /// Sets a config option; returns the reason if it is invalid.
    pub(super) fn set_option(&mut self, option: &str, value: &str) -> Result<(), String> {
        let unknown = || format!("no {option} {value}");
        match option {
            MODEL_OPTION => self.model = Model::from_id(value).ok_or_else(unknown)?,
            EFFORT_OPTION if self.model == Model::MockLarge => {
                self.effort = Effort::from_id(value).ok_or_else(unknown)?;
            }
            _ => return Err(format!("no option {option}")),
        }
        Ok(())
    }
}

fn text_of(chunk: &ContentChunk) -> Option<&str> {
    match &chunk.content {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn join(last: &mut ContentChunk, new: &ContentChunk) -> bool {
    match (&mut last.content, &new.content) {
        (ContentBlock::Text(whole), ContentBlock::Text(more)) if last.message_id == new.message_id => {
            whole.text.push_str(&more.text);
            true
        }
        _ => false,
    }
}

const MODEL_OPTION: &str = "model";
const EFFORT_OPTION: &str = "effort";

/// How much the agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Mode {
    Default,
    AcceptEdits,
    Plan,
    Bypass,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Default, Self::AcceptEdits, Self::Plan, Self::Bypass];

    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::Bypass => "bypass",
        }
    }

    pub(super) fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Default => ("Default", "Asks before it edits a file or runs a command"),
            Self::AcceptEdits => ("Accept edits", "Edits files without asking"),
            Self::Plan => ("Plan", "Reads and plans, edits nothing"),
            Self::Bypass => ("Bypass", "Asks nothing"),
        }
    }
}

/// A model that does not exist, with a context window and a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Model {
    MockSmall,
    MockLarge,
}

impl Model {
    const ALL: [Self; 2] = [Self::MockSmall, Self::MockLarge];

    pub(super) fn id(self) -> &'static str {
        match self {
            Self::MockSmall => "mock-small",
            Self::MockLarge => "mock-large",
        }
    }

    pub(super) fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.id() == id)
    }

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::MockSmall => ("Mock Small", "Scripted, 100k context"),
            Self::MockLarge => ("Mock Large", "Scripted, 1M context"),
        }
    }

    /// Returns the size of the context window in tokens.
    pub(super) fn window(self) -> u64 {
        match self {
            Self::MockSmall => 100_000,
            Self::MockLarge => 1_000_000,
        }
    }

    /// Returns dollars for a million tokens, in and out; that is also millionths of a dollar for one.
    pub(super) fn price(self) -> (u64, u64) {
        match self {
            Self::MockSmall => (1, 5),
            Self::MockLarge => (4, 20),
        }
    }
}

/// The simulated reasoning effort of a model that has efforts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Effort {
    #[default]
    Low,
    High,
}

impl Effort {
    const ALL: [Self; 2] = [Self::Low, Self::High];

    fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Low => "Low",
            Self::High => "High",
        }
    }

    fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.id() == id)
    }
}
