//! Inline images and long lists leave the events and come out as blobs.

use jiff::Timestamp;
use omniglot_schema::{CommandInfo, EventData, ItemRole};

use super::*;
use crate::draft::{ItemEnd, ItemStart, Outcome, SessionStarted};
use crate::timeline::Identity;
use crate::{Fold, ItemKey};

struct Harness {
    timeline: Timeline,
    out: Vec<Emitted>,
}

impl Harness {
    fn new() -> Self {
        let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".to_owned() };
        let mut harness = Self { timeline: Timeline::new(identity, "seed"), out: vec![] };
        harness.say(Draft::SessionStarted(SessionStarted::default()));
        harness
    }

    fn say(&mut self, draft: Draft) {
        self.timeline.apply(draft, Stamp::agent(Timestamp::UNIX_EPOCH, 1), &mut self.out);
    }

    fn ask(&mut self, content: Vec<ContentPart>) {
        self.say(Draft::TurnStarted(Origin::User { message_id: None, content }));
    }

    fn show(&mut self, key: &str, part: ContentPart) {
        let body = Body::Message { role: ItemRole::Assistant, parts: vec![part] };
        let key = ItemKey::from(key);
        self.say(Draft::ItemStarted(ItemStart { key: key.clone(), native_id: None, parent: None, body }));
        self.say(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body: None }));
    }

    fn commands(&mut self, count: usize) {
        let info = |n| CommandInfo { name: format!("c{n}"), description: "d".repeat(100), hint: None };
        let commands = Some(Some((0..count).map(info).collect()));
        self.say(Draft::State(Box::new(StatePatch { commands, ..StatePatch::default() })));
    }

    fn images(&self) -> Vec<&str> {
        let completed = self.out.iter().filter_map(|emitted| match &emitted.event.data {
            EventData::ItemCompleted(data) => Some(&data.item.content),
            _ => None,
        });
        let path = |part: &'_ ContentPart| matches!(part, ContentPart::Image { .. });
        completed
            .flatten()
            .filter(|part| path(part))
            .map(|part| match part {
                ContentPart::Image { path, .. } => path.as_str(),
                _ => unreachable!(),
            })
            .collect()
    }

    fn blobs(&mut self) -> Vec<Blob> {
        let kept = |effect| if let Effect::Keep(blob) = effect { Some(blob) } else { None };
        self.timeline.take_effects().into_iter().filter_map(kept).collect()
    }
}

const PATH: &str =
    "/v1/sessions/s/blobs/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824.png";

#[test]
fn an_inline_image_becomes_a_path_and_a_blob_of_its_hash() {
    let mut harness = Harness::new();
    harness.ask(vec![ContentPart::text("look"), inline_image("image/png", "aGVsbG8=")]);
    harness.show("a", inline_image("image/png", "aGVsbG8"));
    assert_eq!(harness.images(), [PATH, PATH]);
    let blobs = harness.blobs();
    assert!(blobs.iter().all(|blob| blob.bytes == b"hello" && PATH.ends_with(&blob.name)));
    assert!(harness.blobs().is_empty());
}

#[test]
fn an_image_that_cannot_be_decoded_is_told_and_the_rest_stays() {
    let mut harness = Harness::new();
    harness.ask(vec![ContentPart::text("look"), inline_image("image/png", "no base64!")]);
    assert!(harness.images().is_empty());
    assert_eq!(harness.timeline.stats().unparsed, 1);
}

#[test]
fn what_is_no_image_is_never_served_as_a_page() {
    let mut harness = Harness::new();
    harness.ask(vec![inline_image("text/html", "aGVsbG8="), inline_image("image/x;a=b", "aGVsbG8=")]);
    let blobs = harness.blobs();
    assert!(blobs.iter().all(|blob| blob.mime == "application/octet-stream" && blob.name.ends_with(".bin")));
}

#[test]
fn a_long_list_stands_as_a_path_in_event_and_state_alike() {
    let mut harness = Harness::new();
    harness.commands(3);
    assert!(harness.blobs().is_empty());
    harness.commands(200);
    harness.commands(200);
    let mut folded = Fold::default();
    harness.out.iter().for_each(|emitted| folded.apply(&emitted.event));
    assert_eq!(&folded, harness.timeline.fold());
    let commands = folded.state.commands.unwrap();
    assert_eq!(harness.timeline.entries(&commands).unwrap().len(), 200);
    let blobs = harness.blobs();
    assert_eq!(blobs.len(), 1, "a list that is said again is no news");
    assert_eq!(commands.path().unwrap(), blobs[0].path(&SessionId::parse("s").unwrap()));
    harness.commands(2);
    assert_eq!(harness.timeline.fold().state.commands.as_ref().unwrap().inline().unwrap().len(), 2);
}

#[test]
fn sound_and_other_bytes_are_files_among_the_blobs() {
    let mut harness = Harness::new();
    harness.ask(vec![]);
    harness.show("sound", inline_file("audio/wav", "AAEC"));
    harness.show("page", inline_file("text/html", "PGI+"));
    let blobs = harness.blobs();
    let served: Vec<(&str, &str)> =
        blobs.iter().map(|blob| (blob.name.rsplit('.').next().unwrap(), blob.mime.as_str())).collect();
    assert_eq!(served, [("wav", "audio/wav"), ("bin", "application/octet-stream")]);
    let shown = serde_json::to_string(&harness.out.last().unwrap().event).unwrap();
    assert!(shown.contains(&format!("/v1/sessions/s/blobs/{}", blobs[1].name)), "{shown}");
}

/// A9: the diff of a large edit stands in no event, however many tell it.
#[test]
fn a_long_diff_becomes_a_path_and_a_short_one_stays() {
    let mut harness = Harness::new();
    harness.ask(vec![]);
    let file = |diff: &str| ContentPart::file("/w/a".to_owned(), FileAction::Write, Some(diff.to_owned()));
    let long = "+line\n".repeat(LONGEST_DIFF / 6 + 1);
    for (key, diff) in [("a", long.as_str()), ("b", long.as_str()), ("c", "+line\n")] {
        harness.show(key, file(diff));
    }
    let blobs = harness.blobs();
    assert!(blobs.iter().all(|blob| blob.bytes == long.as_bytes() && blob.mime == "text/x-diff"));
    let shown: Vec<_> = harness
        .out
        .iter()
        .filter_map(|emitted| match &emitted.event.data {
            EventData::ItemCompleted(data) => data.item.content.last(),
            _ => None,
        })
        .filter_map(|part| match part {
            ContentPart::FileRef { diff, diff_blob, .. } => Some((diff.as_deref(), diff_blob.as_deref())),
            _ => None,
        })
        .collect();
    let path = blobs[0].path(&SessionId::parse("s").unwrap());
    assert!(path.ends_with(".diff"), "{path}");
    let path = Some(path.as_str());
    assert_eq!(shown, [(None, path), (None, path), (Some("+line\n"), None)]);
}
