//! Every route of every face of a real daemon with requests that no client should send, beside sessions of the mock
//! agent that work, wait for a person and end.
//!
//! Every request has an answer, none is an internal error, and every session stays lawful.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on panics")]

#[path = "fuzz/archives.rs"]
mod archives;
#[path = "fuzz/import.rs"]
mod import;
#[path = "fuzz/routes.rs"]
mod routes;
#[path = "fuzz/seed.rs"]
mod seed;

use std::time::Duration;

use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::fuzz::{self, Edit};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use reqwest::{RequestBuilder, Response};
use seed::Seed;
use serde_json::Value;
use tokio::runtime::Runtime;

/// Longer than any answer takes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The ends of routes that are answered when the turn has ended, which may wait for a person.
const ANSWERED_LATE: [&str; 3] = ["/message", "/command", "/summarize"];
const LATE_TIMEOUT: Duration = Duration::from_secs(2);

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// A body that a client should not send.
#[derive(Debug, Clone)]
enum Body {
    Edited(Vec<Edit>),
    Other(Value),
    Bytes(Vec<u8>),
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        6 => proptest::collection::vec(fuzz::edit(), 0..4).prop_map(Body::Edited),
        1 => fuzz::document().prop_map(Body::Other),
        1 => proptest::collection::vec(any::<u8>(), 0..60).prop_map(Body::Bytes),
    ]
}

impl Body {
    fn of(&self, fitting: &Value) -> Vec<u8> {
        match self {
            Self::Edited(edits) => {
                let mut body = fitting.clone();
                edits.iter().for_each(|edit| edit.apply(&mut body));
                body.to_string().into_bytes()
            }
            Self::Other(body) => body.to_string().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Returns the answer, but not the events of a stream that would go on for ever.
async fn answer(request: RequestBuilder) -> reqwest::Result<String> {
    text_of(request.timeout(ANSWER_TIMEOUT).send().await?).await
}

/// The same for a route of this path, and nothing for a turn that waits.
async fn answer_of(path: &str, request: RequestBuilder) -> reqwest::Result<String> {
    if !ANSWERED_LATE.iter().any(|end| path.ends_with(end)) {
        return answer(request).await;
    }
    match request.timeout(LATE_TIMEOUT).send().await {
        Err(error) if error.is_timeout() => Ok(String::new()),
        answer => text_of(answer?).await,
    }
}

async fn text_of(answer: Response) -> reqwest::Result<String> {
    let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/event-stream") { Ok(String::new()) } else { answer.text().await }
}

/// Whether the daemon blames itself: as a problem of the REST face and of OpenCode's, or as an error of JSON-RPC.
fn is_internal(answer: &str) -> bool {
    const INTERNAL_ERROR: i64 = -32603;
    let rpc: Value = serde_json::from_str(answer).unwrap_or_default();
    let kind = &rpc["error"]["data"]["_meta"]["sandbox-agent/errorType"];
    let blames_itself = rpc["error"]["code"] == INTERNAL_ERROR && (kind.is_null() || kind == "internal");
    blames_itself || answer.contains("urn:sandbox-agent:error:internal")
}

#[test]
fn every_request_to_every_route_has_an_answer_that_is_no_internal_error() {
    let (runtime, daemon) = (Runtime::new().unwrap(), daemon());
    let (client, routes) = (reqwest::Client::new(), routes::all());
    let seed = Seed::new(&daemon.client);
    for (number, route) in (0..).zip(&routes) {
        let tried =
            TestRunner::new(fuzz::config_of(3, number)).run(&(body(), any::<bool>()), |(body, known)| {
                let answer = runtime.block_on(async {
                    let path = if known { seed.path(route).await } else { routes::strange(route) };
                    let request = client.request(route.method.clone(), format!("{}{path}", daemon.url));
                    let request =
                        request.bearer_auth(&daemon.token).header("content-type", route.content_type);
                    answer_of(&route.path, request.body(body.of(&route.fitting))).await
                });
                prop_assert!(answer.as_ref().is_ok_and(|text| !is_internal(text)), "{route:?}: {answer:?}");
                Ok(())
            });
        tried.unwrap();
    }
}
