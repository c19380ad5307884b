//! Items that are complete from the start, and those that the agent gives no id.

use omniglot_schema::{StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use crate::contract::{Draft, DropReason, Output};

/// Numbers the items that the agent gives no id.
#[derive(Debug, Default)]
pub(crate) struct ItemCounter(u64);

impl ItemCounter {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    pub(crate) fn item(&mut self, prefix: &str, body: Body) -> ItemStart {
        let key = ItemKey(format!("{prefix}:{}", self.next()));
        ItemStart { key, native_id: None, parent: None, body }
    }

    pub(crate) fn status(&mut self, label: StatusLabel, detail: Option<String>) -> ItemStart {
        self.item("status", Body::Status { label, detail })
    }

    /// Tells an item of no native id that is complete from the start.
    pub(crate) fn note(&mut self, body: Body, in_turn: bool, out: &mut Vec<Output>) {
        whole(self.item("note", body), in_turn, out);
    }
}

/// Tells an item that is complete from the start. Outside a turn the start alone makes the item.
pub(crate) fn whole(item: ItemStart, in_turn: bool, out: &mut Vec<Output>) {
    let key = item.key.clone();
    out.push(Draft::ItemStarted(item).into());
    out.extend(in_turn.then(|| completed(key)));
}

/// Tells a change of the session's state.
pub(crate) fn tell_state(patch: StatePatch, out: &mut Vec<Output>) {
    out.push(Draft::State(Box::new(patch)).into());
}

/// Counts a frame that carries nothing for the stream.
pub(crate) fn dropped(reason: DropReason, out: &mut Vec<Output>) {
    out.push(Output::dropped(reason));
}

/// Completes an item with the content that was started and streamed.
pub(crate) fn completed(key: ItemKey) -> Output {
    Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body: None }).into()
}
