//! A tool call as a reader sees it: the call, what it writes while it runs, and its result in one.

use omniglot_schema::{CallId, ContentPart, ItemId, ItemStatus, ToolKind, ToolSubject, UniversalItem};
use serde::Serialize;

/// The bytes of a running call's output that are kept, from its end.
pub const OUTPUT: usize = 1 << 20;

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The item of the call.
    pub item: ItemId,
    pub native_item_id: Option<String>,
    pub parent: Option<ItemId>,
    pub call_id: CallId,
    /// The agent's name of the tool; empty when the view has seen only the result.
    pub name: String,
    pub title: Option<String>,
    pub kind: Option<ToolKind>,
    pub subject: ToolSubject,
    /// JSON text, as far as the item tells it; final from [`CallStatus::Ready`] on.
    pub arguments: String,
    /// The arguments as they are being written.
    pub input: String,
    pub status: CallStatus,
    /// The end of what the call has written so far.
    pub output: String,
    /// The bytes that it has written so far.
    pub written: usize,
    /// The item of the result, as it was last told.
    pub result: Option<UniversalItem>,
    /// The call whose subagent makes this call.
    pub within: Option<CallId>,
    /// The calls and messages of the subagent that this call started, in this turn.
    pub children: Vec<ItemId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The arguments are being written.
    Writing,
    /// The arguments are final.
    Ready,
    Running,
    Completed,
    /// It failed, or will not run.
    Failed,
}

impl Call {
    /// A call of which only the ids are known.
    pub fn new(item: ItemId, call_id: CallId) -> Self {
        Self {
            item,
            native_item_id: None,
            parent: None,
            call_id,
            name: String::new(),
            title: None,
            kind: None,
            subject: ToolSubject::default(),
            arguments: String::new(),
            input: String::new(),
            status: CallStatus::Writing,
            output: String::new(),
            written: 0,
            result: None,
            within: None,
            children: vec![],
        }
    }

    pub(super) fn of(item: &UniversalItem) -> Option<Self> {
        item.content.iter().find_map(|part| match part {
            ContentPart::ToolCall { name, arguments, call_id, title, kind, subject } => Some(Self {
                native_item_id: item.native_item_id.clone(),
                parent: item.parent_id.clone(),
                name: name.clone(),
                title: title.clone(),
                kind: *kind,
                subject: subject.as_deref().cloned().unwrap_or_default(),
                arguments: arguments.clone(),
                ..Self::new(item.item_id.clone(), call_id.clone())
            }),
            _ => None,
        })
    }

    pub(super) fn ready(&mut self, item: &UniversalItem, before: Option<&Self>) {
        let failed = item.status == ItemStatus::Failed;
        self.status = if failed { CallStatus::Failed } else { CallStatus::Ready };
        self.children = before.map(|before| before.children.clone()).unwrap_or_default();
    }

    /// A call that failed before it ran has a result, too.
    pub(super) fn run(&mut self, result: &UniversalItem) {
        if self.status == CallStatus::Ready {
            self.status = CallStatus::Running;
        }
        self.result = Some(result.clone());
    }

    pub(super) fn write(&mut self, delta: &str) {
        self.written += delta.len();
        self.output.push_str(delta);
        if self.output.len() > 2 * OUTPUT {
            let from = self.output.ceil_char_boundary(self.output.len() - OUTPUT);
            self.output.drain(..from);
        }
    }

    /// Returns the call with its result, and keeps what later items and requests may refer to.
    pub(super) fn end(&mut self, result: &UniversalItem) -> Self {
        let failed = result.status == ItemStatus::Failed;
        self.status = if failed { CallStatus::Failed } else { CallStatus::Completed };
        let ended = Self {
            arguments: std::mem::take(&mut self.arguments),
            output: std::mem::take(&mut self.output),
            ..self.clone()
        };
        (self.input, self.result) = (String::new(), None);
        Self { result: Some(result.clone()), ..ended }
    }
}

/// Returns the call that a result belongs to.
pub(super) fn call_of(result: &UniversalItem) -> Option<&CallId> {
    result.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    })
}
