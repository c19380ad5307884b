//! Scripted model servers on loopback: the test writes the answers that an agent gets from its model.
//!
//! A script is a queue of [`Reply`]s in a provider-neutral form, played by `play.rs`. `http.rs` serves it to agents
//! that call a model, and one file per provider (`gemini`, `anthropic`, `responses`, `chat`) encodes its wire. The
//! loop of Amp runs on its server, so `amp` plays that server and takes the replies itself.
//! Side requests of an agent (titles, token counts, checks) are answered without touching the queue; an
//! unexpected request fails the test.
//!
//! ```ignore
//! let model = Model::gemini().reply(Reply::tool("read_file", json!({"file_path": "a"}))).reply(Reply::text("done")).start();
//! // … the agent talks to model.url() …
//! assert!(model.conversation()[1].tool_results()[0].contains("content of a"));
//! ```
#![allow(clippy::indexing_slicing, reason = "members of JSON that was written here")]

mod amp;
mod anthropic;
mod chat;
mod gate;
mod gemini;
mod http;
mod openai;
mod play;
mod provider;
mod reply;
mod request;
mod responses;
mod server;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Router;

pub use self::gate::Gate;
pub use self::reply::{Failure, Reply, Stop, Usage};
pub use self::request::{Message, Part, Purpose, Request, Role};

use self::play::{Play, Side};
use self::server::Server;

/// Makes the routes that serve a script.
type Routes = fn(Arc<Play>) -> Router;

/// The script of a model, under construction.
pub struct Script {
    routes: Routes,
    replies: VecDeque<Reply>,
    sides: Vec<Side>,
}

impl Script {
    fn new(routes: Routes) -> Self {
        Self { routes, replies: VecDeque::new(), sides: vec![] }
    }

    /// Adds the answer to the next request of the conversation.
    pub fn reply(mut self, reply: Reply) -> Self {
        self.replies.push_back(reply);
        self
    }

    /// Sets the answer to every side request that matches, instead of the provider's harmless one.
    pub fn side(mut self, when: impl Fn(&Request) -> bool + Send + Sync + 'static, reply: Reply) -> Self {
        self.sides.push(Side { when: Box::new(when), reply });
        self
    }

    pub fn start(self) -> Model {
        let play = Arc::new(Play::new(self.replies, self.sides));
        Model { server: Server::start((self.routes)(play.clone())), play }
    }
}

/// A running scripted model. When dropped it fails the test if a request came that no script has.
pub struct Model {
    server: Server,
    play: Arc<Play>,
}

impl Model {
    /// The Gemini API: `generateContent`, `streamGenerateContent`, `countTokens`.
    pub fn gemini() -> Script {
        Script::new(|play| http::routes(&gemini::Gemini, play))
    }

    /// The Anthropic Messages API, streaming and not, and `count_tokens`.
    pub fn anthropic() -> Script {
        Script::new(|play| http::routes(&anthropic::Anthropic, play))
    }

    /// The OpenAI Responses API.
    pub fn responses() -> Script {
        Script::new(|play| http::routes(&responses::Responses, play))
    }

    /// The OpenAI chat completions API.
    pub fn chat() -> Script {
        Script::new(|play| http::routes(&chat::Chat, play))
    }

    /// Amp's server, which runs the agent loop: a reply answers each call that the loop makes of its model.
    pub fn amp() -> Script {
        Script::new(amp::routes)
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Extends the script; a reply that lasts forever ends here.
    pub fn push(&self, reply: Reply) {
        self.play.push(reply);
    }

    /// Returns all requests, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.play.requests()
    }

    /// Returns the requests that took a reply of the script, in order.
    pub fn conversation(&self) -> Vec<Request> {
        let main = |request: &Request| request.purpose == Purpose::Main;
        self.requests().into_iter().filter(main).collect()
    }

    /// Returns the latest request of the conversation.
    #[track_caller]
    pub fn last(&self) -> Request {
        self.conversation().pop().expect("a request of the conversation")
    }

    /// Returns the requests that no script has.
    pub fn unexpected(&self) -> Vec<Request> {
        let unexpected = |request: &Request| request.purpose == Purpose::Unexpected;
        self.requests().into_iter().filter(unexpected).collect()
    }

    /// Waits until the conversation has this many requests.
    pub async fn wait_for(&self, count: usize) -> Vec<Request> {
        self.wait_until(|_| self.conversation().len() >= count).await;
        self.conversation()
    }

    /// Waits until the requests are such.
    pub async fn wait_until(&self, wanted: impl Fn(&[Request]) -> bool) {
        let mut news = self.play.news();
        while !wanted(&self.requests()) {
            news.changed().await.expect("the server runs");
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.stop();
        if std::thread::panicking() {
            return;
        }
        let lines =
            |requests: Vec<Request>| requests.iter().map(Request::line).collect::<Vec<_>>().join("\n  ");
        let unexpected = self.unexpected();
        assert!(
            unexpected.is_empty(),
            "the scripted model was asked for what its script does not have:\n  {}\nof all requests:\n  {}",
            lines(unexpected),
            lines(self.requests())
        );
        let left = self.play.left();
        let asked = lines(self.requests());
        assert!(left.is_empty(), "replies that nobody asked for: {left:?}\nof all requests:\n  {asked}");
    }
}
