//! Turns: begun by a prompt that was really sent, ended by its answer and by nothing else (T4).

use std::collections::{HashMap, VecDeque};

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource};
use omniglot_schema::{ContentPart, ErrorCode, MessageId, StopReason};
use omniglot_timeline::{Failure, Origin, TurnEnd};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::failure::{failure, failure_in_words};
use super::output::{Piece, file_read, piece};
use super::update::{Cost, UsageFields};
use super::usage::{PromptAnswer, TokenCount};
use super::wire::entries;
use crate::contract::{Draft, Output};
use crate::conversation::cost::Account;
use crate::fault::unparsed;
use crate::rpc::{RpcError, RpcId};

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Prompts that were built but not seen on the wire yet.
    pub(crate) commanded: HashMap<RpcId, MessageId>,
    running: Option<Running>,
    /// Prompts sent while another ran. The daemon sends one at a time; a recording may not.
    waiting: VecDeque<Waiting>,
    pub(crate) account: Account,
}

#[derive(Debug)]
struct Waiting {
    id: RpcId,
    message_id: Option<MessageId>,
    content: Vec<ContentPart>,
}

#[derive(Debug, Default)]
struct Running {
    id: Option<RpcId>,
    cancelled: bool,
    cost_before: Option<f64>,
    /// The cost was told during this turn.
    cost_told: bool,
    tokens: Option<TokenCount>,
    model: Option<String>,
    /// The agent's text since it reported that the model call failed.
    failed: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptParams<'a> {
    session_id: String,
    #[serde(default, borrow)]
    prompt: Option<&'a RawValue>,
}

impl Turns {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| turn.cancelled)
    }

    pub(crate) fn cancel_sent(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.cancelled = true;
        }
    }

    pub(crate) fn add_tokens(&mut self, tokens: TokenCount) {
        if let Some(turn) = &mut self.running {
            turn.tokens = Some(turn.tokens.map_or(tokens, |sum| sum.plus(tokens)));
        }
    }

    /// The agent says that a model call failed, and then why, as assistant text.
    pub(crate) fn model_call_failed(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.failed.get_or_insert_default();
        }
    }

    pub(crate) fn heard(&mut self, text: &str) {
        if let Some(words) = self.running.as_mut().and_then(|turn| turn.failed.as_mut()) {
            words.push_str(text);
        }
    }

    /// Returns what the session has cost in US dollars, if that is what the agent counts in.
    pub(crate) fn usage_told(&mut self, usage: &UsageFields) -> Option<f64> {
        let cost = usage.cost.as_ref().and_then(Cost::usd);
        if let Some(turn) = &mut self.running {
            turn.cost_told |= cost.is_some();
            turn.model = usage.model.clone().or(turn.model.take());
        }
        self.account.told(cost?);
        self.account.known()
    }

    fn begin(&mut self, prompt: Waiting) -> Draft {
        let Waiting { id, message_id, content } = prompt;
        self.running =
            Some(Running { id: Some(id), cost_before: self.account.known(), ..Running::default() });
        Draft::TurnStarted(Origin::User { message_id, content })
    }

    /// The turn that `id` began, if that is the one that runs.
    fn end(&mut self, id: &RpcId) -> Option<Running> {
        self.running.take_if(|turn| turn.id.as_ref() == Some(id))
    }

    /// Returns the cost of the turn; unknown unless the agent reported the sum before and during it.
    fn cost_of(&self, turn: &Running) -> Option<f64> {
        turn.cost_before.filter(|_| turn.cost_told).map(|before| self.account.since(before))
    }
}

impl Cost {
    fn usd(&self) -> Option<f64> {
        (self.currency == "USD" && self.amount.is_finite()).then_some(self.amount)
    }
}

impl Acp {
    /// A prompt went to the agent: a turn begins, or will when the one before it ends.
    pub(crate) fn prompt_sent(&mut self, id: RpcId, params: &RawValue, out: &mut Vec<Output>) {
        let message_id = self.turns.commanded.remove(&id);
        let Ok(params) = serde_json::from_str::<PromptParams<'_>>(params.get()) else { return };
        self.session.id = Some(params.session_id);
        self.session.replaying = false;
        let prompt = Waiting { id, message_id, content: user_content(params.prompt) };
        if self.turns.is_running() {
            self.turns.waiting.push_back(prompt);
        } else {
            self.begin_turn(prompt, out);
        }
    }

    fn begin_turn(&mut self, prompt: Waiting, out: &mut Vec<Output>) {
        self.tools.turn_started();
        out.push(self.turns.begin(prompt).into());
    }

    pub(crate) fn prompt_answered(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let Some(turn) = self.turns.end(id) else {
            self.turns.waiting.retain(|waiting| waiting.id != *id);
            let fault = unparsed("session/prompt", "answered before the prompt that was sent first");
            out.push(Output::unparsed(fault));
            return;
        };
        let end = match result {
            Ok(raw) => self.answered_end(raw, &turn, out),
            Err(_) if turn.cancelled => self.with_account(TurnEnd::new(StopReason::Cancelled), &turn),
            Err(error) => self.with_account(TurnEnd::failed(failure(&error)), &turn),
        };
        match end.stop {
            StopReason::Cancelled | StopReason::Error => self.texts.abandon(),
            StopReason::EndTurn
            | StopReason::MaxTokens
            | StopReason::MaxTurns
            | StopReason::MaxBudget
            | StopReason::Refusal => self.texts.interrupt(out),
        }
        self.tools.turn_ended(out);
        self.compactions_end(out);
        out.push(Draft::TurnEnded(end).into());
        if let Some(next) = self.turns.waiting.pop_front() {
            self.begin_turn(next, out);
        }
    }

    fn answered_end(&mut self, raw: &RawValue, turn: &Running, out: &mut Vec<Output>) -> TurnEnd {
        let mut faults = Vec::new();
        let answer = PromptAnswer::parse(raw, &mut faults);
        let end = match answer.stop {
            Ok(StopReason::EndTurn) if let Some(words) = &turn.failed => {
                TurnEnd::failed(failure_in_words(words.trim()))
            }
            Ok(stop) => TurnEnd::new(stop),
            Err(reason) => {
                faults.push(unparsed("session/prompt result.stopReason", reason.clone()));
                TurnEnd::failed(Failure::new(ErrorCode::Unknown, reason))
            }
        };
        out.extend(faults.into_iter().map(Output::unparsed));
        let mut end = self.with_account(end, turn);
        end.usage = answer.tokens.and_then(TokenCount::to_usage).or(end.usage);
        end.model = turn.model.clone().or(answer.model).or(end.model);
        end
    }

    /// Adds what was told beside the answer.
    fn with_account(&self, mut end: TurnEnd, turn: &Running) -> TurnEnd {
        end.model = turn.model.clone().or_else(|| self.session.settings.model.as_ref()?.current.clone());
        end.usage = turn.tokens.and_then(TokenCount::to_usage);
        end.cost_usd = self.turns.cost_of(turn);
        end
    }
}

/// Returns the user's message as parts. A file that was sent whole is named, not repeated.
fn user_content(prompt: Option<&RawValue>) -> Vec<ContentPart> {
    let blocks: Vec<ContentBlock> = entries("prompt", prompt, &mut Vec::new()).unwrap_or_default();
    let part = |block| match attached_file(&block) {
        Some(file) => Some(file),
        None => match piece(block).ok()? {
            Piece::Text(text) => Some(ContentPart::Text { text }),
            Piece::Part(part) => Some(part),
        },
    };
    blocks.into_iter().filter_map(part).collect()
}

fn attached_file(block: &ContentBlock) -> Option<ContentPart> {
    let ContentBlock::Resource(embedded) = block else { return None };
    match &embedded.resource {
        EmbeddedResourceResource::TextResourceContents(text) => Some(file_read(&text.uri)),
        EmbeddedResourceResource::BlobResourceContents(blob) => Some(file_read(&blob.uri)),
        _ => None,
    }
}
