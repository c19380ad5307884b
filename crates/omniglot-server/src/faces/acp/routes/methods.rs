//! Serves a client's messages: one table of methods, each typed in its own file.
//!
//! Every request gets exactly one answer, also when the client disconnects: it is carried out to its end in a
//! task of its own.

mod files;
mod prompt;
mod replies;
mod sessions;
mod settings;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CancelNotification, CancelRequestNotification, Error, InitializeRequest, RequestId, SessionId as WireId,
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use omniglot_runtime::{IdempotencyKey, RuntimeError};
use omniglot_schema::{Scope, SessionId};
use omniglot_store::{SessionNo, SessionRecord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app::App;
use crate::faces::acp::project::setup;
use crate::faces::acp::state::connection::outbox::Outbound;
use crate::faces::acp::state::connection::{From, Reply, Shared};
use crate::faces::acp::wire::failure::{self, unfit};
use crate::faces::acp::wire::rpc::{self, Params};
use crate::http::problem::Problem;
pub(crate) use replies::answered;

/// A request of a client.
pub(crate) struct Call {
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: Params,
    pub(crate) key: Option<IdempotencyKey>,
}

/// The result of a request.
struct Served {
    result: Result<Value, Error>,
    /// The answer is sent after everything up to this sequence of that session.
    after: Option<(SessionNo, u64)>,
    /// The session that the client follows once it has the answer.
    then: Option<(SessionRecord, From)>,
}

impl Served {
    fn new<T: Serialize>(result: Result<T, Error>) -> Self {
        let result =
            result.and_then(|value| serde_json::to_value(value).map_err(|_| Error::internal_error()));
        Self { result, after: None, then: None }
    }
}

impl<T: Serialize> std::convert::From<Result<T, Error>> for Served {
    fn from(result: Result<T, Error>) -> Self {
        Self::new(result)
    }
}

/// A request that takes longer waits for an agent, which has received it; the next message need not wait.
const ORDERED: Duration = Duration::from_millis(500);

/// The time for an agent's program to tell its version before a handshake goes on without it.
const VERSION: Duration = Duration::from_secs(5);

/// A request in progress.
pub(crate) struct Taken {
    /// Resolves when the client's next message is ordered after this request.
    pub(crate) begun: oneshot::Receiver<()>,
    pub(crate) answer: oneshot::Receiver<Bytes>,
}

/// Starts a request. One task carries it out and answers it, also when the client disconnects.
pub(crate) fn take(app: App, connection: Shared, call: Call, reply: Reply) -> Taken {
    let (begun, has_begun) = oneshot::channel();
    let (answered, is_answered) = oneshot::channel();
    tokio::spawn(async move {
        let mut served = match allowed(&app, &call.method) {
            Ok(()) => unbroken(serve(&app, &connection, &call, begun)).await,
            Err(refused) => Served::new::<()>(Err(refused)),
        };
        if let Err(error) = served.result {
            served.result = Err(failure::about_agent(error, &agent_in(&app, &connection, &call).await));
        }
        let born = served.then.as_ref().map(|(record, _)| record.id.clone());
        record(&app, &call.method, born.or_else(|| named(&call.params)), served.result.is_ok());
        let reply = if answered.is_closed() { connection.reply_without_post(reply) } else { reply };
        drop(answered.send(answer(&app, &connection, &call, served, reply).await));
    });
    Taken { begun: has_begun, answer: is_answered }
}

/// The scope that each method needs, whatever face of it a client uses.
fn needed(method: &str) -> Scope {
    match method {
        "initialize" | "authenticate" | "session/list" | "session/load" | "session/resume" => Scope::Read,
        "session/new"
        | "session/prompt"
        | "session/fork"
        | "session/close"
        | "session/set_mode"
        | "session/set_model"
        | "session/set_config_option"
        | "session/cancel"
        | "$/cancel_request" => Scope::Drive,
        _ => Scope::Admin,
    }
}

fn allowed(app: &App, method: &str) -> Result<(), Error> {
    app.need(needed(method), method).map_err(error)
}

/// Adds a message that changes something to the audit.
fn record(app: &App, method: &str, session: Option<SessionId>, is_done: bool) {
    if needed(method) != Scope::Read {
        let outcome = if is_done { "ok" } else { "error" };
        app.hub.record_call(app.hub.caller().call(format!("acp {method}"), session, outcome));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfSession {
    session_id: WireId,
}

/// Returns the session that a message is about.
pub(crate) fn named(params: &Params) -> Option<SessionId> {
    params.read::<OfSession>().ok().and_then(|of| session_id(&of.session_id).ok())
}

async fn serve(app: &App, connection: &Shared, call: &Call, begun: oneshot::Sender<()>) -> Served {
    match &*call.method {
        "session/prompt" => {
            let prompt = prompt::begin(app, connection, call).await;
            drop(begun);
            prompt::end(app, connection, prompt).await
        }
        _ => {
            let mut serving = pin!(request(app, connection, call));
            if let Ok(served) = timeout(ORDERED, serving.as_mut()).await {
                return served;
            }
            drop(begun);
            serving.await
        }
    }
}

/// A panic becomes an error, so that no client waits forever.
async fn unbroken(serving: impl Future<Output = Served>) -> Served {
    AssertUnwindSafe(serving).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a request of an ACP client broke off");
        Served::new::<()>(Err(Error::internal_error()))
    })
}

async fn answer(app: &App, connection: &Shared, call: &Call, served: Served, reply: Reply) -> Bytes {
    let Served { result, after, then } = served;
    let (answer, about) = (rpc::answer(&call.id, &result), named(&call.params));
    let number = connection.say(Outbound { session: about, json: answer.clone() }, after, reply);
    if let Some((record, from)) = then {
        connection.follow(&app.hub, &record, from);
    }
    match (reply, after) {
        (Reply::Stream, _) => {}
        (Reply::Both, None) => connection.told(number).await,
        (Reply::Both, Some(_)) => connection.heard(number).await,
    }
    answer
}

async fn request(app: &App, connection: &Shared, call: &Call) -> Served {
    let params = &call.params;
    match &*call.method {
        "initialize" => initialize(app, connection, params).await.into(),
        // There is no login: agents have their credentials from the daemon's configuration.
        "authenticate" => Ok(serde_json::Map::new()).into(),
        "session/new" => sessions::new(app, connection, call).await,
        "session/load" => sessions::load(app, connection, params).await,
        "session/resume" => sessions::resume(app, connection, params).await.into(),
        "session/fork" => sessions::fork(app, connection, call).await,
        "session/list" => sessions::list(app, connection, params).await.into(),
        "session/close" => sessions::close(app, connection, params).await.into(),
        "session/delete" => sessions::delete(app, connection, params).await.into(),
        "session/set_mode" => settings::set_mode(app, params).await.into(),
        "session/set_model" => settings::set_model(app, params).await.into(),
        "session/set_config_option" => settings::set_config_option(app, params).await.into(),
        unknown => Err::<(), _>(Error::method_not_found().data(Value::from(unknown))).into(),
    }
}

async fn initialize(
    app: &App,
    connection: &Shared,
    params: &Params,
) -> Result<impl Serialize + use<>, Error> {
    connection.introduce(params.read::<InitializeRequest>()?);
    let name = agent_of(app, connection);
    if timeout(VERSION, app.hub.learn_version(name)).await.is_err() {
        tracing::debug!(agent = name, "its version is not known in time for a handshake");
    }
    let agent = app.hub.agents().into_iter().find(|agent| agent.id == name);
    agent.map(|agent| setup::introduced(&agent)).ok_or_else(Error::internal_error)
}

/// A client that continues after a restart of the daemon names a session, but no longer its agent.
pub(crate) async fn recall(app: &App, connection: &Shared, params: &Params) {
    if connection.is_introduced() || connection.agent().is_some() {
        return;
    }
    // The method itself reports a session that does not exist.
    let Some(id) = named(params) else { return };
    if let Ok(record) = app.hub.record(&id).await {
        connection.recall(&record.agent);
    }
}

/// Returns the agent of the client's sessions that name none.
fn agent_of<'a>(app: &'a App, connection: &'a Shared) -> &'a str {
    connection.agent().unwrap_or_else(|| app.hub.default_agent())
}

/// Returns the agent that a request is about: that of its session, else that of the client.
async fn agent_in(app: &App, connection: &Shared, call: &Call) -> String {
    let record = match named(&call.params) {
        Some(id) => app.hub.record(&id).await.ok(),
        None => None,
    };
    record.map_or_else(|| agent_of(app, connection).to_owned(), |record| record.agent)
}

/// A notification gets no answer, so a failure is logged.
pub(crate) async fn notified(app: &App, connection: &Shared, method: &str, params: &Params) {
    let done = match (method, allowed(app, method)) {
        (_, Err(refused)) => Err(refused),
        ("session/cancel", _) => match params.read::<CancelNotification>() {
            Ok(cancel) => prompt::cancel(app, connection, &cancel.session_id).await,
            Err(error) => Err(error),
        },
        ("$/cancel_request", _) => match params.read::<CancelRequestNotification>() {
            Ok(cancel) => prompt::cancel_request(app, connection, &cancel.request_id).await,
            Err(error) => Err(error),
        },
        _ => Err(Error::method_not_found()),
    };
    record(app, method, named(params), done.is_ok());
    if let Err(error) = done {
        tracing::debug!(connection = connection.id, method, %error, "a notification of an ACP client");
    }
}

pub(crate) fn error(refused: impl Into<Problem>) -> Error {
    failure::of_problem(refused.into().details())
}

fn session_id(id: &WireId) -> Result<SessionId, Error> {
    SessionId::parse(&id.0).map_err(|_| error(RuntimeError::SessionNotFound(id.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_that_is_not_known_to_need_less_needs_an_admin() {
        let looks = ["initialize", "authenticate", "session/list", "session/load", "session/resume"];
        let drives = [
            "session/new",
            "session/prompt",
            "session/fork",
            "session/close",
            "session/set_mode",
            "session/set_model",
            "session/set_config_option",
            "session/cancel",
            "$/cancel_request",
        ];
        let others = ["session/delete", "session/new2", "session/", "Session/list", "fs/read_text_file", ""];
        for (methods, scope) in [(&looks[..], Scope::Read), (&drives, Scope::Drive), (&others, Scope::Admin)]
        {
            for method in methods {
                assert_eq!(needed(method), scope, "{method}");
            }
        }
    }

    #[tokio::test]
    async fn a_request_that_breaks_off_is_answered_with_an_error() {
        let served = unbroken(async { panic!("on purpose") }).await;
        assert_eq!(served.result, Err(Error::internal_error()));
    }
}
