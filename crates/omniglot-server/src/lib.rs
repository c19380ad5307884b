//! The HTTP faces: maps the universal stream to each client's wire form.
//!
//! Decides who may speak ([`config::Token`], hosts, origins), reads requests, calls the runtime's
//! [`Hub`](omniglot_runtime::Hub) and renders answers. Knows no agent's wire types and no processes.

mod access;
pub mod acp;
mod allow;
mod app;
mod body;
mod config;
mod cors;
mod listen;
mod members;
pub mod opencode;
mod problem;
mod stall;
mod v1;

pub use allow::{AllowedHost, AllowedOrigin, NeverMatches};
pub use config::{ServerConfig, Token};
pub use listen::{ServeError, Server};
pub use v1::openapi;
