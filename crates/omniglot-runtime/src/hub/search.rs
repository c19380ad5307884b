//! Search in what was said and done in all sessions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use omniglot_schema::{EventData, SearchHit, SearchResponse, UniversalEvent, UniversalItem};
use omniglot_store::{Found, ReadQuery, SearchQuery, SessionNo, StoreError, search_terms};

use super::{Hub, PAGE_BYTES, present};
use crate::error::RuntimeError;

/// The number of matches that are read at once.
const PAGE: usize = 100;
/// The characters that are shown before the first word, and from there on.
const BEFORE: usize = 60;
const FROM: usize = 240;

/// A session as its matches name it; `None` for one that the caller does not see.
type Named = Option<(omniglot_schema::SessionId, String, Option<String>)>;

impl Hub {
    /// Finds the items that have all words of `query`; the last word may be the beginning of one.
    pub async fn search(&self, query: &str, limit: usize) -> Result<SearchResponse, RuntimeError> {
        let terms = search_terms(query);
        if terms.is_empty() {
            return Err(RuntimeError::InvalidRequest("q has no word to search for".into()));
        }
        let mut sessions: HashMap<SessionNo, Named> = HashMap::new();
        let (mut hits, mut before) = (vec![], None);
        loop {
            let query = SearchQuery { terms: terms.clone(), before, limit: PAGE };
            let page = self.inner.store.search(query).await?;
            for found in &page {
                let session = match sessions.entry(found.session) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(self.named(found.session).await?),
                };
                let Some(session) = session else { continue };
                if hits.len() == limit {
                    return Ok(SearchResponse { hits, has_more: true });
                }
                hits.extend(self.hit(*found, session.clone(), &terms).await?);
            }
            before = page.last().copied();
            if page.len() < PAGE {
                return Ok(SearchResponse { hits, has_more: false });
            }
        }
    }

    async fn named(&self, session: SessionNo) -> Result<Named, RuntimeError> {
        let record = self.record_numbered(session).await?.filter(|record| self.sees(record));
        let Some(record) = record else { return Ok(None) };
        let title = present::info(&record)?.title;
        Ok(Some((record.id, record.agent, title)))
    }

    /// Reads the item; `None` when it is gone or cannot be read.
    async fn hit(
        &self,
        found: Found,
        (session_id, agent, title): (omniglot_schema::SessionId, String, Option<String>),
        terms: &[String],
    ) -> Result<Option<SearchHit>, RuntimeError> {
        let after = found.seq.saturating_sub(1);
        let query =
            ReadQuery { after, limit: 1, max_bytes: PAGE_BYTES, types: vec![], until: Some(found.seq) };
        let page = match self.inner.store.read(found.session, query).await {
            Err(StoreError::NoSession | StoreError::Damaged { .. }) => return Ok(None),
            page => page?,
        };
        let event = page.events.first().and_then(|stored| serde_json::from_slice(&stored.json).ok());
        let Some(UniversalEvent { time, data: EventData::ItemCompleted(data), .. }) = event else {
            return Ok(None);
        };
        let UniversalItem { item_id, kind, role, .. } = data.item.clone();
        let text = excerpt(&data.item.searchable().unwrap_or_default(), terms);
        let (sequence, time) = (found.seq, time.as_millisecond());
        Ok(Some(SearchHit { session_id, agent, title, sequence, time, item_id, kind, role, text }))
    }
}

/// Returns the words around the first that is searched for, on one line.
fn excerpt(text: &str, terms: &[String]) -> String {
    let line: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    // Lower case may have other lengths, so letters are compared one by one.
    let lower: Vec<char> =
        line.iter().map(|letter| letter.to_lowercase().next().unwrap_or(*letter)).collect();
    let place = |term: &String| {
        let term: Vec<char> = term.chars().collect();
        lower.windows(term.len().max(1)).position(|window| window == term)
    };
    let at = terms.iter().filter_map(place).min().unwrap_or_default();
    let (start, end) = (at.saturating_sub(BEFORE), line.len().min(at + FROM));
    let shown: String = line.get(start..end).unwrap_or_default().iter().collect();
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_has_the_first_word_and_what_is_around_it() {
        let long = format!("{} Über\nden {}", "a ".repeat(100), "b ".repeat(200));
        let shown = excerpt(&long, &["den".into(), "über".into()]);
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.contains("Über den"), "{shown}");
        assert_eq!(excerpt("short", &["nothing".into()]), "short");
    }
}
