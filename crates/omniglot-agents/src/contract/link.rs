//! The contract of a connection that several sessions share.

use omniglot_schema::StderrOutput;
use serde_json::value::RawValue;

use super::output::Refusal;

/// A session on a connection that several share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u64);

/// The recipient of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    Session(SlotId),
    /// It is about the connection or the account, and so about every session on it.
    All,
    /// Part of the handshake.
    Mine(Handshake),
    /// It belongs to a session that has left.
    Nobody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handshake {
    GoesOn,
    /// Sessions may speak from now on.
    Done,
    Refused(Refusal),
}

/// The sans-IO part of a connection that several sessions share: its handshake, its ids, and whose frame
/// this is. A session's own words are its [`Translator`](super::Translator)'s.
pub trait Link: Send {
    /// Returns the first messages of a new connection.
    fn hello(&mut self) -> Vec<Box<RawValue>>;

    /// Why it ended instead of answering the first words, where its stderr tells.
    fn ended_early(&self, _stderr: &StderrOutput) -> Option<Refusal> {
        None
    }

    /// Learns from what a session is about to send: its answer will come back to it.
    fn sent(&mut self, from: SlotId, frame: &RawValue);

    /// Returns the recipient of a frame, and adds the messages that the agent must get because of it.
    fn route(&mut self, frame: &RawValue, reply: &mut Vec<Box<RawValue>>) -> Route;

    /// The session is not on this connection any more.
    fn left(&mut self, slot: SlotId);

    /// Returns the messages for the agent once this session has left; called before [`Link::left`].
    fn farewell(&self, _slot: SlotId) -> Vec<Box<RawValue>> {
        Vec::new()
    }

    /// Returns the sender of a recorded message of ours, which a recording does not name; learns from it like `sent`.
    /// `None` for those of the connection itself.
    fn recorded(&mut self, _frame: &RawValue) -> Option<SlotId> {
        None
    }
}
