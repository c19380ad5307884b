//! Serves a script over HTTP for a [`Provider`]: answers every request with the next reply, waits at the gates.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::State;
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde_json::Value;

use super::play::Play;
use super::provider::{Frame, Provider, Route};
use super::reply::{Answer, Block, Body, Failure};
use super::request::{Purpose, Request};

pub(crate) fn routes(provider: &'static dyn Provider, play: Arc<Play>) -> Router {
    Router::new().fallback(answer).with_state(Arc::new(Shared { provider, play }))
}

struct Shared {
    provider: &'static dyn Provider,
    play: Arc<Play>,
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = Request::unread(method.as_str(), path, body);
    shared.respond(request)
}

impl Shared {
    fn respond(&self, mut request: Request) -> Response {
        let outcome = self.decide(&mut request);
        let number = self.play.record(request.clone());
        match outcome {
            Outcome::Fixed(value) => json(200, &value),
            Outcome::Reply(Body::Failure(failure)) => {
                let (status, value) = self.provider.failure(failure);
                json(status, &value)
            }
            Outcome::Reply(Body::Answer(answer)) => self.give(&answer, number, &request),
        }
    }

    /// Decides the answer, and sets the purpose in `request`.
    fn decide(&self, request: &mut Request) -> Outcome {
        match self.provider.route(&request.method, &request.path) {
            Some(Route::Fixed(value)) => {
                request.purpose = Purpose::Side;
                return Outcome::Fixed(value);
            }
            Some(Route::Generate) if self.provider.read(request).is_ok() => {}
            Some(Route::Generate) | None => return Outcome::Reply(Body::Failure(Failure::BadRequest)),
        }
        let side = self.play.side(request);
        let conversation = side.is_none() && self.provider.is_conversation(request);
        let reply = if conversation {
            self.play.take(request)
        } else {
            side.or_else(|| Some(self.provider.side_request(request)))
        };
        let Some(reply) = reply else { return Outcome::Reply(Body::Failure(Failure::BadRequest)) };
        request.purpose = if conversation { Purpose::Main } else { Purpose::Side };
        Outcome::Reply(reply.body)
    }

    fn give(&self, answer: &Answer, number: usize, request: &Request) -> Response {
        let (kind, frames) = if request.streaming {
            ("text/event-stream", self.provider.stream(answer, number, request))
        } else {
            let whole = self.provider.whole(answer, number, request).to_string();
            ("application/json", whole_frames(answer, &whole))
        };
        let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
        (headers, HttpBody::from_stream(play_out(frames))).into_response()
    }
}

/// A whole answer waits at its gates, too, and can break in the middle.
fn whole_frames(answer: &Answer, whole: &str) -> Vec<Frame> {
    let mut frames = vec![];
    for block in &answer.blocks {
        match block {
            Block::Hold(gate) => frames.push(Frame::Hold(gate.clone())),
            Block::Cut => {
                let (half, _) = whole.split_at(whole.floor_char_boundary(whole.len() / 2));
                return [frames, vec![Frame::Send(half.to_owned().into()), Frame::Cut]].concat();
            }
            _ => {}
        }
    }
    frames.push(Frame::Send(whole.to_owned().into()));
    frames
}

enum Outcome {
    Fixed(Value),
    Reply(Body),
}

fn json(status: u16, value: &Value) -> Response {
    let status = axum::http::StatusCode::from_u16(status).expect("a status");
    // Agents that retry many times do so at once when the server gives a delay.
    let headers = [("content-type", "application/json"), ("retry-after-ms", "10")];
    (status, headers, value.to_string()).into_response()
}

/// The bytes of a stream; an error breaks the connection.
fn play_out(frames: Vec<Frame>) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
    stream::unfold(frames.into_iter(), |mut frames| async move {
        loop {
            // Earlier bytes are sent before the next step: a cut would discard them.
            tokio::task::yield_now().await;
            match frames.next()? {
                Frame::Send(bytes) => return Some((Ok(bytes), frames)),
                Frame::Hold(gate) => gate.pass().await,
                Frame::Cut => return Some((Err(std::io::Error::other("cut by the script")), frames)),
            }
        }
    })
}
