//! Shows a refusal on the screen of the terminal interface, which drops most of them: it looks at the answers of few
//! of its calls, and draws whatever comes over its stream.

use axum::extract::{FromRequestParts as _, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use omniglot_runtime::Hub;

use super::directory::Directory;
use super::prompts::is_program;
use super::refusal::Message;
use crate::app::Unscoped;
use crate::faces::opencode::Face;
use crate::faces::opencode::wire::{Payload, ToastVariant, ids};

/// The interface itself shows why these are refused.
const SHOWN: [&str; 2] = ["message", "prompt_async"];

pub(super) async fn show(State(face): State<Unscoped<Face>>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let Ok(directory) = Directory::from_request_parts(&mut head, &()).await;
    let is_dropped = head.method != Method::GET
        && is_program(&head.headers)
        && !SHOWN.iter().any(|shown| path.rsplit('/').next() == Some(*shown));
    let face = if is_dropped { face.of_request(&head).ok() } else { None };
    let response = next.run(Request::from_parts(head, body)).await;
    if let (Some(face), Some(Message(message))) = (face, response.extensions().get()) {
        tell(&face, &path, &directory, message.clone()).await;
    }
    response
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
