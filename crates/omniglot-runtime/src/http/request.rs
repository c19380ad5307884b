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

async fn exchange(address: &Address, request: Request) -> Result<(u16, String), reqwest::Error> {
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
    Ok((answer.status().as_u16(), answer.text().await?))
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
