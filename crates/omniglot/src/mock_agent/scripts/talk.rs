//! Words that only emit content: text, reasoning, an image, memory.

use agent_client_protocol_schema::v1::{ContentBlock, ImageContent};

use crate::mock_agent::turn::{Flow, Turn, message_chunk};

pub(in crate::mock_agent) fn text(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("Hello from the mock agent. These words were streamed in small chunks, as a real model does.")
}

pub(in crate::mock_agent) fn words(turn: &mut Turn<'_>, count: u64) -> Flow {
    let id = turn.next_message()?;
    for (_, word) in (0..count).zip(VOCABULARY.iter().cycle()) {
        turn.update(message_chunk(*word, &id))?;
    }
    Ok(())
}

pub(in crate::mock_agent) fn reasoning(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.think("The question is short. I should think a little, and then answer plainly.")?;
    turn.say("I thought about it, and this is my answer.")
}

pub(in crate::mock_agent) fn image(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("Here is a picture:")?;
    let id = turn.next_message()?;
    let picture = ContentBlock::Image(ImageContent::new(PIXEL, "image/png"));
    turn.update(message_chunk(picture, &id))
}

/// Proves that a session was loaded or resumed: its earlier prompts are known.
pub(in crate::mock_agent) fn recall(turn: &mut Turn<'_>, _: u64) -> Flow {
    let mut prompts: Vec<_> = turn.state()?.record.prompts().map(str::to_owned).collect();
    prompts.pop(); // The last one is the prompt that asks.
    let text = match prompts.first() {
        Some(first) => format!("Earlier prompts: {}. The first was: {first}", prompts.len()),
        None => "Earlier prompts: 0.".to_owned(),
    };
    turn.say(&text)
}

pub(in crate::mock_agent) fn unknown(turn: &mut Turn<'_>, word: &str) -> Flow {
    turn.say(&format!("I do not know [[{word}]]; try omniglot mock-agent --list"))
}

const VOCABULARY: [&str; 12] = [
    "many ",
    "agents ",
    "speak ",
    "many ",
    "tongues, ",
    "yet ",
    "one ",
    "stream ",
    "carries ",
    "all ",
    "their ",
    "words. ",
];

/// A PNG of one green pixel.
pub(super) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPQ6w4HAAH7ARF0JhTpAAAAAElFTkSuQmCC";
