//! Serves a script over HTTP: records every request, serves the replies, waits at the gates.
//!
//! It runs on a thread of its own, so that a test that blocks does not block its model.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::State;
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use super::provider::{Frame, Provider, Route};
use super::reply::{Answer, Block, Body, Failure, Reply};
use super::request::{Purpose, Request};

/// A side request with a reply of the test's own.
pub(crate) struct Side {
    pub(crate) when: Box<dyn Fn(&Request) -> bool + Send + Sync>,
    pub(crate) reply: Reply,
}

pub(crate) struct Server {
    shared: Arc<Shared>,
    port: u16,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    provider: &'static dyn Provider,
    sides: Vec<Side>,
    state: Mutex<Play>,
    news: watch::Sender<usize>,
}

/// The replies that are left, and the requests so far.
struct Play {
    replies: VecDeque<Reply>,
    requests: Vec<Request>,
}

impl Server {
    pub(crate) fn start(provider: &'static dyn Provider, replies: VecDeque<Reply>, sides: Vec<Side>) -> Self {
        let state = Mutex::new(Play { replies, requests: vec![] });
        let shared = Arc::new(Shared { provider, sides, state, news: watch::Sender::new(0) });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (stop, stopped) = oneshot::channel();
        let serving = shared.clone();
        let thread = std::thread::spawn(move || serve(listener, serving, stopped));
        Self { shared, port, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn push(&self, reply: Reply) {
        let mut play = self.shared.play();
        play.replies.retain(|reply| !reply.forever);
        play.replies.push_back(reply);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.play().requests.clone()
    }

    pub(crate) fn news(&self) -> watch::Receiver<usize> {
        self.shared.news.subscribe()
    }

    /// Returns the replies that no request has taken.
    pub(crate) fn left(&self) -> Vec<Reply> {
        self.shared.play().replies.iter().filter(|reply| !reply.forever).cloned().collect()
    }

    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<Infallible>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket that does not block");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        let app = Router::new().fallback(answer).with_state(shared);
        tokio::select! {
            served = axum::serve(listener, app) => served.expect("the server runs"),
            // The sender is dropped at the end of the test; open streams end with the runtime.
            _ = stopped => {}
        }
    });
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = Request::unread(method.as_str(), path, body);
    shared.respond(request)
}

impl Shared {
    fn play(&self) -> MutexGuard<'_, Play> {
        self.state.lock().expect("nobody panics with the script in hand")
    }

    fn respond(&self, mut request: Request) -> Response {
        let outcome = self.decide(&mut request);
        let number = self.record(request.clone());
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
        let own = self.sides.iter().find(|side| (side.when)(request));
        let side = own.map(|side| side.reply.clone());
        let conversation = side.is_none() && self.provider.is_conversation(request);
        let reply = if conversation {
            self.take(request)
        } else {
            side.or_else(|| Some(self.provider.side_request(request)))
        };
        let Some(reply) = reply else { return Outcome::Reply(Body::Failure(Failure::BadRequest)) };
        request.purpose = if conversation { Purpose::Main } else { Purpose::Side };
        Outcome::Reply(reply.body)
    }

    /// Takes the next reply that fits this request.
    fn take(&self, request: &Request) -> Option<Reply> {
        let mut play = self.play();
        let at = play.replies.iter().position(|reply| reply.fits(request))?;
        if play.replies.get(at)?.forever { play.replies.get(at).cloned() } else { play.replies.remove(at) }
    }

    /// Records the request and returns its number.
    fn record(&self, request: Request) -> usize {
        let mut play = self.play();
        play.requests.push(request);
        let number = play.requests.len();
        drop(play);
        self.news.send_replace(number);
        number
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
