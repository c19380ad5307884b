//! Drafts, the Timeline that turns them into lawful events, the fold from events to state, and the view that readers
//! of events share.
//!
//! Pure: no clock, no IO, no agent, no face. The rules of the stream are kept here and nowhere else.

pub mod check;
pub mod draft;
pub mod fold;
mod ordered;
pub mod secrets;
pub mod timeline;
pub mod view;

pub use draft::*;
pub use fold::{Fold, Grant, OpenTurn, Snapshot, prompt_title};
pub use ordered::Ordered;
pub use secrets::Secrets;
pub use timeline::{
    Author, Blob, Bounds, Effect, Emitted, ForkSource, ForkSourceReader, Identity, MOST_ITEM_BYTES, Replier,
    Restoring, SessionEnd, Stamp, Timeline, TornFrame, inline_file, inline_image,
};
