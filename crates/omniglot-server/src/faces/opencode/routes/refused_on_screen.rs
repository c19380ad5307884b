//! Shows a refusal on the screen of the terminal interface, which drops most of them: it looks at the answers of few
//! of its calls, and draws whatever comes over its stream.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;

use super::prompts::is_program;
use super::refusal::Message;
use crate::app::Unscoped;
use crate::faces::opencode::Face;
use crate::faces::opencode::wire::{Payload, ToastVariant, ids};

/// The interface itself shows why these are refused.
const SHOWN: [&str; 2] = ["message", "prompt_async"];

pub(super) async fn show(State(face): State<Unscoped<Face>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let is_dropped = head.method != Method::GET
        && is_program(&head.headers)
        && !SHOWN.iter().any(|shown| path.rsplit('/').next() == Some(*shown));
    let face = if is_dropped { face.of_request(&head).ok() } else { None };
    let response = next.run(Request::from_parts(head, body)).await;
    if let (Some(face), Some(Message(message))) = (face, response.extensions().get()) {
        tell(&face, &path, message.clone()).await;
    }
    response
}

/// Tells those who see the session that the path names. Others would learn what is not for them.
async fn tell(face: &Face, path: &str, message: String) {
    let payload = Payload::ToastShow { title: "Refused".into(), message, variant: ToastVariant::Error };
    let Some(id) = path.split('/').find_map(ids::session_of) else { return };
    if let Ok(record) = face.app.hub.record(&id).await {
        face.relay.announce_in(&record, payload);
    }
}
