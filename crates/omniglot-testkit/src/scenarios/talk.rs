//! Prompts and answers: text, thoughts, images, several prompts.

use omniglot_schema::{EventData, MessageAttachment, PermissionReply, StopReason};

use super::Dialect;
use crate::models::Reply;
use crate::session_driver::text_of;

/// Text is streamed.
pub async fn text_messages(agent: &Dialect) {
    let fixture = agent.fixture([Reply::text("Hello from the script.")]).await;
    let turn = fixture.turn("Say hello.").await;
    assert_eq!(
        (turn.text().as_str(), turn.stop_reason()),
        ("Hello from the script.", StopReason::EndTurn),
        "{turn}"
    );
    let usage = turn.ended().usage.as_ref().map(|usage| (usage.input_tokens, usage.output_tokens));
    assert_eq!(usage, Some((Some(120), Some(15))), "{turn}");
    assert!(fixture.model.last().text().contains("Say hello."));
    fixture.session.history().await;
}

/// The first half of a text is there before the model has sent the second.
pub async fn streaming_deltas(agent: &Dialect) {
    let (reply, gate) = Reply::text("This takes a while.").hold();
    let fixture = agent.fixture([reply]).await;
    fixture.session.post("Take your time.").await;
    gate.reached().await;
    let half = fixture.session.wait_for(0, |event| matches!(event.data, EventData::ItemDelta(_))).await;
    gate.open();
    fixture.session.wait_for(half.sequence, |event| matches!(event.data, EventData::TurnEnded(_))).await;
    let history = fixture.session.history().await;
    assert_eq!(text_of(&history), "This takes a while.");
}

/// Thoughts are items of their own.
pub async fn reasoning(agent: &Dialect) {
    let fixture = agent.fixture([Reply::thinking("First I ponder.").and_text("Then I answer.")]).await;
    let turn = fixture.turn("Think.").await;
    let [thought] = turn.thoughts().try_into().unwrap_or_else(|_| panic!("one thought:\n{turn}"));
    assert!(thought.contains("First I ponder."), "{turn}");
    assert_eq!(turn.text(), "Then I answer.", "{turn}");
}

/// The next prompt follows the first.
pub async fn several_turns(agent: &Dialect) {
    let fixture = agent.fixture([Reply::text("The first answer."), Reply::text("The second answer.")]).await;
    assert_eq!(fixture.turn("The first question.").await.text(), "The first answer.");
    assert_eq!(fixture.turn("The second question.").await.text(), "The second answer.");
    let heard = fixture.model.last().text();
    for said in ["The first question.", "The first answer.", "The second question."] {
        assert!(heard.contains(said), "{said}\n{heard}");
    }
    fixture.session.history().await;
}

/// An image reaches the model.
pub async fn images(agent: &Dialect) {
    let fixture = agent.fixture([Reply::text("A red dot.")]).await;
    std::fs::write(fixture.file("dot.png"), DOT).expect("an image");
    let mut message = crate::session_driver::message("What is this?");
    message.attachments =
        vec![MessageAttachment { path: "dot.png".into(), mime: Some("image/png".into()), filename: None }];
    let turn = fixture.session.turn_with(&message, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A red dot.", "{turn}");
    assert_eq!(fixture.model.last().images(), ["image/png"]);
}

/// One red pixel.
const DOT: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00,
    0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01,
    0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60,
    0x82,
];

pub async fn a_code_block_keeps_its_fences_and_blanks(agent: &Dialect) {
    const CODE: &str =
        "Look:\n\n```rust\nfn main() {\n    println!(\"hi\");\n\n\tloop {}\n}\n```\n\nThat is all.";
    let fixture = agent.fixture([Reply::text(CODE)]).await;
    let turn = fixture.turn("Write a program.").await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), (CODE, StopReason::EndTurn), "{turn}");
    fixture.session.history().await;
}
