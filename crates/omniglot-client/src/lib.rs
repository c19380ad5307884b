//! Typed client of the REST face; the command line and the tests use it.
//!
//! One method per route. Reconnecting and deciding what to do about an error is left to the caller; a
//! cut stream is resumed by asking again with the id of the last event.

mod acp;
mod client;
mod error;
mod sse;
mod stream;

pub use acp::AcpMessage;
pub use client::{Client, EventsQuery, Receipt, SessionFilter, StreamFrom};
pub use error::ClientError;
pub use sse::{SseFrame, SseParser};
pub use stream::{EventStream, FrameStream, SseItem};
