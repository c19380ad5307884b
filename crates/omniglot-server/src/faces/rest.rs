//! The REST face: its route table and its description.
//!
//! Both come from the same list, so that no route can be served undescribed. What each route means is
//! told where it is defined, under `routes/`.

mod routes;
mod state;
mod wire;

use axum::response::IntoResponse;
use axum::routing::any;
use http::StatusCode;
use omniglot_schema::{
    CommandInfo, Delivered, DeltaPart, ErrorCode, ErrorType, HookCall, ProblemDetails, QueuedMessage,
    RequestMetadata, StatusLabel, Todo, UniversalEventData, UniversalEventType,
};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, Unscoped};
use crate::http::access::FaceAccess;
use crate::http::problem::Problem;
use routes::{
    agents, all_events, blobs, desktop, directory_config, events, files, health, hooks, import, install,
    messages, metrics, process_io, process_terminal, processes, requests, revert, search, sessions, tokens,
    uploads,
};

/// The terminal of a process takes its token in the query, too.
pub(crate) const TERMINAL_ACCESS: FaceAccess = FaceAccess {
    serves: process_terminal::is_terminal,
    password: |_, uri| process_terminal::access_token(uri),
    refuse: IntoResponse::into_response,
};

/// The routes of this face with their description.
pub(crate) fn table() -> OpenApiRouter<Unscoped<App>> {
    let described = OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(sessions::list_sessions, sessions::create_new_session))
        .routes(routes!(
            sessions::create_session,
            sessions::get_session,
            sessions::patch_session,
            sessions::delete_session
        ))
        .routes(routes!(sessions::fork_session))
        .routes(routes!(revert::revert_session))
        .routes(routes!(revert::unrevert_session))
        .routes(routes!(import::import_session))
        .routes(routes!(messages::compact_session))
        .routes(routes!(sessions::cancel_session))
        .routes(routes!(sessions::terminate_session))
        .routes(routes!(messages::post_message))
        .routes(routes!(messages::post_message_stream))
        .routes(routes!(messages::delete_message))
        .routes(routes!(events::get_events))
        .routes(routes!(events::get_events_sse))
        .routes(routes!(all_events::get_all_events_sse))
        .routes(routes!(blobs::get_blob))
        .routes(routes!(requests::reply_permission))
        .routes(routes!(requests::reply_question))
        .routes(routes!(requests::reject_question))
        .routes(routes!(requests::list_requests))
        .routes(routes!(search::search))
        .routes(routes!(uploads::upload_file))
        .routes(routes!(agents::list_agents))
        .routes(routes!(agents::get_agent))
        .routes(routes!(agents::get_agent_models))
        .routes(routes!(agents::get_agent_modes))
        .routes(routes!(agents::check_agent))
        .routes(routes!(
            directory_config::get_mcp_config,
            directory_config::put_mcp_config,
            directory_config::delete_mcp_config
        ))
        .routes(routes!(
            directory_config::get_skills_config,
            directory_config::put_skills_config,
            directory_config::delete_skills_config
        ))
        .routes(routes!(install::install_agent))
        .routes(routes!(tokens::list_tokens, tokens::create_token))
        .routes(routes!(tokens::revoke_token))
        .routes(routes!(tokens::get_audit))
        .routes(routes!(hooks::list_hooks))
        .routes(routes!(hooks::list_dead_letters))
        .routes(routes!(hooks::retry_hook))
        .routes(routes!(hooks::test_hook))
        .routes(routes!(files::fs_entries))
        .routes(routes!(files::fs_read_file, files::fs_write_file))
        .routes(routes!(files::fs_delete_entry))
        .routes(routes!(files::fs_mkdir))
        .routes(routes!(files::fs_move))
        .routes(routes!(files::fs_stat))
        .routes(routes!(files::fs_upload_batch))
        .routes(routes!(processes::get_process_config, processes::set_process_config))
        .routes(routes!(processes::run_process))
        .routes(routes!(processes::list_processes, processes::create_process))
        .routes(routes!(processes::get_process, processes::delete_process))
        .routes(routes!(processes::stop_process))
        .routes(routes!(processes::kill_process))
        .routes(routes!(process_io::get_process_logs))
        .routes(routes!(process_io::send_process_input))
        .routes(routes!(process_io::resize_process_terminal))
        .routes(routes!(process_terminal::open_process_terminal))
        .routes(routes!(desktop::get_desktop_status))
        .routes(routes!(desktop::list_desktop_recordings))
        .routes(routes!(desktop::get_desktop_stream_status))
        .routes(routes!(health::get_health))
        .routes(routes!(health::get_daemon))
        .routes(routes!(health::get_ready))
        .routes(routes!(metrics::get_metrics))
        .routes(routes!(health::get_openapi));
    desktop::NOT_SERVED.iter().fold(described, |table, path| table.route(path, any(desktop::no_desktop)))
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Omniglot",
        description = "One API for every coding agent: sessions, one event stream, people in the loop."
    ),
    tags(
        (name = "meta", description = "The daemon itself"),
        (name = "agents", description = "The agents that the daemon can drive"),
        (name = "sessions", description = "Sessions, their messages, events and requests"),
        (name = "fs", description = "Files of sessions and of configured directories"),
        (name = "config", description = "What is configured for directories"),
        (name = "processes", description = "Processes that clients run, where the configuration allows it"),
        (name = "desktop", description = "The desktop that clients of sandbox-agent ask for; there is none"),
        (name = "access", description = "Named tokens, and the record of what was done with them"),
        (name = "hooks", description = "Hooks: whom the daemon calls when something happens"),
        (name = "acp", description = "The Agent Client Protocol over HTTP"),
    ),
    // What no body names but clients meet in headers, inside events and in problems.
    components(schemas(
        CommandInfo, Delivered, DeltaPart, ErrorCode, ErrorType, HookCall, ProblemDetails,
        QueuedMessage, RequestMetadata, StatusLabel, Todo, UniversalEventData, UniversalEventType
    )),
    modifiers(&BearerToken),
    security(("token" = [])),
)]
struct Described;

struct BearerToken;

impl utoipa::Modify for BearerToken {
    fn modify(&self, openapi: &mut OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

pub(crate) async fn no_route(uri: http::Uri) -> Problem {
    Problem::new(ErrorType::NotFound, format!("no route {}", uri.path()))
        .hint("GET /v1/openapi.json lists all routes")
}

pub(crate) async fn no_method(method: http::Method, uri: http::Uri) -> Problem {
    Problem::invalid(format!("{} does not take {method}", uri.path())).status(StatusCode::METHOD_NOT_ALLOWED)
}
