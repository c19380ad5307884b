//! Drafts, the Timeline that turns them into lawful events, and the fold from events to state.
//!
//! Pure: no clock, no IO, no agent, no face. The rules of the stream are kept here and nowhere else.

pub mod draft;

pub use draft::*;
