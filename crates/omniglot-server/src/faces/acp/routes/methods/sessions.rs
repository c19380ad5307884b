//! Sessions: created, loaded, resumed, forked, listed, closed and deleted. All of it from our own store, so
//! it works for every agent alike.

use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Error,
    ForkSessionRequest, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, ResumeSessionRequest,
    SessionId as WireId,
};
use omniglot_runtime::digest::sha256;
use omniglot_runtime::{IdempotencyKey, RuntimeError};
use omniglot_schema::{AgentError, CreateSessionResponse, SessionId};
use omniglot_store::{ListFilter, SessionRecord, StoreError};
use uuid::Uuid;

use super::{Call, Served, agent_of, error, session_id, settings, unfit};
use crate::app::App;
use crate::faces::acp::project::setup::{self, Opened};
use crate::faces::acp::state::connection::{From, Shared};
use crate::faces::acp::wire::rpc::Params;
use crate::faces::acp::wire::{failure, requests};

/// The number of sessions in one page of a list.
const PAGE: usize = 50;

pub(super) async fn new(app: &App, connection: &Shared, call: &Call) -> Served {
    born(app, create(app, connection, call).await).await
}

async fn create(app: &App, connection: &Shared, call: &Call) -> Result<SessionId, Error> {
    let wanted: requests::NewSession = call.params.read()?;
    let request = wanted.into_request(Some(agent_of(app, connection))).map_err(unfit)?;
    let id = name(app, connection, call)?;
    let created = app.hub.create(id.clone(), request).await;
    works(app, call, id, created).await
}

pub(super) async fn fork(app: &App, connection: &Shared, call: &Call) -> Served {
    born(app, copy(app, connection, call).await).await
}

async fn copy(app: &App, connection: &Shared, call: &Call) -> Result<SessionId, Error> {
    let request: ForkSessionRequest = call.params.read()?;
    let (origin, id) = (session_id(&request.session_id)?, name(app, connection, call)?);
    let created = app.hub.fork(&origin, id.clone(), None).await;
    works(app, call, id, created).await
}

/// A request with a key gets its session id from the key, so that a repeated request finds the session: its
/// client did not receive the first answer. A generated id fits our own rules.
fn name(app: &App, connection: &Shared, call: &Call) -> Result<SessionId, Error> {
    let name = match &call.key {
        Some(IdempotencyKey { key, body_hash }) => {
            // The daemon's own token has made such names before there were others.
            let owner = app.hub.caller().token_id().map(|id| format!("{id}\n")).unwrap_or_default();
            let whole = sha256(format!("{owner}{}\n{key}\n{body_hash}", connection.id).as_bytes());
            whole.chars().take(32).collect()
        }
        None => Uuid::now_v7().simple().to_string(),
    };
    SessionId::parse(&format!("ses_{name}")).map_err(|_| Error::internal_error())
}

/// A session whose agent requires credentials first is of no use to a client that cannot give any.
async fn works(
    app: &App,
    call: &Call,
    id: SessionId,
    created: Result<CreateSessionResponse, RuntimeError>,
) -> Result<SessionId, Error> {
    let refused = match created {
        Ok(CreateSessionResponse { error: Some(refused), .. }) => refused,
        Ok(_) => return Ok(id),
        Err(RuntimeError::SessionExists(_)) if call.key.is_some() => return Ok(id),
        Err(refused) => return Err(error(refused)),
    };
    app.hub.delete(&id).await.map_err(error)?;
    Err(failure::of_agent(&AgentError { session_id: Some(id.to_string()), ..refused }))
}

/// Sends the answer first, then everything since the session's start.
async fn born(app: &App, id: Result<SessionId, Error>) -> Served {
    let opened = async {
        let id = id?;
        let record = app.hub.record(&id).await.map_err(error)?;
        Ok((opened(app, &id).await?, record))
    };
    match opened.await {
        Ok((opened, record)) => Served { then: Some((record, From::Birth)), ..Served::new(Ok(opened)) },
        Err(error) => Served::new::<()>(Err(error)),
    }
}

/// Sends the whole history first, then the answer.
pub(super) async fn load(app: &App, connection: &Shared, params: &Params) -> Served {
    let known = async {
        let request: LoadSessionRequest = params.read()?;
        known(app, &request.session_id).await
    };
    match known.await {
        Ok((opened, record)) => {
            connection.follow(&app.hub, &record, From::Story);
            Served { after: Some((record.no, record.last_seq)), ..Served::new(Ok(opened)) }
        }
        Err(error) => Served::new::<()>(Err(error)),
    }
}

pub(super) async fn resume(app: &App, connection: &Shared, params: &Params) -> Result<Opened, Error> {
    let request: ResumeSessionRequest = params.read()?;
    let (opened, record) = known(app, &request.session_id).await?;
    connection.follow(&app.hub, &record, From::Now);
    Ok(opened)
}

async fn known(app: &App, id: &WireId) -> Result<(Opened, SessionRecord), Error> {
    let id = session_id(id)?;
    let record = app.hub.record(&id).await.map_err(error)?;
    Ok((opened(app, &id).await?.without_id(), record))
}

async fn opened(app: &App, id: &SessionId) -> Result<Opened, Error> {
    let detail = app.hub.detail(id).await.map_err(error)?;
    let detail = settings::filled(&app.hub, detail).await?;
    Ok(Opened::new(&detail.info, &detail.state))
}

/// Lists sessions, newest first, to a client that has chosen an agent only those of this agent; the cursor is
/// the last session of the previous page.
pub(super) async fn list(
    app: &App,
    connection: &Shared,
    params: &Params,
) -> Result<ListSessionsResponse, Error> {
    let request: ListSessionsRequest = params.read()?;
    let mut after = request.cursor.map(|cursor| SessionId::parse(&cursor)).transpose().map_err(unfit)?;
    let directory = match request.cwd {
        // Sessions have the path with its links resolved.
        Some(cwd) => Some(tokio::fs::canonicalize(&cwd).await.unwrap_or(cwd).to_string_lossy().into_owned()),
        None => None,
    };
    let mut found = vec![];
    loop {
        let agent = connection.chosen().map(str::to_owned);
        let filter = ListFilter { agent, after: after.take(), limit: Some(PAGE), ..ListFilter::default() };
        let page = app.hub.list(filter).await.map_err(listed)?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|info| info.session_id.clone());
        found.extend(
            page.iter().filter(|info| directory.is_none() || info.directory == directory).map(setup::listed),
        );
        if is_last {
            return Ok(ListSessionsResponse::new(found));
        }
        if found.len() >= PAGE {
            return Ok(ListSessionsResponse::new(found).next_cursor(after.map(|id| id.to_string())));
        }
    }
}

fn listed(refused: RuntimeError) -> Error {
    match refused {
        RuntimeError::Store(StoreError::NoSession) => {
            unfit("the session of the cursor was deleted; list again from the beginning")
        }
        other => error(other),
    }
}

/// Ends the agent's process; the session stays and can be loaded.
pub(super) async fn close(
    app: &App,
    connection: &Shared,
    params: &Params,
) -> Result<CloseSessionResponse, Error> {
    let request: CloseSessionRequest = params.read()?;
    let id = session_id(&request.session_id)?;
    app.hub.terminate(&id).await.map_err(error)?;
    connection.leave(&id);
    Ok(CloseSessionResponse::new())
}

/// A session that does not exist counts as deleted.
pub(super) async fn delete(
    app: &App,
    connection: &Shared,
    params: &Params,
) -> Result<DeleteSessionResponse, Error> {
    let request: DeleteSessionRequest = params.read()?;
    let id = session_id(&request.session_id)?;
    match app.hub.delete(&id).await {
        Ok(()) | Err(RuntimeError::SessionNotFound(_)) => {}
        Err(refused) => return Err(error(refused)),
    }
    connection.leave(&id);
    Ok(DeleteSessionResponse::new())
}
