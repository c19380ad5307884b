//! The scripts of the words, by theme. A script is a function from a turn (and the word's number) to a flow.
//!
//! Scripts only emit through [`Turn`](super::turn::Turn); the table of them is in `words`.

pub(super) mod demo;
pub(super) mod edit;
pub(super) mod endings;
pub(super) mod files;
pub(super) mod host;
pub(super) mod question;
pub(super) mod state;
pub(super) mod talk;
pub(super) mod tools;
pub(super) mod trouble;
