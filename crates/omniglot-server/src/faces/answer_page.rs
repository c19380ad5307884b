//! The page behind the link of a call: GET shows one request of an agent, POST answers it.
//!
//! It needs no token, since its address is the secret: for this request, for an hour, once. It has no script, is kept
//! by nobody and shown in no frame. A link allows once or rejects; it never allows always.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};
use omniglot_runtime::{Caller, RuntimeError};
use omniglot_schema::{PendingRequest, PermissionReply, QuestionInfo};

use crate::app::{App, Unscoped, complete};
use crate::hooks::LinkTarget;

/// The routes, which are open: the address itself is the secret.
pub(crate) const ROUTES: [&str; 2] = ["GET /answer/{secret}", "POST /answer/{secret}"];
/// The longest answer of a form.
const LONGEST_BODY: usize = 1024;
const LONGEST_TEXT: usize = 4000;

pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/answer/{secret}", get(show).post(answer))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .with_state(Unscoped::new(app))
}

async fn show(app: App, Path(secret): Path<String>) -> Response {
    match open(&app, &secret).await {
        Some((_, shown)) => page(StatusCode::OK, &shown.form()),
        None => over(),
    }
}

async fn answer(app: App, Path(secret): Path<String>, body: Bytes) -> Response {
    let Some((target, shown)) = open(&app, &secret).await else { return over() };
    let chosen = std::str::from_utf8(&body).ok().and_then(|body| body.trim().strip_prefix("answer="));
    let Some(choice) = chosen.and_then(|name| shown.choice(name)) else {
        return page(StatusCode::BAD_REQUEST, "<p>That is no answer to this request.</p>");
    };
    let caller = Caller::link();
    let hub = app.hub.for_caller(caller.clone());
    let (session, request) = (target.session_id.clone(), target.request_id.clone());
    let replied = complete(async move {
        match choice {
            Choice::Permission(reply) => hub.reply_permission(&session, &request, reply, None).await,
            Choice::Question(answers) => hub.reply_question(&session, &request, answers).await,
        }
    });
    let replied = replied.await;
    let outcome = if replied.is_ok() { "200" } else { "409" };
    // The address is a secret, so the audit has another.
    app.hub.record_call(caller.call("POST /answer/***".into(), Some(target.session_id.clone()), outcome));
    match replied {
        Ok(()) => {
            app.hooks.end_links(&target);
            page(StatusCode::OK, "<p>Your answer was given.</p>")
        }
        Err(_) => over(),
    }
}

/// A request that is still open, as the page shows it.
struct Shown {
    title: String,
    request: PendingRequest,
}

/// An answer that the page offers.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Permission(PermissionReply),
    Question(Option<Vec<Vec<String>>>),
}

/// Finds the request of a link; one that is resolved ends its links.
async fn open(app: &App, secret: &str) -> Option<(LinkTarget, Shown)> {
    let target = app.hooks.link(secret)?;
    let detail = match app.hub.for_caller(Caller::owner()).detail(&target.session_id).await {
        Ok(detail) => detail,
        Err(RuntimeError::SessionNotFound(_)) => {
            app.hooks.end_links(&target);
            return None;
        }
        Err(_) => return None,
    };
    let found = detail.pending.into_iter().find(|request| match request {
        PendingRequest::Permission(asked) => asked.permission_id.as_str() == target.request_id,
        PendingRequest::Question(asked) => asked.question_id.as_str() == target.request_id,
    });
    let Some(request) = found else {
        app.hooks.end_links(&target);
        return None;
    };
    let info = detail.info;
    let title = format!("{} · {}", info.title.unwrap_or_else(|| info.session_id.to_string()), info.agent);
    Some((target, Shown { title, request }))
}

impl Shown {
    fn form(&self) -> String {
        let mut html = format!("<h1>{}</h1>", escaped(&self.title));
        let mut buttons = vec![];
        match &self.request {
            PendingRequest::Permission(asked) => {
                html += &format!(
                    "<p>The agent asks whether it may act:</p><pre>{}</pre>",
                    escaped(&asked.action)
                );
                if let Some(detail) = asked.metadata.as_ref().and_then(|metadata| metadata.detail.as_ref()) {
                    html += &format!("<pre>{}</pre>", escaped(detail));
                }
                buttons.push(("once".to_owned(), "Allow once".to_owned()));
            }
            PendingRequest::Question(asked) => {
                html += &format!("<p>The agent asks:</p><pre>{}</pre>", escaped(&asked.prompt));
                let options = only_question(&self.request).into_iter().flat_map(|question| &question.options);
                let options = options.enumerate();
                buttons.extend(options.map(|(index, option)| (index.to_string(), escaped(&option.label))));
            }
        }
        buttons.push(("reject".to_owned(), "Reject".to_owned()));
        html += "<form method=\"post\">";
        for (name, label) in buttons {
            html += &format!("<p><button name=\"answer\" value=\"{name}\">{label}</button></p>");
        }
        html + "</form><p>This page answers this request only, and only once.</p>"
    }

    /// Returns the answer of this name; there is none that allows always.
    fn choice(&self, name: &str) -> Option<Choice> {
        match (&self.request, name) {
            (PendingRequest::Permission(_), "once") => Some(Choice::Permission(PermissionReply::Once)),
            (PendingRequest::Permission(_), "reject") => Some(Choice::Permission(PermissionReply::Reject)),
            (PendingRequest::Question(_), "reject") => Some(Choice::Question(None)),
            (PendingRequest::Question(_), index) => {
                let option = only_question(&self.request)?.options.get(index.parse::<usize>().ok()?)?;
                Some(Choice::Question(Some(vec![vec![option.label.clone()]])))
            }
            (PendingRequest::Permission(_), _) => None,
        }
    }
}

/// Returns the question of a request that asks only one; more need the whole screen.
fn only_question(request: &PendingRequest) -> Option<&QuestionInfo> {
    let PendingRequest::Question(asked) = request else { return None };
    match asked.metadata.as_ref().map(|metadata| metadata.questions.as_slice()) {
        Some([question]) => Some(question),
        _ => None,
    }
}

fn over() -> Response {
    let text = "<p>This link is not good any more: the request was answered, or an hour has passed.</p>";
    page(StatusCode::GONE, text)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars().take(LONGEST_TEXT) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn page(status: StatusCode, content: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">\
         <title>Omniglot</title>{content}</html>\n"
    );
    let mut response = (status, html).into_response();
    for (name, value) in FIXED {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

const FIXED: [(HeaderName, &str); 6] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(request: serde_json::Value) -> Shown {
        Shown { title: "<b>Title</b>".into(), request: serde_json::from_value(request).unwrap() }
    }

    #[test]
    fn the_words_of_an_agent_are_no_html() {
        let page = shown(json!({ "type": "permission", "permission_id": "p", "status": "requested",
            "action": "</pre><script>alert('x')</script>\"" }))
        .form();
        assert!(
            !page.contains("<script") && !page.contains("<b>") && page.contains("&lt;script&gt;"),
            "{page}"
        );
    }

    #[test]
    fn a_permission_is_allowed_once_or_rejected_and_nothing_else() {
        let shown = shown(
            json!({ "type": "permission", "permission_id": "p", "status": "requested", "action": "a" }),
        );
        assert_eq!(shown.choice("once"), Some(Choice::Permission(PermissionReply::Once)));
        assert_eq!(shown.choice("reject"), Some(Choice::Permission(PermissionReply::Reject)));
        for word in ["always", "Once", "once&x=1", "accept_for_session", "0", ""] {
            assert_eq!(shown.choice(word), None, "{word}");
        }
    }

    #[test]
    fn a_question_is_answered_by_one_of_its_options_if_it_is_the_only_one() {
        let one = json!({ "prompt": "Which?", "options": [{ "label": "a" }, { "label": "b" }],
            "multi_select": false, "free_text": true });
        let asked = |questions: serde_json::Value| {
            shown(json!({ "type": "question", "question_id": "q", "status": "requested", "prompt": "Which?",
                "options": ["a", "b"], "metadata": { "questions": questions } }))
        };
        let single = asked(json!([one]));
        assert_eq!(single.choice("1"), Some(Choice::Question(Some(vec![vec!["b".into()]]))));
        assert_eq!(single.choice("2"), None);
        let several = asked(json!([one, one]));
        assert_eq!((several.choice("1"), several.choice("reject")), (None, Some(Choice::Question(None))));
    }
}
