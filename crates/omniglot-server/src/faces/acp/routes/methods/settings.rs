//! Modes, models and options: sets them, and returns the resulting values.

use agent_client_protocol_schema::v1::{
    Error, SessionId as WireId, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use omniglot_runtime::Hub;
use omniglot_schema::{SessionDetail, SessionId, SessionPatch, SessionState};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{error, session_id, unfit};
use crate::app::App;
use crate::faces::acp::project::Blobs;
use crate::faces::acp::project::settings;
use crate::faces::acp::state::fetch;
use crate::faces::acp::wire::rpc::Params;

/// The schema has dropped this method, and clients still call it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetSessionModel {
    session_id: WireId,
    model_id: String,
}

pub(super) async fn set_mode(app: &App, params: &Params) -> Result<SetSessionModeResponse, Error> {
    let request: SetSessionModeRequest = params.read()?;
    let session = session_id(&request.session_id)?;
    configure(app, &session, settings::mode_patch(&request.mode_id.0)).await?;
    Ok(SetSessionModeResponse::new())
}

pub(super) async fn set_model(app: &App, params: &Params) -> Result<Map<String, Value>, Error> {
    let request: SetSessionModel = params.read()?;
    let session = session_id(&request.session_id)?;
    configure(app, &session, settings::model_patch(&request.model_id)).await?;
    Ok(Map::new())
}

pub(super) async fn set_config_option(
    app: &App,
    params: &Params,
) -> Result<SetSessionConfigOptionResponse, Error> {
    let request: SetSessionConfigOptionRequest = params.read()?;
    let session = session_id(&request.session_id)?;
    let state = state_of(app, &session).await?;
    let patch = settings::patch(&state, &request.config_id.0, &request.value).map_err(unfit)?;
    let state = configure(app, &session, patch).await?;
    Ok(SetSessionConfigOptionResponse::new(settings::options(&state)))
}

async fn configure(app: &App, session: &SessionId, patch: SessionPatch) -> Result<SessionState, Error> {
    let detail = app.hub.configure(session, patch).await.map_err(error)?;
    filled(&app.hub, detail).await.map(|detail| detail.state)
}

async fn state_of(app: &App, session: &SessionId) -> Result<SessionState, Error> {
    let detail = app.hub.detail(session).await.map_err(error)?;
    filled(&app.hub, detail).await.map(|detail| detail.state)
}

/// Returns a session whose lists are inline.
pub(super) async fn filled(hub: &Hub, mut detail: SessionDetail) -> Result<SessionDetail, Error> {
    let paths = Blobs::named_by_state(&detail.state);
    let blobs = fetch::blobs(hub, &detail.info.session_id, paths).await.map_err(error)?;
    blobs.fill_state(&mut detail.state);
    Ok(detail)
}
