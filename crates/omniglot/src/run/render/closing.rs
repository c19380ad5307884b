//! The line that closes a turn: how it ended, what it took, and how full the context is.

use omniglot_schema::{ContextFill, StopReason, TurnEndedData, Usage};

use super::style::{Ink, duration, grouped, rounded};
use super::{Last, Renderer, wire_name};

impl Renderer {
    pub(super) fn turn_ended(&mut self, data: &TurnEndedData) -> String {
        let meta = &data.metadata;
        let mut words = vec![wire_name(&meta.stop_reason)];
        words.extend(meta.usage.as_ref().and_then(tokens));
        words.extend(meta.cost_usd.map(|cost| format!("${cost:.4}")));
        words.extend(self.context.as_ref().and_then(fill));
        // People know how long they have thought.
        words.push(duration(meta.duration_ms.saturating_sub(self.waiting.take())));
        self.depths.forget();
        let ink = if meta.stop_reason == StopReason::EndTurn { Ink::Dim } else { Ink::Yellow };
        // Lines end between the words of the list, not inside of one.
        let list = words.join(" · ").replace(' ', "\u{a0}").replace("\u{a0}·\u{a0}", " · ");
        let list = self.wrapped(&format!("──\u{a0}{list}")).replace('\u{a0}', " ");
        let line = self.style.paint(ink, &list);
        let gap = if self.last == Last::Nothing { "" } else { "\n" };
        let text = format!("{}{gap}{line}\n", self.end_prose());
        self.last = Last::Block;
        text
    }
}

/// How full the context is.
fn fill(context: &ContextFill) -> Option<String> {
    let percent = match (context.used * 100).checked_div(context.window)? {
        0 if context.used > 0 => "<1".to_owned(),
        percent => percent.to_string(),
    };
    Some(format!("context {percent}% of {}", rounded(context.window)))
}

/// Returns the tokens in words; `None` when none are told.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    let cached = [usage.cache_read_tokens, usage.cache_write_tokens].into_iter().flatten().sum::<u64>();
    let cached = Some(cached).filter(|cached| *cached > 0);
    let parts: Vec<String> = [("in", usage.input_tokens), ("cached", cached), ("out", usage.output_tokens)]
        .into_iter()
        .filter_map(|(name, count)| count.map(|count| format!("{name} {}", grouped(count))))
        .collect();
    match usage.total_tokens {
        Some(total) if parts.is_empty() => Some(format!("{} tokens", grouped(total))),
        Some(total) => Some(format!("{} tokens ({})", grouped(total), parts.join(", "))),
        None if parts.is_empty() => None,
        None => Some(format!("tokens: {}", parts.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_total_add_up() {
        let (input_tokens, output_tokens) = (Some(2), Some(23));
        let usage = Usage { input_tokens, output_tokens, cache_read_tokens: Some(40), ..Usage::default() };
        let usage = Usage { cache_write_tokens: Some(3), ..usage }.with_total();
        assert_eq!(tokens(&usage).as_deref(), Some("68 tokens (in 2, cached 43, out 23)"));
    }
}
