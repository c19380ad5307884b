//! Metrics of the daemon for a monitoring system.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

use super::super::wire::metrics;
use crate::app::App;
use crate::http::extract::NoQuery;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Metrics
///
/// Counters and gauges of the daemon, its log and its agents, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "meta",
    responses((status = 200, description = "Text format 0.0.4", content_type = "text/plain"), Refusals))]
pub(crate) async fn get_metrics(app: App, _: NoQuery) -> Result<Response, Problem> {
    app.need_no_limit("the daemon's metrics")?;
    let text = metrics::render(&app.hub.observe().await?, &app.http);
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
