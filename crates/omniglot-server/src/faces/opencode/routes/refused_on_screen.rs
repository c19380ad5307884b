//! Shows a refusal on the screen of the terminal interface, which drops most of them: it looks at the answers of few
//! of its calls, and draws whatever comes over its stream.

use axum::extract::{FromRequestParts as _, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Method;
use http::request::Parts;
use omniglot_runtime::{Caller, Hub};

use super::credentials::is_ours;
use super::directory::Directory;
use super::prompts::is_program;
use super::refusal::{self, Message};
use crate::app::{ForCaller as _, Unscoped};
use crate::faces::opencode::Face;
use crate::faces::opencode::wire::{Payload, ToastVariant, ids};
use crate::http::access::RefusalScreen;
use crate::http::problem::Problem;

/// The interface itself shows why these are refused.
const SHOWN: [&str; 2] = ["message", "prompt_async"];

pub(super) async fn show(State(face): State<Unscoped<Face>>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let told = match is_dropped(&head) {
        true => face.of_request(&head).ok(),
        false => None,
    };
    let (path, Ok(directory)) =
        (head.uri.path().to_owned(), Directory::from_request_parts(&mut head, &()).await);
    let response = next.run(Request::from_parts(head, body)).await;
    if let (Some(face), Some(Message(message))) = (told, response.extensions().get()) {
        tell(&face, &path, &directory, message.clone()).await;
    }
    response
}

/// Whether the program would drop a refusal of this request.
fn is_dropped(request: &Parts) -> bool {
    let last = request.uri.path().rsplit('/').next();
    request.method != Method::GET
        && is_program(&request.headers)
        && !SHOWN.iter().any(|shown| last == Some(*shown))
}

impl RefusalScreen for Face {
    /// A token whose scope is too small: no route of the face is asked.
    fn show<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a mut Parts,
        problem: &'a Problem,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if !is_ours(&request.uri) || !is_dropped(request) {
                return;
            }
            let Ok(directory) = Directory::from_request_parts(request, &()).await;
            let message = refusal::message(problem.details());
            tell(&self.for_caller(caller.clone()), request.uri.path(), &directory, message).await;
        })
    }
}

/// Tells the caller alone, on its streams of the directory of the session that the path names, or of the request.
async fn tell(face: &Face, path: &str, directory: &Directory, message: String) {
    let payload = Payload::ToastShow { title: "Refused".into(), message, variant: ToastVariant::Error };
    let of_session = match path.split('/').find_map(ids::session_of) {
        Some(id) => face.app.hub.record(&id).await.ok(),
        None => None,
    };
    let of_session = of_session.and_then(|record| Hub::info(&record).ok()?.directory);
    let directory = of_session.unwrap_or_else(|| directory.path());
    face.relay.announce_to(face.app.hub.caller(), &directory, payload);
}
