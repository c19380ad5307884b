//! Counts tokens and cost of a turn from the length of its texts: four characters are one token.
//!
//! Invented, but always the same for the same texts. `turn` and `scripts` send the numbers.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, Cost, SessionUpdate, Usage, UsageUpdate};

use super::session::Record;

/// The texts of one turn, in characters.
#[derive(Debug, Default)]
pub(super) struct Tally {
    prompt: u64,
    thought: u64,
    text: u64,
}

impl Tally {
    pub(super) fn of_prompt(text: &str) -> Self {
        Self { prompt: length(text), ..Self::default() }
    }

    pub(super) fn count(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::AgentThoughtChunk(chunk) => self.thought += chunk_length(chunk),
            SessionUpdate::AgentMessageChunk(chunk) => self.text += chunk_length(chunk),
            _ => {}
        }
    }

    /// Returns the usage of this turn. Earlier turns count as cache reads; output includes thought.
    pub(super) fn usage(&self, record: &Record) -> Usage {
        let (input, output, cached) = (self.input(), self.output(), record.context);
        Usage::new(input + output + cached, input, output)
            .thought_tokens(tokens(self.thought))
            .cached_read_tokens(cached)
    }

    /// Returns the present size of the context, and the cost of the session so far.
    pub(super) fn fill(&self, record: &Record) -> UsageUpdate {
        let used = record.context + self.input() + self.output();
        let dollars = (record.cost_micros + self.cost_micros(record)) as f64 / 1e6;
        UsageUpdate::new(used, record.model.window()).cost(Cost::new(dollars, "USD"))
    }

    /// Adds the turn to the record when it is over.
    pub(super) fn settle(&self, record: &mut Record) {
        record.cost_micros += self.cost_micros(record);
        record.context += self.input() + self.output();
    }

    fn input(&self) -> u64 {
        tokens(self.prompt)
    }

    fn output(&self) -> u64 {
        tokens(self.thought) + tokens(self.text)
    }

    fn cost_micros(&self, record: &Record) -> u64 {
        let (input, output) = record.model.price();
        self.input() * input + self.output() * output
    }
}

fn chunk_length(chunk: &ContentChunk) -> u64 {
    match &chunk.content {
        ContentBlock::Text(text) => length(&text.text),
        _ => 0,
    }
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

fn tokens(characters: u64) -> u64 {
    characters.div_ceil(4)
}
