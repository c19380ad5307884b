//! The HTTP layer below all faces: who may call, how requests are read, how refusals and native frames are
//! written, and the options of a session that two faces list. Knows no face.

pub(crate) mod access;
pub(crate) mod allow;
pub(crate) mod body;
pub(crate) mod config_options;
mod cors;
pub(crate) mod event_stream;
pub(crate) mod extract;
pub(crate) mod idempotency;
pub(crate) mod members;
pub(crate) mod metrics;
pub(crate) mod problem;
pub(crate) mod raw;
pub(crate) mod refusals;
pub(crate) mod stall;
pub(crate) mod upload;
