//! The HTTP faces: maps the universal stream to each client's wire form.
//!
//! Decides who may speak ([`config::Token`], hosts, origins), reads requests, calls the runtime's
//! [`Hub`](omniglot_runtime::Hub) and renders answers. Knows no agent's wire types and no processes.

mod admission;
mod app;
mod config;
mod description;
pub mod faces;
mod hooks;
mod http;
mod listen;

pub use admission::ConnectionLimits;
pub use config::{ServerConfig, Token};
pub use faces::openapi;
pub use hooks::{HookError, HookSettings, Hooks};
pub use http::allow::{AllowedHost, AllowedOrigin, NeverMatches};
pub use listen::{ServeError, Server, SocketError, Tls, TlsError};
