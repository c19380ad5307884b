//! The tool calls of a session, and how far each has come (T5).
//!
//! The arguments of a call are final when its line is there. What its result says is left to `output`.

use indexmap::IndexMap;
use omniglot_schema::{ContentPart, Plan, StatePatch};
use omniglot_timeline::{Body, CallEnd, CallStart, ItemKey, Outcome, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::content::{ToolResult as WireResult, ToolUse};
use super::wire::{ToolProgress, ToolUseSummary, User};
use super::{Claude, dropped, output, tool_kinds};
use crate::about::About;
use crate::contract::{Draft, DropReason, Output, Unparsed};

#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// By native id: the newest call of that name.
    calls: IndexMap<String, Call>,
    /// How many there were: keys stay unique when ids repeat.
    made: u64,
}

/// How far a call has come; only forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Announced,
    Called,
    Done,
}

#[derive(Debug)]
struct Call {
    key: ItemKey,
    name: String,
    input: Option<Box<RawValue>>,
    phase: Phase,
}

#[derive(Deserialize)]
struct Described {
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize)]
struct PlanInput {
    plan: String,
}

impl Tools {
    /// A call begins; its arguments are still to come.
    pub(crate) fn announce(&mut self, id: &str, name: &str, parent: Option<ItemKey>, out: &mut Vec<Output>) {
        self.made += 1;
        let call = Call {
            key: ItemKey(format!("call:{}:{id}", self.made)),
            name: name.to_owned(),
            input: None,
            phase: Phase::Announced,
        };
        let begun = About::of(tool_kinds::kind(name)).call(name, "");
        let start = CallStart { key: call.key.clone(), native_id: Some(id.to_owned()), parent, call: begun };
        out.push(Draft::CallStarted(start).into());
        self.calls.insert(id.to_owned(), call);
    }

    pub(crate) fn call_of(&self, id: &str) -> Option<ItemKey> {
        self.calls.get(id).map(|call| call.key.clone())
    }

    /// The plan that a call hands in.
    pub(crate) fn plan_of(&self, id: &str) -> Option<String> {
        self.calls.get(id)?.input.as_deref().and_then(plan_in)
    }

    /// Returns the arguments of a call that has no result yet.
    pub(crate) fn input_of(&self, id: &str) -> Option<&RawValue> {
        self.calls.get(id)?.input.as_deref()
    }

    /// Whether a call has its result already: what it spawned runs in the background.
    pub(crate) fn is_done(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.phase == Phase::Done)
    }

    /// Whether a call waits for its result.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.phase != Phase::Done)
    }

    /// A sign that a call runs.
    pub(crate) fn runs(&self, id: &str, out: &mut Vec<Output>) {
        if let Some(call) = self.calls.get(id).filter(|call| call.phase == Phase::Called) {
            out.push(Draft::CallOutput { key: call.key.clone(), delta: String::new() }.into());
        }
    }

    /// Forgets what ended before this turn, but for what still runs in the background.
    pub(crate) fn turn_started(&mut self, still_wanted: impl Fn(&str) -> bool) {
        self.calls.retain(|id, call| call.phase != Phase::Done || still_wanted(id));
    }
}

fn plan_in(input: &RawValue) -> Option<String> {
    serde_json::from_str(input.get()).ok().map(|PlanInput { plan }| plan)
}

impl Claude {
    /// The whole call, with the arguments that the CLI will use; they may differ from those streamed.
    pub(crate) fn tool_called(
        &mut self,
        call: ToolUse,
        parent: Option<ItemKey>,
        of_main_thread: bool,
        out: &mut Vec<Output>,
    ) {
        let ToolUse { id, name, input } = call;
        let announced = self.tools.calls.get(&id).is_some_and(|call| call.phase == Phase::Announced);
        if !announced {
            self.tools.announce(&id, &name, parent, out);
        }
        if of_main_thread && name == "ExitPlanMode" {
            self.plan_is(&input, out);
        }
        let Some(known) = self.tools.calls.get_mut(&id) else { return };
        known.phase = Phase::Called;
        // Other tools have descriptions too, which are what they work on.
        let told = matches!(name.as_str(), "Bash" | "Agent" | "Task");
        let title = told.then(|| serde_json::from_str::<Described>(input.get()).ok()?.description).flatten();
        let about = tool_kinds::about(&name, input.get());
        let call = Some(ToolCall { title, ..about.call(name, input.get()) });
        known.input = Some(input);
        out.push(Draft::CallReady { key: known.key.clone(), call }.into());
    }

    fn plan_is(&mut self, input: &RawValue, out: &mut Vec<Output>) {
        if let Some(text) = plan_in(input) {
            let plan = Some(Some(Plan { text }));
            self.state(StatePatch { plan, ..StatePatch::default() }, out);
        }
    }

    pub(crate) fn tool_result(
        &mut self,
        line: &User<'_>,
        result: &WireResult<'_>,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        match &line.parent_tool_use_id {
            None => {
                self.finish_call(line, result, faults, out);
                self.prompts_injected(out);
            }
            Some(parent) => {
                let (parent, mut said) = (parent.clone(), Vec::new());
                self.finish_call(line, result, faults, &mut said);
                self.subagent_done(&parent, &result.tool_use_id, said, out);
            }
        }
    }

    fn finish_call(
        &mut self,
        line: &User<'_>,
        result: &WireResult<'_>,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let id = &result.tool_use_id;
        if !self.tools.calls.contains_key(id) {
            self.tools.announce(id, "unknown", None, out);
        }
        let Some(call) = self.tools.calls.get_mut(id) else { return };
        if call.phase == Phase::Done {
            return dropped(DropReason::Duplicate, out);
        }
        call.phase = Phase::Done;
        let input = call.input.take();
        let mut result = output::read(&call.name, input.as_deref(), result, line.tool_use_result, faults);
        let failed = result.is_error == Some(true);
        if let Some(subagent) = line.parent_tool_use_id.as_deref().filter(|_| !failed) {
            self.files.learn(subagent, &call.name, input.as_deref(), &mut result);
        }
        if let Some(input) = input.as_deref().filter(|_| !failed) {
            result.parts.extend(tool_kinds::about(&call.name, input.get()).files_read());
        }
        let outcome = if failed { Outcome::Failed } else { Outcome::Completed };
        let (key, name) = (call.key.clone(), call.name.clone());
        out.push(Draft::CallEnded(CallEnd { key, outcome, result }).into());
        if !failed && line.parent_tool_use_id.is_none() {
            let todos = self.todos.learn(&name, input.as_deref(), line.tool_use_result);
            if let Some(todos) = todos {
                self.state(StatePatch { todos: Some(todos), ..StatePatch::default() }, out);
            }
            self.team_learns(&name, input.as_deref(), line.tool_use_result, out);
        }
    }

    pub(crate) fn tool_progress(&mut self, progress: &ToolProgress, out: &mut Vec<Output>) {
        if let Some(id) = &progress.parent_tool_use_id {
            self.call_runs(id, out);
        }
        dropped(DropReason::Heartbeat, out);
    }

    pub(crate) fn tool_use_summary(&mut self, line: ToolUseSummary, out: &mut Vec<Output>) {
        let call = line.preceding_tool_use_ids.last().and_then(|id| self.tools.call_of(id));
        let parts = vec![ContentPart::Text { text: line.summary }];
        self.note(Body::System { parts }, call, out);
    }
}
