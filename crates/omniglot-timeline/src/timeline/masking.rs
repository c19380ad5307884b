//! Secrets, hidden where events are made (P18): nothing reaches the stream but by the one place that builds envelopes.
//!
//! An agent streams text in pieces, and a secret may be torn over them. So the end of a growing text that may be the
//! beginning of a secret is held back until more of the text decides, at the latest until its item is complete. The
//! Timeline goes on to work with what was said; since a text is masked from its beginning to its end whether it comes
//! whole or in pieces, the deltas of an item are still its text (T6).
//!
//! A native frame with a piece of a secret shows as little of it as its event does: see [`TornFrame`].

use std::collections::HashMap;

use omniglot_schema::{EventData, EventSource, ItemDeltaData, ItemId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Emitted, Stamp, Timeline};
use crate::secrets::{HIDDEN, Secrets};

/// The secrets of a session, and the texts that are held back because of them.
#[derive(Debug, Default)]
pub(super) struct Masking {
    secrets: Secrets,
    held: HashMap<ItemId, Held>,
    torn: Vec<TornFrame>,
}

/// The end of a growing text that may be the beginning of a secret.
#[derive(Debug)]
struct Held {
    text: String,
    /// The last delta without its words.
    data: ItemDeltaData,
}

/// A native frame that carries a piece of what may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornFrame {
    pub frame: u64,
    /// The piece of text that the frame brought.
    said: String,
    /// The text that the event shows in its place.
    shown: String,
    /// The end of the whole text so far that is held back.
    held: String,
    /// Whether the piece must stand in the frame as it is.
    is_verbatim: bool,
}

/// A shorter beginning of a secret tells nothing of it, and stands at the end of many texts.
const TELLING: usize = 4;

impl Timeline {
    /// Hides these values in everything that is said from now on.
    pub fn hide(&mut self, secrets: Secrets) {
        match &mut self.masking {
            Some(masking) => masking.secrets = secrets,
            None if secrets.is_empty() => {}
            None => self.masking = Some(Box::new(Masking { secrets, ..Masking::default() })),
        }
    }

    /// Returns the frames since the last call that carry pieces of what may be secrets.
    pub fn take_torn_frames(&mut self) -> Vec<TornFrame> {
        self.masking.as_mut().map(|masking| std::mem::take(&mut masking.torn)).unwrap_or_default()
    }

    /// Hides secrets in a value that is compared with what the stream shows.
    pub(super) fn masked<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        match &self.masking {
            Some(masking) => masking.mask(value, |value| T::deserialize(value).ok()),
            None => value,
        }
    }

    /// Tells what is held back of an item, which is about to be complete.
    pub(super) fn release_held(&mut self, item: &ItemId, stamp: Stamp, out: &mut Vec<Emitted>) {
        let held = self.masking.as_mut().and_then(|masking| masking.release(item));
        if let Some(delta) = held {
            self.emit_as_is(EventData::ItemDelta(delta), stamp.synthetic(), out);
        }
    }

    /// Another text takes the place of what is held back of an item.
    pub(super) fn forget_held(&mut self, item: &ItemId) {
        if let Some(masking) = &mut self.masking {
            masking.held.remove(item);
        }
    }

    /// Emits an event without secrets: a delta may come later, in parts, or with the end of its item.
    pub(super) fn emit_masked(
        &mut self,
        masking: &mut Masking,
        data: EventData,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        match data {
            EventData::ItemDelta(delta) => {
                if let Some(delta) = masking.grow(delta, stamp) {
                    self.emit_as_is(EventData::ItemDelta(delta), stamp, out);
                }
            }
            EventData::ItemCompleted(ref item) => {
                if let Some(delta) = masking.release(&item.item.item_id) {
                    self.emit_as_is(EventData::ItemDelta(delta), stamp.synthetic(), out);
                }
                self.emit_as_is(masking.mask_event(data), stamp, out);
            }
            data => self.emit_as_is(masking.mask_event(data), stamp, out),
        }
    }
}

impl Masking {
    /// Returns what may be shown of a text that has grown.
    fn grow(&mut self, data: ItemDeltaData, stamp: Stamp) -> Option<ItemDeltaData> {
        let ItemDeltaData { item_id, native_item_id, delta: said, part_type } = data;
        let before = self.held.remove(&item_id).map(|held| held.text).unwrap_or_default();
        let whole = [before.as_str(), &said].concat();
        let (shown, held) = self.secrets.split(whole.clone());
        let is_torn = !held.is_empty() || (!before.is_empty() && shown != whole);
        if let Some(frame) = stamp.frame.filter(|_| is_torn) {
            let is_verbatim = stamp.source == EventSource::Agent;
            let (said, shown, held) = (self.mask_text(said), shown.clone(), held.clone());
            self.torn.push(TornFrame { frame, said, shown, held, is_verbatim });
        }
        let native_item_id = native_item_id.map(|id| self.mask_text(id));
        let data =
            ItemDeltaData { item_id: item_id.clone(), native_item_id, delta: String::new(), part_type };
        if !held.is_empty() {
            self.held.insert(item_id, Held { text: held, data: data.clone() });
        }
        (!shown.is_empty()).then_some(ItemDeltaData { delta: shown, ..data })
    }

    /// Returns what was held back of an item that is complete.
    fn release(&mut self, item: &ItemId) -> Option<ItemDeltaData> {
        let Held { text, data } = self.held.remove(item)?;
        Some(ItemDeltaData { delta: self.mask_text(text), ..data })
    }

    fn mask_text(&self, text: String) -> String {
        self.secrets.mask(&text).unwrap_or(text)
    }

    fn mask_event(&self, data: EventData) -> EventData {
        let kind = data.kind();
        self.mask(data, |value| {
            let json = serde_json::value::to_raw_value(value).ok()?;
            EventData::parse(kind, &json).ok()
        })
    }

    /// Masks every text of a value. One that is a word of the schema cannot be another, and stays.
    fn mask<T: Serialize>(&self, value: T, read: impl Fn(&Value) -> Option<T>) -> T {
        let Ok(json) = serde_json::to_value(&value) else { return value };
        let mut masked = json.clone();
        if !self.mask_json(&mut masked) {
            return value;
        }
        read(&masked).unwrap_or_else(|| self.mask_one_by_one(value, json, read))
    }

    /// Masks the texts of a value, and the names of its members.
    fn mask_json(&self, json: &mut Value) -> bool {
        match json {
            Value::String(text) => match self.secrets.mask(text) {
                Some(masked) => {
                    *text = masked;
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                items.iter_mut().filter_map(|item| self.mask_json(item).then_some(())).count() > 0
            }
            Value::Object(members) => {
                let mut found = false;
                for (name, mut member) in std::mem::take(members) {
                    let masked = self.secrets.mask(&name);
                    found |= self.mask_json(&mut member) || masked.is_some();
                    members.insert(masked.unwrap_or(name), member);
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn mask_one_by_one<T>(&self, value: T, mut json: Value, read: impl Fn(&Value) -> Option<T>) -> T {
        let mut best = value;
        for nth in 0..texts(&mut json).len() {
            let mut tried = json.clone();
            let Some(text) = texts(&mut tried).into_iter().nth(nth) else { continue };
            let Some(masked) = self.secrets.mask(text) else { continue };
            *text = masked;
            if let Some(read) = read(&tried) {
                (best, json) = (read, tried);
            }
        }
        best
    }
}

/// Returns every text of a value, in order.
fn texts(json: &mut Value) -> Vec<&mut String> {
    match json {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter_mut().flat_map(texts).collect(),
        Value::Object(members) => members.values_mut().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => vec![],
    }
}

impl TornFrame {
    /// Hides the piece in its frame: the text that the event is made of, and every text that ends as the item does so
    /// far. A frame that tells the piece in another form is hidden as a whole.
    pub fn mask(&self, frame: &[u8]) -> Vec<u8> {
        let whole = || Value::from(HIDDEN).to_string().into_bytes();
        let Ok(mut json) = serde_json::from_slice::<Value>(frame) else { return whole() };
        match self.mask_json(&mut json) || !self.is_verbatim {
            true => json.to_string().into_bytes(),
            false => whole(),
        }
    }

    /// Returns whether the piece was there.
    fn mask_json(&self, json: &mut Value) -> bool {
        let mut found = false;
        for text in texts(json) {
            if *text == self.said {
                *text = [self.shown.as_str(), if self.held.is_empty() { "" } else { HIDDEN }].concat();
                found = true;
            } else if self.held.len() >= TELLING
                && let Some(before) = text.strip_suffix(self.held.as_str())
            {
                *text = [before, HIDDEN].concat();
                found = true;
            }
        }
        found
    }
}
