//! Typed client of the REST face; the command line and the tests use it.
//!
//! One method per route. The caller reconnects and handles errors; a cut stream is resumed by a new request
//! with the id of the last event.

mod acp;
mod client;
mod directory_config;
mod error;
mod files;
mod processes;
mod sse;
mod stream;
mod tls;
mod transport;

pub use acp::AcpMessage;
pub use client::{Client, EventsQuery, Receipt, SessionFilter, StreamFrom};
pub use error::ClientError;
pub use processes::ProcessLogsQuery;
pub use sse::{SseFrame, SseParser};
pub use stream::{EventStream, FrameStream, SseItem};
pub use tls::Trust;
