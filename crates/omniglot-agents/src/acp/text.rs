//! Messages and thoughts, from chunks to items.
//!
//! One item is open at a time: whatever else begins ends it, because agents stream one block after
//! the other and many of them do not name the message that a chunk belongs to.

use omniglot_schema::{ContentPart, ItemRole, ReasoningVisibility};
use omniglot_timeline::{Body, ItemKey, ItemStart};

use crate::contract::{Draft, Output};
use crate::conversation::items::{completed, whole};

#[derive(Debug, Default)]
pub(crate) struct Texts {
    open: Option<OpenText>,
    made: u64,
}

#[derive(Debug)]
struct OpenText {
    key: ItemKey,
    voice: Voice,
    message_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Answer,
    Thought,
}

/// Where a chunk belongs.
#[derive(Debug, Clone)]
pub(crate) struct TextOrigin {
    pub(crate) voice: Voice,
    pub(crate) message_id: Option<String>,
    pub(crate) parent: Option<ItemKey>,
}

impl Texts {
    pub(crate) fn extend(&mut self, origin: TextOrigin, delta: String, out: &mut Vec<Output>) {
        let fits = |open: &OpenText| open.voice == origin.voice && open.message_id == origin.message_id;
        let key = match self.open.as_ref().filter(|open| fits(open)) {
            Some(open) => open.key.clone(),
            None => self.begin(origin, out),
        };
        out.push(Draft::ItemDelta { key, delta }.into());
    }

    /// A part that cannot be streamed is a message of its own.
    pub(crate) fn part(&mut self, origin: TextOrigin, part: ContentPart, out: &mut Vec<Output>) {
        self.interrupt(out);
        let key = self.next_key(&origin);
        let body = Body::Message { role: ItemRole::Assistant, parts: vec![part] };
        whole(ItemStart { key, native_id: origin.message_id, parent: origin.parent, body }, true, out);
    }

    /// Something else begins: the open block is complete.
    pub(crate) fn interrupt(&mut self, out: &mut Vec<Output>) {
        out.extend(self.open.take().map(|open| completed(open.key)));
    }

    /// The turn broke off: whether the open block was complete, nobody knows.
    pub(crate) fn abandon(&mut self) {
        self.open = None;
    }

    fn begin(&mut self, origin: TextOrigin, out: &mut Vec<Output>) -> ItemKey {
        self.interrupt(out);
        let key = self.next_key(&origin);
        let body = match origin.voice {
            Voice::Answer => Body::Message { role: ItemRole::Assistant, parts: vec![] },
            Voice::Thought => {
                Body::Reasoning { text: String::new(), visibility: ReasoningVisibility::Public }
            }
        };
        let TextOrigin { voice, message_id, parent } = origin;
        let start = ItemStart { key: key.clone(), native_id: message_id.clone(), parent, body };
        out.push(Draft::ItemStarted(start).into());
        self.open = Some(OpenText { key: key.clone(), voice, message_id });
        key
    }

    fn next_key(&mut self, origin: &TextOrigin) -> ItemKey {
        self.made += 1;
        let voice = match origin.voice {
            Voice::Answer => "text",
            Voice::Thought => "thought",
        };
        let id = origin.message_id.as_deref().unwrap_or_default();
        ItemKey(format!("{voice}:{}:{id}", self.made))
    }
}
