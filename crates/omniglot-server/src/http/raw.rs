//! Puts native frames into the events that were made from them, without decoding the events.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use omniglot_store::{StoredEvent, StoredFrame};
use serde::Serialize;
use serde::de::IgnoredAny;

/// Returns the numbers of the frames that `events` were made from, each once.
pub(crate) fn frame_numbers<'a>(events: impl IntoIterator<Item = &'a StoredEvent>) -> Vec<u64> {
    let mut numbers: Vec<u64> = events.into_iter().filter_map(|event| event.frame_no).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Replaces a frame that retention has dropped, to distinguish it from an event that never had one.
const OMITTED: &[u8] = br#"{"omitted":"retention"}"#;

/// Returns the event's JSON with its frame as `raw`; without a frame the stored JSON.
pub(crate) fn with_raw(event: &StoredEvent, frames: &HashMap<u64, StoredFrame>) -> Bytes {
    let frame = event.frame_no.and_then(|number| frames.get(&number));
    match (frame, before_null(&event.json)) {
        (Some(frame), Some(head)) => {
            let raw = match frame {
                StoredFrame::Kept(bytes) => as_json(bytes),
                StoredFrame::Dropped => Cow::Borrowed(OMITTED),
            };
            let mut json = BytesMut::with_capacity(head.len() + raw.len() + 1);
            json.extend_from_slice(head);
            json.extend_from_slice(&raw);
            json.extend_from_slice(b"}");
            json.freeze()
        }
        _ => event.json.clone(),
    }
}

/// Returns everything up to the null of the last member, which is `raw`.
fn before_null(json: &[u8]) -> Option<&[u8]> {
    json.ends_with(br#""raw":null}"#).then(|| json.strip_suffix(b"null}")).flatten()
}

/// Returns a frame as one line of JSON: itself, or a string if it is text, or `{"base64": …}`.
fn as_json(frame: &[u8]) -> Cow<'_, [u8]> {
    #[derive(Serialize)]
    struct Binary {
        base64: String,
    }
    let Ok(text) = std::str::from_utf8(frame) else {
        return Cow::Owned(encode(&Binary { base64: STANDARD.encode(frame) }));
    };
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Cow::Owned(encode(text));
    }
    // Line ends in JSON can only occur between tokens, and would end the line of an SSE frame.
    if text.contains(['\n', '\r']) {
        return Cow::Owned(text.replace(['\n', '\r'], " ").into_bytes());
    }
    Cow::Borrowed(frame)
}

fn encode(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    // Strings and maps of strings always have a JSON form.
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

#[cfg(test)]
mod tests {
    use omniglot_schema::UniversalEventType;

    use super::*;

    const STORED: &str = r#"{"sequence":1,"data":{"raw":null},"raw":null}"#;

    #[track_caller]
    fn spliced(frame: &[u8]) -> String {
        with(StoredFrame::Kept(Bytes::copy_from_slice(frame)))
    }

    #[track_caller]
    fn with(frame: StoredFrame) -> String {
        let json = Bytes::from_static(STORED.as_bytes());
        let event = StoredEvent { seq: 1, kind: UniversalEventType::ItemDelta, json, frame_no: Some(4) };
        let frames = HashMap::from([(4, frame)]);
        String::from_utf8(with_raw(&event, &frames).to_vec()).unwrap()
    }

    #[test]
    fn a_json_frame_is_spliced_verbatim() {
        let json = r#"{"sequence":1,"data":{"raw":null},"raw":{"a": 1.0}}"#;
        assert_eq!(spliced(br#"{"a": 1.0}"#), json);
    }

    #[test]
    fn text_becomes_a_string_and_bytes_become_base64() {
        assert!(spliced(b"panic: \"oh\"").ends_with(r#","raw":"panic: \"oh\""}"#));
        assert!(spliced(b"{\xff}").ends_with(r#","raw":{"base64":"e/99"}}"#));
        assert!(spliced(b"").ends_with(r#","raw":""}"#));
    }

    #[test]
    fn a_frame_never_breaks_the_line() {
        assert!(spliced(b"{\n\"a\":\"\\n\"}\r\n").ends_with(r#","raw":{ "a":"\n"}  }"#));
        assert!(!spliced(b"not\njson").contains('\n'));
    }

    #[test]
    fn a_frame_that_retention_has_dropped_is_told_apart_from_none() {
        assert!(with(StoredFrame::Dropped).ends_with(r#","raw":{"omitted":"retention"}}"#));
    }

    #[test]
    fn an_event_without_its_frame_stays_as_stored() {
        let json = Bytes::from_static(STORED.as_bytes());
        let event = StoredEvent { seq: 1, kind: UniversalEventType::ItemDelta, json, frame_no: None };
        assert_eq!(with_raw(&event, &HashMap::new()), STORED);
        assert_eq!(frame_numbers([&event]), Vec::<u64>::new());
    }
}
