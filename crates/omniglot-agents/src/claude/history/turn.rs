//! How a turn of a transcript ended and what it used: no line says so, the replies do.

use indexmap::IndexMap;

use super::super::wire::{ModelUsage, Tokens, TurnResult};
use super::wire::AssistantLine;

#[derive(Debug, Default)]
pub(super) struct Turn {
    stand: Stand,
    failed: bool,
    /// By the id of the message: each of its lines has the numbers of all of it.
    main: IndexMap<String, Tokens>,
    subagents: IndexMap<String, Tokens>,
}

/// How the main thread stands.
#[derive(Debug, Default)]
enum Stand {
    /// An answer, or more of it, is still to come.
    #[default]
    Works,
    Answered(Option<String>),
    Interrupted,
}

impl Turn {
    pub(super) fn replied(&mut self, line: &AssistantLine<'_>, of_main_thread: bool) {
        let usage = line.message.usage.map(|usage| (line.message.id.clone(), usage));
        if !of_main_thread {
            return self.subagents.extend(usage);
        }
        self.main.extend(usage);
        self.failed |= line.is_api_error_message;
        match line.message.stop_reason.as_deref() {
            Some("tool_use") => self.works(),
            _ if line.calls_a_tool() => self.works(),
            stop => self.answered(stop),
        }
    }

    pub(super) fn works(&mut self) {
        self.stand = Stand::Works;
    }

    pub(super) fn answered(&mut self, stop_reason: Option<&str>) {
        self.stand = Stand::Answered(stop_reason.map(str::to_owned));
    }

    pub(super) fn interrupted(&mut self) {
        self.stand = Stand::Interrupted;
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(self.stand, Stand::Answered(_))
    }

    /// The line with which the live CLI would have ended the turn. One that never came to an answer was left.
    pub(super) fn into_result(self) -> TurnResult {
        let usage = (!self.main.is_empty()).then(|| sum(self.main.values()));
        let everything = sum(self.main.values().chain(self.subagents.values()));
        let (stop_reason, aborted) = match self.stand {
            Stand::Answered(stop_reason) => (stop_reason, false),
            Stand::Works | Stand::Interrupted => (None, !self.failed),
        };
        TurnResult {
            subtype: "success".to_owned(),
            is_error: self.failed,
            api_error_status: None,
            result: None,
            errors: vec![],
            stop_reason,
            terminal_reason: aborted.then(|| "aborted".to_owned()),
            usage,
            total_cost_usd: None,
            model_usage: IndexMap::new(),
            model_usage_since_last_result: Some([(String::new(), counted(everything))].into()),
            structured_output: None,
            origin: None,
        }
    }
}

fn sum<'a>(tokens: impl Iterator<Item = &'a Tokens>) -> Tokens {
    let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    tokens.fold(Tokens::default(), |sum, tokens| Tokens {
        input_tokens: add(sum.input_tokens, tokens.input_tokens),
        output_tokens: add(sum.output_tokens, tokens.output_tokens),
        cache_read_input_tokens: add(sum.cache_read_input_tokens, tokens.cache_read_input_tokens),
        cache_creation_input_tokens: add(sum.cache_creation_input_tokens, tokens.cache_creation_input_tokens),
        output_tokens_details: None,
    })
}

fn counted(tokens: Tokens) -> ModelUsage {
    ModelUsage {
        input_tokens: tokens.input_tokens.unwrap_or(0),
        output_tokens: tokens.output_tokens.unwrap_or(0),
        cache_read_input_tokens: tokens.cache_read_input_tokens.unwrap_or(0),
        cache_creation_input_tokens: tokens.cache_creation_input_tokens.unwrap_or(0),
        ..ModelUsage::default()
    }
}
