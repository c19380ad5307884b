//! Tool parts: calls that are pending, running, completed or failed (T5).

use omniglot_schema::{ContentPart, ToolKind};
use omniglot_timeline::{CallEnd, CallStart, ItemKey, Outcome, ToolCall, ToolResult};
use serde::Deserialize;

use super::diff::edited;
use super::part::file_part;
use super::wire::{PartHead, Tool, ToolState, ToolStatus};
use super::{OpenCode, dropped};
use crate::about::{About, file_read};
use crate::contract::{Draft, DropReason, Output};

/// A call of a tool, by the id of its part.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: ItemKey,
    /// Where it was made.
    pub(crate) message: String,
    /// The id by which requests name the call.
    pub(crate) native: String,
    pub(crate) name: String,
    kind: ToolKind,
    phase: Phase,
    /// The output that went out as a preview.
    streamed: String,
    /// The change that a person was asked about.
    proposed: Option<String>,
    /// The answers to its question.
    pub(crate) answers: Option<Vec<Vec<String>>>,
    failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Announced,
    Running,
    Done,
}

/// The tool that starts a subagent.
const SPAWNING: &str = "task";

/// The tool name that OpenCode gives to a call whose tool does not exist.
const INVALID: &str = "invalid";

impl OpenCode {
    pub(crate) fn tool(
        &mut self,
        head: &PartHead,
        tool: Tool,
        parent: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        let before = out.len();
        if let Some(child) = tool.began() {
            self.began(child.to_owned(), &head.id);
        }
        let Tool { tool: name, call: native, state } = as_meant(tool);
        let (servers, directory) = (&self.servers, self.directory.as_deref());
        let about = servers.about(&name, state.input.as_deref()).in_session_of(directory);
        let call = self.calls.entry(head.id.clone()).or_insert_with(|| {
            let call = Call::new(head, name, native, about.kind);
            out.push(call.started(parent));
            call
        });
        let arguments = state.input.clone().filter(|_| state.status == ToolStatus::Completed);
        match state.status {
            ToolStatus::Pending => {}
            ToolStatus::Running => call.runs(&state, about, out),
            ToolStatus::Completed | ToolStatus::Error => call.ends(state, about, out),
        }
        let ended = (call.phase == Phase::Done).then(|| call.key.clone());
        if let Some(arguments) = arguments {
            self.note_plan(&arguments);
        }
        if let Some(call) = ended {
            self.resolve_gone(Some(&call), out);
        }
        if out.len() == before {
            out.push(dropped(DropReason::Superseded));
        }
    }

    /// The call that waits for a subagent to begin: a child session is told before its call says so.
    pub(crate) fn spawning_part(&self) -> Option<String> {
        let taken = |part: &String| self.children.values().any(|child| child.part.as_ref() == Some(part));
        let waiting = |(part, call): &(&String, &Call)| {
            call.name == SPAWNING && call.phase != Phase::Done && !taken(part)
        };
        self.calls.iter().filter(waiting).map(|(part, _)| part.clone()).max()
    }

    pub(crate) fn call_named(&mut self, native: &str) -> Option<&mut Call> {
        // Ids of the model's may repeat: the newest part has the greatest id.
        let named = self.calls.iter_mut().filter(|(_, call)| call.native == native);
        named.max_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, call)| call)
    }
}

impl Call {
    fn new(head: &PartHead, name: String, native: String, kind: ToolKind) -> Self {
        Self {
            key: ItemKey(format!("call:{}", head.id)),
            message: head.message.clone(),
            native,
            name,
            kind,
            phase: Phase::Announced,
            streamed: String::new(),
            proposed: None,
            answers: None,
            failed: false,
        }
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.phase == Phase::Done && !self.failed
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(crate) fn propose(&mut self, diff: &str) {
        self.proposed = Some(diff.to_owned());
    }

    fn started(&self, parent: Option<ItemKey>) -> Output {
        let call = About::of(self.kind).call(self.name.clone(), "{}");
        let native_id = Some(self.native.clone());
        Draft::CallStarted(CallStart { key: self.key.clone(), native_id, parent, call }).into()
    }

    fn runs(&mut self, state: &ToolState, about: About, out: &mut Vec<Output>) {
        let is_news = self.is_ready(state, about, out);
        let output = state.metadata.as_ref().and_then(|metadata| metadata.output.as_deref());
        let delta = output.and_then(|output| output.strip_prefix(self.streamed.as_str())).unwrap_or_default();
        if self.phase == Phase::Running && (is_news || !delta.is_empty()) {
            let delta = delta.to_owned();
            self.streamed.push_str(&delta);
            out.push(Draft::CallOutput { key: self.key.clone(), delta }.into());
        }
    }

    /// Tells that the arguments are final, the first time. Returns whether that was news.
    fn is_ready(&mut self, state: &ToolState, about: About, out: &mut Vec<Output>) -> bool {
        if self.phase > Phase::Announced {
            return false;
        }
        self.phase = Phase::Running;
        let arguments = state.input.as_ref().map_or("{}", |input| input.get()).to_owned();
        let title = state.title.clone().filter(|title| !title.is_empty());
        let call = Some(ToolCall { title, ..about.call(self.name.clone(), arguments) });
        out.push(Draft::CallReady { key: self.key.clone(), call }.into());
        true
    }

    fn ends(&mut self, mut state: ToolState, about: About, out: &mut Vec<Output>) {
        self.is_ready(&state, about.clone(), out);
        if self.phase == Phase::Done {
            return;
        }
        self.phase = Phase::Done;
        self.streamed = String::new();
        let failed = state.status == ToolStatus::Error;
        self.failed = failed;
        self.answers = state.metadata.as_mut().and_then(|metadata| metadata.answers.take());
        let outcome = if failed { Outcome::Failed } else { Outcome::Completed };
        let result = self.result_of(state, about, failed);
        out.push(Draft::CallEnded(CallEnd { key: self.key.clone(), outcome, result }).into());
    }

    fn result_of(&mut self, state: ToolState, about: About, failed: bool) -> ToolResult {
        let metadata = state.metadata.unwrap_or_default();
        let mut parts: Vec<ContentPart> = state.attachments.iter().map(file_part).collect();
        if !failed {
            // An edit that failed did not change the file.
            parts.extend(edited(&metadata, state.input.as_deref(), self.proposed.take()));
            // The tool that reads files lists directories, too.
            let is_directory = metadata.display.kind.as_deref() == Some("directory");
            parts.extend(about.files_read().filter(|_| !is_directory));
        }
        parts.extend(metadata.output_path.clone().map(file_read));
        ToolResult {
            output: state.output.or(state.error).unwrap_or_default(),
            is_error: Some(failed || metadata.exit.is_some_and(|exit| exit != 0)),
            exit_code: metadata.exit,
            duration_ms: duration(state.time.start, state.time.end),
            parts,
            ..ToolResult::default()
        }
    }
}

/// OpenCode keeps a call that it cannot make as one of a tool of its own, with the name of the other and the
/// reason for arguments. What it was called with is kept nowhere; the reason is its output, too.
fn as_meant(mut tool: Tool) -> Tool {
    #[derive(Deserialize)]
    struct Meant {
        tool: String,
    }
    if tool.tool != INVALID {
        return tool;
    }
    let input = tool.state.input.take();
    let meant: Option<Meant> = input.and_then(|input| serde_json::from_str(input.get()).ok());
    tool.tool = meant.map_or(tool.tool, |meant| meant.tool);
    tool.state.title = None;
    if tool.state.status == ToolStatus::Completed {
        tool.state.status = ToolStatus::Error;
    }
    tool
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds, checked to be positive"
)]
fn duration(start: Option<f64>, end: Option<f64>) -> Option<u64> {
    let took = end? - start?;
    (took >= 0.0 && took.is_finite()).then_some(took as u64)
}
