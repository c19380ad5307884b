//! Items to drafts: the table of their kinds.
//!
//! How far the items of a call or a text have come is in `tool` and `text`.

use omniglot_schema::{Activity, ContentPart, ItemRole, Plan, StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemKey, ItemStart};

use super::text::Spot;
use super::tool::{Call, Done, shape, unnamed};
use super::wire::{Item, ItemBody, ItemNotice, TerminalInteraction, UserMessage};
use super::{Codex, dropped, input};
use crate::contract::{Draft, DropReason, Output};
use crate::conversation::items::{completed, whole};

/// Which end of an item is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    Completed,
}

impl Codex {
    pub(crate) fn item(&mut self, news: &ItemNotice<'_>, phase: Phase, out: &mut Vec<Output>) {
        let item = match Item::parse(news.item) {
            Ok(item) => item,
            Err(fault) => return out.push(Output::unparsed(fault)),
        };
        let spot = self.spot(&news.thread_id, &item.id);
        if !matches!(item.body, ItemBody::UserMessage(_)) {
            self.progress(out);
        }
        match item.body {
            ItemBody::UserMessage(message) => self.user_message(&spot, message, phase, out),
            ItemBody::AgentMessage(message) => match phase {
                Phase::Started => self.texts.begin(&spot, &message.text, out),
                Phase::Completed => self.texts.message_done(&spot, message, out),
            },
            ItemBody::Plan(plan) => self.plan(&spot, plan.text, phase, out),
            ItemBody::Reasoning(thought) => match phase {
                Phase::Started => self.texts.begin(&spot, "", out),
                Phase::Completed => self.texts.thought_done(&spot, &thought, out),
            },
            ItemBody::Compaction => self.compaction(&spot, phase, out),
            ItemBody::EnteredReview | ItemBody::ExitedReview => {
                out.push(Output::dropped(DropReason::Duplicate));
            }
            ItemBody::HookPrompt(prompt) => {
                let texts = prompt.fragments.into_iter().map(|part| ContentPart::text(part.text)).collect();
                self.whole(&spot, Body::System { parts: texts }, phase, out);
            }
            ItemBody::Unknown(json) => {
                self.whole(&spot, Body::Unknown { parts: vec![ContentPart::Json { json }] }, phase, out);
            }
            ItemBody::CollabAgent(item) => {
                let (call, done) = shape::collab(&item);
                let key = self.tool(&spot, call, done, phase, out);
                self.collab_agents(&key, &item, out);
            }
            ItemBody::SubAgent(item) if item.kind == "started" => {
                let (call, done) = shape::subagent(&item);
                let key = self.tool(&spot, call, done, phase, out);
                self.subagent(Some(key), &item, out);
            }
            ItemBody::SubAgent(item) => self.subagent(None, &item, out),
            ItemBody::Command(item) => {
                let process = item.process_id.clone();
                self.tool_of(&spot, shape::command(item), phase, out);
                if phase == Phase::Started && self.turns.is_stopping() {
                    self.end_command(&spot.thread, process.as_deref(), out);
                }
            }
            ItemBody::FileChange(item) => self.tool_of(&spot, shape::file_change(&item), phase, out),
            ItemBody::McpToolCall(item) => self.tool_of(&spot, shape::mcp(item), phase, out),
            ItemBody::DynamicToolCall(item) => self.tool_of(&spot, shape::dynamic(item), phase, out),
            ItemBody::FunctionCallOutput(item) => {
                self.tool_of(&spot, shape::function_output(item), phase, out);
            }
            // What is searched for may be known only when it was found.
            ItemBody::WebSearch(item) if phase == Phase::Started && item.query.is_empty() => {
                out.push(Output::dropped(DropReason::Superseded));
            }
            ItemBody::WebSearch(item) => self.tool_of(&spot, shape::web_search(&item), phase, out),
            ItemBody::ImageView(item) => self.tool_of(&spot, shape::image_view(item), phase, out),
            ItemBody::ImageGeneration(item) => self.tool_of(&spot, shape::image_generation(item), phase, out),
            ItemBody::Sleep(item) => self.tool_of(&spot, shape::sleep(&item), phase, out),
        }
    }

    fn tool_of(&mut self, spot: &Spot, (call, done): (Call, Done), phase: Phase, out: &mut Vec<Output>) {
        self.tool(spot, call, done, phase, out);
    }

    /// Moves the items of a call on; its key is that of the call's item.
    fn tool(&mut self, spot: &Spot, call: Call, done: Done, phase: Phase, out: &mut Vec<Output>) -> ItemKey {
        let call = Call { about: call.about.in_session_of(self.thread.cwd.to_str()), ..call };
        if phase == Phase::Started {
            return self.tools.begin(spot, call, out);
        }
        let known = self.tools.asked(&spot.thread, &spot.id).map(|asked| asked.call);
        let key = known.unwrap_or_else(|| self.tools.begin(spot, call, out));
        self.tools.finish(spot, done, out);
        key
    }

    /// A call for which Codex has no item: it is told when it has its result. `native` is what it is about.
    pub(crate) fn without_item(
        &mut self,
        thread: &str,
        native: Option<String>,
        (call, done): (Call, Done),
        out: &mut Vec<Output>,
    ) {
        let id = format!("unnamed:{}", self.statuses.next());
        let spot = Spot { native, ..self.spot(thread, &id) };
        self.tool(&spot, call, done, Phase::Completed, out);
    }

    /// A message sent here is known since then, and the prompt of a child agent stands in the call that
    /// starts it. The rest came from elsewhere: Codex keeps a queue of its own.
    fn user_message(&mut self, spot: &Spot, message: UserMessage, phase: Phase, out: &mut Vec<Output>) {
        if self.is_child(&spot.thread) {
            return out.push(Output::dropped(DropReason::Echo));
        }
        let echo = match phase {
            Phase::Started => None,
            Phase::Completed => self.turns.echoes.take(&message),
        };
        match echo {
            Some(echo) => {
                let (item, native_id) = (echo.item(), spot.id.clone());
                out.push(Draft::UserEcho { item, native_id }.into());
            }
            None => {
                let parts = input::from_wire(message.content);
                self.whole(spot, Body::Message { role: ItemRole::User, parts }, phase, out);
            }
        }
    }

    /// The plan of the plan mode is what Codex says; it is also what the session is at.
    fn plan(&mut self, spot: &Spot, text: String, phase: Phase, out: &mut Vec<Output>) {
        if phase == Phase::Started {
            return self.texts.begin(spot, &text, out);
        }
        self.texts.plan_done(spot, text.clone(), out);
        self.state(StatePatch { plan: Some(Some(Plan { text })), ..StatePatch::default() }, out);
    }

    fn compaction(&mut self, spot: &Spot, phase: Phase, out: &mut Vec<Output>) {
        let body = Body::Status { label: StatusLabel::Compaction, detail: None };
        let key = ItemKey(format!("compaction:{}", spot.id));
        match phase {
            Phase::Started => {
                self.activity(Some(Activity::Compacting), out);
                let (native_id, parent) = (Some(spot.id.clone()), spot.parent.clone());
                out.push(Draft::ItemStarted(ItemStart { key, native_id, parent, body }).into());
            }
            Phase::Completed => {
                self.activity(None, out);
                out.push(completed(key));
            }
        }
    }

    /// An item that is told once, when it is complete.
    fn whole(&mut self, spot: &Spot, body: Body, phase: Phase, out: &mut Vec<Output>) {
        if phase == Phase::Started {
            return out.push(Output::dropped(DropReason::Superseded));
        }
        let key = ItemKey(format!("whole:{}:{}", self.statuses.next(), spot.id));
        let (native_id, parent) = (spot.native.clone(), spot.parent.clone());
        whole(ItemStart { key, native_id, parent, body }, self.turns.is_running(), out);
    }

    /// The model types into a running command: a call of its own.
    pub(crate) fn typed(&mut self, typed: TerminalInteraction, out: &mut Vec<Output>) {
        if typed.stdin.is_empty() {
            return out.push(dropped());
        }
        self.without_item(&typed.thread_id, Some(typed.item_id), unnamed::typed(&typed.stdin), out);
    }
}
