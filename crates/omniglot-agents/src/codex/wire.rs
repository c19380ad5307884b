//! The messages of `codex app-server`, typed: notifications, items, requests of the server and the answers to ours.
//!
//! Adds no meaning. Every type is read tag first, body later, and ignores fields that it does not need. The
//! envelope around them is `rpc`.

mod answer;
mod ignored;
mod item;
mod notice;
mod send;
mod server_request;

pub(crate) use answer::*;
pub(crate) use item::*;
pub(crate) use notice::*;
pub(crate) use send::*;
pub(crate) use server_request::*;
