//! One request to an HTTP agent and its answer, whatever becomes of it.

use omniglot_agents::http::{Answer, FromServer, Method, Request};
use serde_json::value::{RawValue, to_raw_value};

use super::Address;

/// There is always an answer: a request that fails is answered without a status, with the reason.
pub(super) async fn send(address: &Address, request: Request) -> FromServer {
    let id = request.id.clone();
    let (status, body) = match exchange(address, request).await {
        Ok((status, body)) => (Some(status), body),
        Err(error) => (None, with_causes(&error)),
    };
    FromServer::Answer(Answer { id, status, body: json_of(body) })
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error("the answer is longer than the {cap} bytes that `limits.max_line_bytes` allows")]
    TooLong { cap: usize },
}

async fn exchange(address: &Address, request: Request) -> Result<(u16, String), NoAnswer> {
    let Request { method, path, body, .. } = request;
    let method = match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    };
    let mut asked = address
        .client
        .request(method, format!("{}{path}", address.base))
        .basic_auth(address.user, Some(&address.password));
    if let Some(body) = body {
        asked = asked.header("content-type", "application/json").body(String::from(Box::<str>::from(body)));
    }
    let answer = asked.send().await?;
    Ok((answer.status().as_u16(), bounded(answer, address.line_cap).await?))
}

/// The body, unless it is longer than a line may be: it becomes one.
async fn bounded(mut answer: reqwest::Response, cap: usize) -> Result<String, NoAnswer> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > cap {
            return Err(NoAnswer::TooLong { cap });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The body as it is; as a JSON string where it is no JSON.
fn json_of(body: String) -> Box<RawValue> {
    if body.is_empty() {
        return RawValue::NULL.to_owned();
    }
    match serde_json::from_str::<&RawValue>(&body) {
        Ok(raw) => raw.to_owned(),
        // A string always serialises.
        Err(_) => to_raw_value(&body).unwrap_or_else(|_| RawValue::NULL.to_owned()),
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
