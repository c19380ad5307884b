//! `omniglot acp`, launched by real clients as editors do: unmodified libraries and programs of others, each
//! with the built-in agent, the real Claude Code and the real Codex. The library that connects by HTTP plays the
//! same scenarios at `/v1/acp`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "acp_stdio/acpx.rs"]
mod acpx;
#[path = "acp_stdio/editor.rs"]
mod editor;
#[path = "acp_stdio/host.rs"]
mod host;
#[path = "acp_stdio/mock.rs"]
mod mock;
#[path = "acp_stdio/real.rs"]
mod real;
#[path = "acp_stdio/relay.rs"]
mod relay;
#[path = "acp_stdio/started_daemon.rs"]
mod started_daemon;

/// Makes each scenario a test of each library, and each of the second list one of the libraries that launch a process.
macro_rules! with_each_library {
    ($($scenario:ident),* $(,)? $(; $($launched:ident),* $(,)?)?) => {
        mod typescript {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(omniglot_testkit::acp_client::Library::TypeScript).await;
            })*
            $($(#[tokio::test]
            async fn $launched() {
                super::$launched(omniglot_testkit::acp_client::Library::TypeScript).await;
            })*)?
        }
        mod python {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(omniglot_testkit::acp_client::Library::Python).await;
            })*
            $($(#[tokio::test]
            async fn $launched() {
                super::$launched(omniglot_testkit::acp_client::Library::Python).await;
            })*)?
        }
        mod rust_over_http {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(omniglot_testkit::acp_client::Library::RustOverHttp).await;
            })*
        }
    };
}
use with_each_library;
