//! The words of completed items, taken from the events that are appended; and of a search.

use omniglot_schema::{EventData, UniversalEvent, UniversalEventType};

use crate::types::NewEvent;

/// A longer event is not searched.
const LONGEST_EVENT: usize = 4 << 20;
/// No more of an item is searched.
const LONGEST_TEXT: usize = 64 << 10;

/// The words of one event.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) seq: u64,
    pub(crate) text: String,
}

/// Returns the words of those events that have some.
pub(crate) fn of_events<'a>(events: impl IntoIterator<Item = &'a NewEvent>) -> Vec<Words> {
    let words = |event: &NewEvent| Some(Words { seq: event.seq, text: of_event(event.kind, &event.json)? });
    events.into_iter().filter_map(words).collect()
}

pub(crate) fn of_event(kind: UniversalEventType, json: &[u8]) -> Option<String> {
    if kind != UniversalEventType::ItemCompleted || json.len() > LONGEST_EVENT {
        return None;
    }
    let EventData::ItemCompleted(data) = serde_json::from_slice::<UniversalEvent>(json).ok()?.data else {
        return None;
    };
    let mut text = data.item.searchable()?;
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    Some(text)
}

/// Splits a search into words, as the index does with texts.
pub fn search_terms(query: &str) -> Vec<String> {
    let words = query.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_split_at_everything_that_is_no_letter() {
        assert_eq!(search_terms("src/Main.rs \"über\" -x*"), ["src", "main", "rs", "über", "x"]);
        assert_eq!(search_terms(" ./*\" "), [""; 0]);
    }
}
