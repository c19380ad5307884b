//! What a client's messages do: one table of methods, each typed in its own file.
//!
//! Every request gets exactly one answer, whatever becomes of the client: it is carried out to its end in a
//! task of its own.

mod files;
mod prompt;
mod replies;
mod sessions;
mod settings;

use agent_client_protocol_schema::v1::{
    CancelNotification, CancelRequestNotification, Error, InitializeRequest, RequestId, SessionId as WireId,
};
use bytes::Bytes;
use omniglot_runtime::{IdempotencyKey, RuntimeError};
use omniglot_schema::SessionId;
use omniglot_store::{SessionNo, SessionRecord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::connection::{From, Reply, Shared};
use super::failure::{self, unfit};
use super::rpc::{self, Params};
use super::setup;
use crate::app::App;
use crate::problem::Problem;
pub(crate) use replies::answered;

/// A request of a client.
pub(crate) struct Call {
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: Params,
    pub(crate) key: Option<IdempotencyKey>,
}

/// What a request came to.
struct Served {
    result: Result<Value, Error>,
    /// The answer comes after everything up to this place of that session.
    after: Option<(SessionNo, u64)>,
    /// What the client follows once it has the answer.
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

/// Takes a request; the answer is what the task comes to. A prompt is posted when this returns, so that what
/// the client says next comes after it.
pub(crate) async fn take(app: App, connection: Shared, call: Call, reply: Reply) -> JoinHandle<Bytes> {
    let Call { id, method, params, key } = call;
    if method != "session/prompt" {
        return tokio::spawn(async move {
            let served = request(&app, &connection, &method, &params).await;
            answer(&app, &connection, &id, served, reply).await
        });
    }
    let posting = {
        let (app, connection, id) = (app.clone(), connection.clone(), id.clone());
        tokio::spawn(async move { prompt::begin(&app, &connection, &id, &params, key).await })
    };
    // The task is not aborted, so it ends with a result or a panic, which is an error of ours.
    let begun = posting.await.unwrap_or_else(|_| Err(Error::internal_error()));
    tokio::spawn(async move {
        let served = prompt::end(&app, &connection, begun).await;
        answer(&app, &connection, &id, served, reply).await
    })
}

async fn answer(app: &App, connection: &Shared, id: &RequestId, served: Served, reply: Reply) -> Bytes {
    let Served { result, after, then } = served;
    let answer = rpc::answer(id, &result);
    let number = connection.say(answer.clone(), after, reply);
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

async fn request(app: &App, connection: &Shared, method: &str, params: &Params) -> Served {
    match method {
        "initialize" => initialize(app, connection, params).into(),
        // There is nothing to log into: agents have their credentials from the daemon's configuration.
        "authenticate" => Ok(serde_json::Map::new()).into(),
        "session/new" => sessions::new(app, connection, params).await,
        "session/load" => sessions::load(app, connection, params).await,
        "session/resume" => sessions::resume(app, connection, params).await.into(),
        "session/fork" => sessions::fork(app, params).await,
        "session/list" => sessions::list(app, params).await.into(),
        "session/close" => sessions::close(app, connection, params).await.into(),
        "session/delete" => sessions::delete(app, connection, params).await.into(),
        "session/set_mode" => settings::set_mode(app, params).await.into(),
        "session/set_model" => settings::set_model(app, params).await.into(),
        "session/set_config_option" => settings::set_config_option(app, params).await.into(),
        unknown => Err::<(), _>(Error::method_not_found().data(Value::from(unknown))).into(),
    }
}

fn initialize(app: &App, connection: &Shared, params: &Params) -> Result<impl Serialize + use<>, Error> {
    let request: InitializeRequest = params.read()?;
    connection.introduce(request.client_capabilities);
    let name = agent_of(app, connection);
    let agent = app.hub.agents().into_iter().find(|agent| agent.id == name);
    agent.map(|agent| setup::introduced(&agent)).ok_or_else(Error::internal_error)
}

/// A client that goes on after a restart of the daemon names a session, and its agent no more.
pub(crate) async fn recall(app: &App, connection: &Shared, params: &Params) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct OfSession {
        session_id: WireId,
    }
    if connection.is_introduced() || connection.agent().is_some() {
        return;
    }
    // Whether the session is there is for the method to say.
    let Ok(OfSession { session_id: id }) = params.read() else { return };
    let Ok(id) = session_id(&id) else { return };
    if let Ok(record) = app.hub.record(&id).await {
        connection.recall(&record.agent);
    }
}

/// The agent of the client's sessions that name none.
fn agent_of<'a>(app: &'a App, connection: &'a Shared) -> &'a str {
    connection.agent().unwrap_or_else(|| app.hub.default_agent())
}

/// A notification gets no answer, so what cannot be done is for the log.
pub(crate) async fn notified(app: &App, connection: &Shared, method: &str, params: &Params) {
    let done = match method {
        "session/cancel" => match params.read::<CancelNotification>() {
            Ok(cancel) => prompt::cancel(app, connection, &cancel.session_id).await,
            Err(error) => Err(error),
        },
        "$/cancel_request" => match params.read::<CancelRequestNotification>() {
            Ok(cancel) => prompt::cancel_request(app, connection, &cancel.request_id).await,
            Err(error) => Err(error),
        },
        _ => Err(Error::method_not_found()),
    };
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
