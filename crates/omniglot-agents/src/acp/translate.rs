//! Frames of both directions to drafts: the tables of methods, answers and update kinds.
//!
//! The work behind each arm is in the module named after its subject.

use agent_client_protocol_schema::v1::NoticeSeverity;
use omniglot_schema::StatusLabel;
use serde_json::value::RawValue;

use super::output::{Piece, piece};
use super::plain::PlainChunk;
use super::settle::REPLAYED;
use super::state::setting;
use super::text::{TextOrigin, Voice};
use super::tool::Mention;
use super::update::{Chunk, ChunkMeta, NoticeFields, SessionUpdate, ToolFields, Update};
use super::{Acp, OutboundRequest};
use crate::contract::{DropReason, Output, Unparsed, decode};
use crate::conversation::items::whole;
use crate::fault::unparsed;
use crate::rpc::{self, Message, RpcError, RpcId, send};

impl Acp {
    /// One message of the agent; it always leaves at least one output.
    pub(crate) fn frame(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let before = out.len();
        match PlainChunk::read(frame).filter(|chunk| self.is_live(chunk.session_id)) {
            Some(chunk) => self.plain_chunk(chunk, out),
            None => self.message(frame, out),
        }
        if out.len() == before {
            out.push(Output::dropped(DropReason::Internal));
        }
    }

    fn message(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        match Message::parse(frame) {
            Ok(Message::Request { id, method, params }) => self.requested(id, &method, params, out),
            Ok(Message::Notification { method, params }) => self.notified(&method, params, out),
            Ok(Message::Answer { id, result }) => self.answered(&id, result, out),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
    }

    /// Whether this is our session, and what it says is news.
    fn is_live(&self, session: &str) -> bool {
        self.session.id.as_deref() == Some(session) && !self.session.replaying
    }

    fn plain_chunk(&mut self, chunk: PlainChunk<'_>, out: &mut Vec<Output>) {
        let meta = chunk.meta();
        self.count_tokens(&meta);
        let message_id = chunk.message_id.map(str::to_owned);
        self.spoken(chunk.voice, Piece::Text(chunk.text.into_owned()), message_id, &meta, out);
    }

    /// One message that really went to the agent.
    pub(crate) fn sent(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        match Message::parse(frame) {
            Ok(Message::Request { id, method, params }) => self.request_sent(id, &method, params, out),
            Ok(Message::Notification { method, .. }) if method == "session/cancel" => {
                self.turns.cancel_sent()
            }
            Ok(Message::Answer { id, result }) => self.answer_sent(&id, result, out),
            // What we wrote ourselves and do not understand concerns nobody.
            Ok(Message::Notification { .. }) | Err(_) => {}
        }
    }

    fn request_sent(&mut self, id: RpcId, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        let asked = match method {
            "initialize" => {
                self.initialize_sent(params);
                OutboundRequest::Initialize
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.session_sent(method, params)
            }
            "session/prompt" => {
                self.prompt_sent(id.clone(), params, out);
                OutboundRequest::Prompt
            }
            "session/close" => OutboundRequest::Close,
            REPLAYED => OutboundRequest::Replayed,
            "session/set_mode" => OutboundRequest::SetMode(setting(params)),
            "session/set_model" => OutboundRequest::SetModel(setting(params)),
            "session/set_config_option" => OutboundRequest::SetOption(setting(params)),
            _ => OutboundRequest::Other,
        };
        self.calls.sent(id, asked);
    }

    fn answered(&mut self, id: &RpcId, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        match self.calls.answered(id) {
            Some(OutboundRequest::Initialize) => self.initialized(result, out),
            Some(OutboundRequest::OpenSession { resume, native }) => {
                self.session_answered((resume, native), result, out)
            }
            Some(OutboundRequest::Prompt) => self.prompt_answered(id, result, out),
            Some(OutboundRequest::Replayed) => self.replay_answered(id, out),
            Some(OutboundRequest::SetMode(mode)) => self.mode_answered(id, mode, result, out),
            Some(OutboundRequest::SetModel(model)) => self.model_answered(id, model, result, out),
            Some(OutboundRequest::SetOption(value)) => self.option_answered(id, &value, result, out),
            // One that refuses is left all the same.
            Some(OutboundRequest::Close) => out.push(Output::closed()),
            Some(OutboundRequest::Other) => out.push(Output::dropped(DropReason::Internal)),
            None => out.push(Output::unparsed(unparsed(
                "json-rpc",
                format!("an answer to no request of ours: {id}"),
            ))),
        }
    }

    fn requested(&mut self, id: RpcId, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        match method {
            "session/request_permission" => self.permission_requested(id, params, out),
            "elicitation/create" => self.elicitation_requested(id, params, out),
            _ if self.duty_requested(&id, method, params, out) => {}
            _ => {
                let error = RpcError::not_served(method);
                out.push(send(rpc::refusal(&id, &error)));
                out.push(if self.agent.quirks.is_own_method(method) {
                    Output::dropped(DropReason::Extension)
                } else {
                    Output::unparsed(unparsed(method, "a request that we do not serve"))
                });
            }
        }
    }

    fn notified(&mut self, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        match method {
            "session/update" => self.session_update(params, out),
            "$/cancel_request" => self.request_cancelled(params, out),
            _ if method.starts_with('_') || self.agent.quirks.is_own_method(method) => {
                out.push(Output::dropped(DropReason::Extension));
            }
            _ => out.push(Output::unparsed(unparsed(method, "unknown notification"))),
        }
    }

    fn session_update(&mut self, params: &RawValue, out: &mut Vec<Output>) {
        let params: SessionUpdate<'_> = match decode("session/update", params) {
            Ok(params) => params,
            Err(fault) => return out.push(Output::unparsed(fault)),
        };
        let ours = [&self.session.id, &self.session.loading];
        if self.session.id.is_some() && !ours.contains(&&Some(params.session_id)) {
            return out.push(Output::unparsed(unparsed("session/update", "an update of another session")));
        }
        let mut faults = Vec::new();
        match Update::parse(params.update, &mut faults) {
            Ok(update) if self.session.replaying && is_history(&update) => {
                self.session.replayed += 1;
                return out.push(Output::dropped(DropReason::Replay));
            }
            Ok(update) => self.update(update, &mut faults, out),
            Err(fault) => faults.push(fault),
        }
        out.extend(faults.into_iter().map(Output::unparsed));
    }

    fn update(&mut self, update: Update<'_>, faults: &mut Vec<Unparsed>, out: &mut Vec<Output>) {
        match update {
            Update::UserMessage => out.push(Output::dropped(DropReason::Echo)),
            Update::AgentMessage(chunk) => self.chunk(Voice::Answer, chunk, faults, out),
            Update::AgentThought(chunk) => self.chunk(Voice::Thought, chunk, faults, out),
            Update::ToolCall(call) => self.tool_mentioned(call, Mention::Announcement, out),
            Update::ToolProgress(call) => self.tool_mentioned(call, Mention::Update, out),
            Update::Plan(entries) => self.plan(entries, faults, out),
            Update::Commands(commands) => self.commands(commands, out),
            Update::CurrentMode(mode) => self.mode_changed(mode, out),
            Update::ConfigOptions(options) => self.options_changed(options, faults, out),
            Update::SessionInfo(info) => self.session_info(&info, faults, out),
            Update::Usage(usage) => self.usage(&usage, out),
            Update::Notice(notice) => self.notice(notice, out),
            Update::Compaction(compaction) => self.compaction(compaction, faults, out),
            Update::CompactionSummary { id, text } => self.compaction_summary(&id, &text, faults, out),
            Update::Unknown { kind } => {
                faults.push(unparsed("session/update", format!("unknown kind {kind}")))
            }
        }
    }

    fn chunk(&mut self, voice: Voice, chunk: Chunk<'_>, faults: &mut Vec<Unparsed>, out: &mut Vec<Output>) {
        let meta = chunk.meta();
        self.count_tokens(&meta);
        match chunk.content().and_then(piece) {
            Ok(piece) => self.spoken(voice, piece, chunk.message_id, &meta, out),
            Err(fault) => faults.push(fault),
        }
    }

    fn count_tokens(&mut self, meta: &ChunkMeta) {
        if let Some(tokens) = meta.usage {
            self.turns.add_tokens(tokens);
        }
    }

    fn spoken(
        &mut self,
        voice: Voice,
        piece: Piece,
        message_id: Option<String>,
        meta: &ChunkMeta,
        out: &mut Vec<Output>,
    ) {
        let parent = self.tools.spawning(meta.claude.parent_tool_use_id.as_deref());
        let origin = TextOrigin { voice, message_id, parent };
        match piece {
            // Some agents open each block with an empty chunk; there is nothing to show yet.
            Piece::Text(text) if text.is_empty() => out.push(Output::dropped(DropReason::Internal)),
            Piece::Text(text) if meta.claude.kind.as_deref() == Some("informational") => {
                self.status(StatusLabel::Warning, Some(text), out);
            }
            Piece::Text(text) => match voice {
                Voice::Answer => self.answer(origin, text, out),
                Voice::Thought => self.thought(origin, text, out),
            },
            Piece::Part(part) => self.texts.part(origin, part, out),
        }
    }

    /// Assistant text, unless the agent says something else in the form of it.
    fn answer(&mut self, origin: TextOrigin, text: String, out: &mut Vec<Output>) {
        let quirks = self.agent.quirks;
        if let Some(mode) = quirks.announced_mode(&text) {
            return self.mode_changed(mode.to_owned(), out);
        }
        if let Some(label) = quirks.happening_in(&text).filter(|_| origin.message_id.is_none()) {
            self.texts.interrupt(out);
            return self.status(label, Some(text.trim().to_owned()), out);
        }
        self.turns.heard(&text);
        self.texts.extend(origin, text, out);
    }

    fn thought(&mut self, origin: TextOrigin, text: String, out: &mut Vec<Output>) {
        let repairs = self.agent.quirks.repairs;
        let is_break = repairs.thought_break.is_some_and(|sign| sign == text);
        if is_break || repairs.whole_thoughts {
            self.texts.interrupt(out);
        }
        if is_break {
            return out.push(Output::dropped(DropReason::Internal));
        }
        self.texts.extend(origin, text, out);
    }

    fn tool_mentioned(&mut self, call: ToolFields, mention: Mention, out: &mut Vec<Output>) {
        if self.compactions.calls.contains(&call.id) || self.agent.quirks.is_compaction(call.title.as_deref())
        {
            return self.compaction_called(call, out);
        }
        // A new call ends the message before it; news of a running one may come amid a message.
        if self.tools.is_new(&call, mention) {
            self.texts.interrupt(out);
        }
        self.tools.mention(call, mention, self.agent.quirks, out);
    }

    fn notice(&mut self, notice: NoticeFields, out: &mut Vec<Output>) {
        let severity = match notice.severity {
            NoticeSeverity::Error => "error: ",
            NoticeSeverity::Info | NoticeSeverity::Warning | NoticeSeverity::Other(_) | _ => "",
        };
        let rest = notice.description.map(|description| format!(": {description}")).unwrap_or_default();
        self.status(StatusLabel::Warning, Some(format!("{severity}{}{rest}", notice.title)), out);
    }

    /// Says that something happened.
    pub(crate) fn status(&mut self, label: StatusLabel, detail: Option<String>, out: &mut Vec<Output>) {
        whole(self.statuses.status(label, detail), self.turns.is_running(), out);
    }
}

/// Returns whether an update repeats history; the other updates of a replayed session are state.
fn is_history(update: &Update<'_>) -> bool {
    match update {
        Update::UserMessage
        | Update::AgentMessage(_)
        | Update::AgentThought(_)
        | Update::ToolCall(_)
        | Update::ToolProgress(_)
        | Update::Plan(_)
        | Update::Notice(_)
        | Update::Compaction(_)
        | Update::CompactionSummary { .. } => true,
        Update::Commands(_)
        | Update::CurrentMode(_)
        | Update::ConfigOptions(_)
        | Update::SessionInfo(_)
        | Update::Usage(_)
        | Update::Unknown { .. } => false,
    }
}
