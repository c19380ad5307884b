//! A small export, whole and broken in every way that a file can be broken.

use jiff::Timestamp;
use omniglot_schema::*;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::digest::sha256;

#[test]
fn a_whole_file_is_read_with_its_frames_and_blobs() {
    let export = read(&whole("s"), "s").unwrap();
    assert_eq!((export.events.len(), export.blobs.len()), (3, 1));
    assert_eq!(export.header.session.agent, "mock");
    let frames: Vec<&[u8]> = export.frames.iter().map(|frame| &*frame.bytes).collect();
    assert_eq!(frames, [&br#"{"a": 1.0}"#[..], b"no json", b"\xff"]);
    assert_eq!(
        export.events.iter().map(|event| event.frame_no).collect::<Vec<_>>(),
        [Some(1), Some(2), Some(3)]
    );
    assert!(export.events.iter().all(|event| event.json.ends_with(br#""raw":null}"#)));
}

#[test]
fn events_that_share_a_frame_share_it_again() {
    let raws = [Some("{}"), Some("{}"), Some("[]")];
    let export = read(&file("s", &raws, &[]), "s").unwrap();
    assert_eq!(
        export.events.iter().map(|event| event.frame_no).collect::<Vec<_>>(),
        [Some(1), Some(1), Some(2)]
    );
    assert_eq!(export.frames.len(), 2);
}

#[test]
fn another_name_is_given_to_events_and_to_the_paths_of_blobs() {
    let export = read(&whole("s"), "other").unwrap();
    let json: Vec<&str> =
        export.events.iter().map(|event| std::str::from_utf8(&event.json).unwrap()).collect();
    assert!(json.iter().all(|json| json.contains(r#""session_id":"other""#)), "{json:?}");
    assert!(json[2].contains("/v1/sessions/other/blobs/"), "{json:?}");
    assert!(json[1].contains("/v1/sessions/s/blobs/is only text"), "{json:?}");
}

#[test]
fn every_flipped_byte_is_found() {
    let text = whole("s");
    for place in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[place] ^= 1;
        assert!(read_bytes(&bytes, "s").is_err(), "byte {place}");
    }
}

#[test]
fn every_missing_end_is_found() {
    let text = whole("s");
    let lines: Vec<&str> = text.lines().collect();
    for count in 0..lines.len() {
        let cut = lines[..count].join("\n");
        let error = read(&cut, "s").err().unwrap();
        assert!(matches!(error, ImportError::Cut { .. } | ImportError::NoExport), "{count}: {error}");
    }
    let half = &text[..text.len() / 2];
    assert!(read(half, "s").is_err());
}

#[test]
fn what_is_refused_says_why() {
    let text = whole("s");
    let told = |text: &str| read(text, "s").err().unwrap().to_string();
    insta::assert_snapshot!(told("hello\n"), @"this is no exported session: line 1 is not the header of one");
    insta::assert_snapshot!(told(&text.replacen(r#""version":1"#, r#""version":2,"new":{}"#, 1)), @"the file has version 2; this omniglot reads up to 1");
    insta::assert_snapshot!(told(&format!("{text}{text}")), @"the file is damaged: line 7: it goes on after its end");
    insta::assert_snapshot!(told(&resealed(&text.replace(r#""sequence":2"#, r#""sequence":9"#))), @"the file is damaged: line 6: event 9 breaks the rule `sequence` of the stream: 9 after 1");
    let blob = text.replace(r#""mime":"image/png""#, r#""mime":"text/html""#);
    assert!(told(&resealed(&blob)).ends_with("has the type `text/html`"), "{}", told(&resealed(&blob)));
    let blob = text.replace(r#""base64":"UE5H""#, r#""base64":"UE5I""#);
    assert!(told(&resealed(&blob)).ends_with("is not what its name says"), "{}", told(&resealed(&blob)));
    insta::assert_snapshot!(told(&file("s", &[], &[])), @"the file is damaged: line 2: there are no events");
}

fn read(text: &str, id: &str) -> Result<Export, ImportError> {
    read_bytes(text.as_bytes(), id)
}

fn read_bytes(bytes: &[u8], id: &str) -> Result<Export, ImportError> {
    let mut importer = Importer::new(SessionId::parse(id).unwrap());
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if !lines.is_empty() {
        lines.split(|byte| *byte == b'\n').try_for_each(|line| importer.line(line))?;
    }
    importer.finish()
}

fn whole(id: &str) -> String {
    file(id, &[Some(r#"{"a": 1.0}"#), Some(r#""no json""#), Some(r#"{"base64":"/w=="}"#)], &[b"PNG"])
}

/// An export with one event for each frame: a beginning, then titles, then models in a blob.
fn file(id: &str, raws: &[Option<&str>], blobs: &[&[u8]]) -> String {
    let session: SessionInfo = serde_json::from_value(serde_json::json!({
        "sessionId": id, "agent": "mock", "agentMode": "build", "permissionMode": "default",
        "ended": false, "eventCount": raws.len(), "createdAt": 0, "updatedAt": 0,
    }))
    .unwrap();
    let mark = ExportMark { format: EXPORT_FORMAT.into(), version: EXPORT_VERSION };
    let header = ExportHeader {
        mark,
        exporter: "test".into(),
        exported_at: 0,
        raw: true,
        session,
        stats: SessionStats::default(),
    };
    let mut lines = vec![ExportLine::Header(Box::new(header))];
    lines.extend(
        (1..).zip(raws).map(|(sequence, raw)| ExportLine::Event(Box::new(event(id, sequence, *raw)))),
    );
    lines.extend(blobs.iter().map(|bytes| {
        let (name, base64) = (format!("{}.png", sha256(bytes)), STANDARD.encode(bytes));
        ExportLine::Blob(ExportBlob { name, mime: "image/png".into(), base64 })
    }));
    sealed(
        lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect(),
        raws.len(),
        blobs.len(),
    )
}

fn event(id: &str, sequence: u64, raw: Option<&str>) -> UniversalEvent {
    let data = match sequence {
        1 => EventData::SessionStarted(SessionStartedData::default()),
        2 => {
            let title = Some(Some(format!("/v1/sessions/{id}/blobs/is only text")));
            EventData::SessionUpdated(StatePatch { title, ..StatePatch::default() })
        }
        _ => {
            let path = format!("/v1/sessions/{id}/blobs/{}.png", sha256(b"PNG")).into();
            let models = Some(Some(Listed::Blob(BlobRef { path })));
            EventData::SessionUpdated(StatePatch { models, ..StatePatch::default() })
        }
    };
    UniversalEvent {
        event_id: EventId(format!("evt_{sequence}")),
        sequence,
        time: Timestamp::UNIX_EPOCH,
        session_id: SessionId::parse(id).unwrap(),
        native_session_id: None,
        source: EventSource::Daemon,
        synthetic: true,
        metadata: None,
        data,
        raw: raw.map(|raw| RawValue::from_string(raw.to_owned()).unwrap()),
    }
}

fn sealed(body: String, events: usize, blobs: usize) -> String {
    let sha256 = format!("{:x}", Sha256::digest(body.as_bytes()));
    let end = ExportLine::End(ExportEnd { events: events as u64, blobs: blobs as u64, sha256 });
    body + &serde_json::to_string(&end).unwrap() + "\n"
}

/// The same with a checksum that fits.
fn resealed(text: &str) -> String {
    let end = text.trim_end().rfind('\n').unwrap() + 1;
    sealed(text[..end].to_owned(), 3, 1)
}
