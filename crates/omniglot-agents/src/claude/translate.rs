//! Frames of both directions to drafts: the tables of messages.
//!
//! The work behind each arm is in the module named after its subject.

use omniglot_schema::{AuthState, AuthStatus, ContentPart, ItemRole, StatePatch, StatusLabel};
use omniglot_timeline::Body;
use serde_json::value::RawValue;

use super::wire::{self, Block, ControlResponse, Message, Outgoing, Request, User};
use super::{Claude, dropped};
use crate::contract::{DropReason, Output};
use crate::fault::unparsed;

impl Claude {
    /// One line of the CLI; it always leaves at least one output.
    pub(crate) fn frame(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let before = out.len();
        match Message::parse(frame) {
            Ok(message) => self.message(message, out),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
        if out.len() == before {
            dropped(DropReason::Internal, out);
        }
    }

    fn message(&mut self, message: Message<'_>, out: &mut Vec<Output>) {
        match message {
            Message::System(line) => self.system(line, out),
            Message::Stream(event) => self.stream(&event, out),
            Message::Assistant(line) => self.assistant(line, out),
            Message::User(line) => self.user(line, out),
            Message::Result(result) => self.result(*result, out),
            Message::ControlRequest(request) => self.control_request(&request, out),
            Message::ControlResponse(response) => self.control_response(&response, out),
            Message::ControlCancel(cancel) => self.control_cancel(&cancel.request_id, out),
            Message::ToolProgress(progress) => self.tool_progress(&progress, out),
            Message::ToolUseSummary(summary) => self.tool_use_summary(summary, out),
            Message::AuthStatus(status) => self.auth_status(status, out),
            Message::CommandLifecycle(step) => self.command_lifecycle(&step, out),
            Message::RateLimit(event) => self.rate_limit(event.rate_limit_info, out),
            Message::ConversationReset => dropped(DropReason::Internal, out),
            Message::PromptSuggestion => dropped(DropReason::Extension, out),
            Message::KeepAlive => dropped(DropReason::Heartbeat, out),
            Message::Unknown { kind } => out.push(Output::unparsed(unparsed(kind, "unknown type of line"))),
        }
    }

    /// One message that really went to the CLI.
    pub(crate) fn sent(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        match Outgoing::parse(frame) {
            Ok(Outgoing::Prompt(prompt)) => self.prompt_sent(&prompt, out),
            Ok(Outgoing::Request { id, request }) => self.request_sent(id, request),
            Ok(Outgoing::Answer(answer)) => self.answer_sent(&answer, out),
            // What we wrote ourselves and do not understand concerns nobody.
            Ok(Outgoing::Other) | Err(_) => {}
        }
    }

    fn request_sent(&mut self, id: String, request: Request) {
        if request == Request::Interrupt {
            self.turns.cancel_sent();
        }
        self.calls.sent(id, request);
    }

    fn control_response(&mut self, response: &ControlResponse<'_>, out: &mut Vec<Output>) {
        let id = response.request_id();
        let Some(request) = self.calls.answered(id) else { return dropped(DropReason::Internal, out) };
        match request {
            Request::Initialize { .. } => self.initialized(response.result(), out),
            Request::SetModel { model } => self.model_answered(id, model, response.result().err(), out),
            Request::SetPermissionMode { mode } => {
                self.mode_answered(id, &mode, response.result().err(), out);
            }
            Request::ApplyFlagSettings { settings } => {
                self.effort_answered(id, settings.effort_level, response.result().err(), out);
            }
            Request::McpSetServers { .. } => self.servers_answered(response.result(), out),
            Request::CancelAsyncMessage { message_uuid } => {
                self.message_cancelled(&message_uuid, response.result(), out);
            }
            Request::Interrupt => self.interrupted(out),
            Request::Other => dropped(DropReason::Internal, out),
        }
    }

    /// Tool results, and whatever else the CLI puts into the conversation on the user's side.
    pub(crate) fn user(&mut self, line: User<'_>, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        let blocks = wire::blocks(line.message.content, &mut faults);
        if line.is_replay {
            self.replayed(&line, out);
        } else {
            self.user_blocks(&line, blocks, &mut faults, out);
        }
        out.extend(faults.into_iter().map(Output::unparsed));
    }

    fn user_blocks(
        &mut self,
        line: &User<'_>,
        blocks: Vec<Block<'_>>,
        faults: &mut Vec<crate::contract::Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                Block::ToolResult(result) => self.tool_result(line, &result, faults, out),
                Block::Text(text) => parts.push(ContentPart::Text { text }),
                Block::Image(source) => parts.extend(super::output::image(source)),
                Block::Thinking(_)
                | Block::RedactedThinking
                | Block::ToolUse(_)
                | Block::ToolReference(_)
                | Block::Unknown { .. } => {
                    faults.push(unparsed("user.content", "a block that no user writes"));
                }
            }
        }
        if !parts.is_empty() {
            self.injected(line, parts, out);
        }
    }

    /// Text that nobody typed: a subagent's task, a note for the model.
    fn injected(&mut self, line: &User<'_>, parts: Vec<ContentPart>, out: &mut Vec<Output>) {
        if let Some(parent) = &line.parent_tool_use_id {
            let body = Body::Message { role: ItemRole::User, parts };
            return self.subagent_says(parent, |claude, key, said| claude.note(body, key, said), out);
        }
        let is_note =
            |part: &ContentPart| matches!(part, ContentPart::Text { text } if text.starts_with(INTERRUPTED));
        if parts.iter().all(is_note) {
            // How the turn ended says the same.
            return dropped(DropReason::Internal, out);
        }
        self.note(Body::System { parts }, None, out);
    }

    fn auth_status(&mut self, status: wire::AuthStatus, out: &mut Vec<Output>) {
        match status.error {
            Some(error) => {
                let auth = AuthState { state: AuthStatus::Required, methods: vec![] };
                self.state(StatePatch { auth: Some(Some(auth)), ..StatePatch::default() }, out);
                self.status(StatusLabel::Warning, error, out);
            }
            None => dropped(DropReason::Internal, out),
        }
    }
}

/// How the CLI's notes about an interruption begin.
pub(crate) const INTERRUPTED: &str = "[Request interrupted by user";
