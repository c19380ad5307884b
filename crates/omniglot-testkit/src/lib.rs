//! Test support that several crates share. A dev-dependency only, never part of the product.

#![allow(clippy::expect_used, reason = "a test that cannot go on panics")]

pub mod acp_client;
pub mod agents;
pub mod captures;
pub mod check_session;
pub mod clients;
pub mod collector;
pub mod conformance;
pub mod cutting_proxy;
pub mod daemon;
pub mod fake_npm;
pub mod fixture;
pub mod fuzz;
pub mod models;
pub mod sandbox_sdk;
pub mod scenarios;
pub mod sdk;
pub mod session_driver;
pub mod skills;
pub mod terminal;
pub mod tls;
pub mod validate;
pub mod webhooks;
