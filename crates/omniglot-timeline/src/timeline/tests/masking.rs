//! Secrets never reach the stream, however an agent tears or escapes them (P18), and the rules hold all the same.

use proptest::prelude::*;

use super::*;
use crate::secrets::Secrets;

const SECRET: &str = "canary-se\"cret-123";

impl Session {
    fn with_secret() -> Self {
        let mut session = Self::new();
        session.timeline.hide(Secrets::new([SECRET.to_owned()]));
        session
    }

    fn says(&mut self, key: &str, delta: &str) {
        self.draft(Draft::ItemDelta { key: key.into(), delta: delta.into() });
    }

    /// The deltas so far, joined.
    fn streamed(&self) -> String {
        let deltas = self.said.iter().filter_map(|emitted| match &emitted.event.data {
            EventData::ItemDelta(data) => Some(data.delta.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    fn shown(&self) -> String {
        self.said.iter().map(|emitted| serde_json::to_string(&emitted.event).unwrap()).collect()
    }
}

fn text_of(item: &UniversalItem) -> String {
    let parts = item.content.iter().map(|part| match part {
        ContentPart::Text { text } => text.as_str(),
        _ => "",
    });
    parts.collect()
}

#[test]
fn the_beginning_of_a_secret_is_held_back_until_it_proves_to_be_none() {
    let mut session = Session::with_secret();
    session.says("m", "see the can");
    assert_eq!(session.streamed(), "see the ");
    session.says("m", "al");
    assert_eq!(session.streamed(), "see the canal");
    session.says("m", " canary-");
    session.end("m", Outcome::Completed, None);
    assert_eq!(session.streamed(), "see the canal canary-");
    assert_eq!(text_of(&session.last()), "see the canal canary-");
}

#[test]
fn what_is_held_back_is_told_when_the_turn_cuts_its_item() {
    let mut session = Session::with_secret();
    session.says("m", "my canary");
    session.end_turn();
    assert_eq!(session.streamed(), "my canary");
    session.says("m", " and the can");
    session.says("m", "ary-se\"cret-123 late cana");
    session.turn();
    assert!(session.shown().contains(" and the *** late cana"), "{}", session.shown());
    session.end_turn();
    assert!(!session.shown().contains("cret-123"), "{}", session.shown());
    session.ended();
}

#[test]
fn a_secret_that_is_a_word_of_the_schema_hides_only_what_is_said() {
    let mut session = Session::new();
    session.timeline.hide(Secrets::new(["completed".to_owned()]));
    session.says("m", "it is completed");
    session.end("m", Outcome::Completed, None);
    session.end_turn();
    assert_eq!(text_of(&session.ended().remove(1)), "it is ***");
    session.ended();
}

#[test]
fn a_frame_shows_as_little_of_a_torn_secret_as_its_event() {
    let mut session = Session::with_secret();
    let frames = [
        r#"{"delta":"key canary-","whole":"my key canary-"}"#,
        r#"{"delta":"se\"cret-123!","whole":"my key ***!"}"#,
        r#"{"encoded":"bWU="}"#,
    ];
    session.says("m", "key canary-");
    let first = session.timeline.take_torn_frames();
    assert_eq!(first.len(), 1);
    let masked = String::from_utf8(first[0].mask(frames[0].as_bytes())).unwrap();
    assert_eq!(masked, r#"{"delta":"key ***","whole":"my key ***"}"#);
    session.says("m", "se\"cret-123!");
    let second = session.timeline.take_torn_frames();
    let masked = String::from_utf8(second[0].mask(frames[1].as_bytes())).unwrap();
    assert_eq!(masked, r#"{"delta":"***!","whole":"my key ***!"}"#);
    assert_eq!(second[0].mask(frames[2].as_bytes()), br#""***""#);
    session.says("m", " nothing here");
    assert_eq!(session.timeline.take_torn_frames(), []);
}

proptest! {
    #[test]
    fn no_cut_of_a_secret_reaches_the_stream(
        before in "[a-c\"\\\\ ]{0,6}",
        after in "[a-c\"\\\\ ]{0,6}",
        spelling in prop::collection::vec(0u8..3, 1..8),
        cuts in prop::collection::vec(1usize..7, 1..20),
        kind in 0u8..4,
        tells_final in any::<bool>(),
    ) {
        let spell = |(c, how): (char, &u8)| match how {
            0 | 1 => c.to_string(),
            _ => format!("\\u{:04x}", u32::from(c)),
        };
        let secret: String = SECRET.chars().zip(spelling.iter().cycle()).map(spell).collect();
        let text = format!("{before}{secret}{after}{secret}");
        let chars: Vec<char> = text.chars().collect();
        let mut session = Session::with_secret();
        let mut at = 0;
        if kind == 1 {
            let body = Body::Reasoning { text: String::new(), visibility: omniglot_schema::ReasoningVisibility::Public };
            session.start("m", body);
        }
        if kind >= 2 {
            session.call_begins("m");
        }
        for size in cuts.iter().cycle() {
            if at >= chars.len() {
                break;
            }
            let piece: String = chars[at..chars.len().min(at + size)].iter().collect();
            match kind {
                0 | 1 => session.says("m", &piece),
                2 => session.draft(Draft::CallInput { key: "m".into(), delta: piece }),
                _ => session.output("m", &piece),
            }
            at += size;
        }
        match kind {
            0 => session.end("m", Outcome::Completed, tells_final.then(|| Body::assistant_text(text.clone()))),
            1 => session.end("m", Outcome::Completed, None),
            2 => {
                let arguments = serde_json::json!({"command": text}).to_string();
                let call = tells_final.then(|| ToolCall::new("shell", arguments));
                session.draft(Draft::CallReady { key: "m".into(), call });
            }
            _ => {
                let output = if tells_final { text.clone() } else { String::new() };
                let result = ToolResult { output, ..ToolResult::default() };
                session.finish("m", Outcome::Completed, result);
            }
        }
        session.end_turn();
        let masked = Secrets::new([SECRET.to_owned()]).mask(&text).unwrap();
        prop_assert_eq!(session.streamed(), masked.clone());
        if kind == 0 {
            prop_assert_eq!(text_of(&session.ended()[1]), masked);
        }
        let shown = session.shown();
        prop_assert!(!shown.contains("cret-123") && !shown.contains("canary"), "{}", shown);
        session.ended();
    }
}
