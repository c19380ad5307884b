//! Drafts, the Timeline that turns them into lawful events, and the fold from events to state.
//!
//! Pure: no clock, no IO, no agent, no face. The rules of the stream are kept here and nowhere else.

pub mod check;
pub mod draft;
pub mod fold;
pub mod timeline;

pub use draft::*;
pub use fold::{Fold, Grant, OpenTurn, Snapshot};
pub use timeline::{
    Blob, Effect, Emitted, Identity, Restoring, SessionEnd, Stamp, Timeline, inline_file, inline_image,
};
