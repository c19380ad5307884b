//! Path and query of a request; a value that does not fit is refused in OpenCode's form. Unknown parameters are
//! ignored: clients of other versions send more.

use axum::extract::{self, FromRequestParts};
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::refusal::Refusal;
use crate::http::extract::PathOf;

pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let query = extract::Query::try_from_uri(&parts.uri);
        let query = query.map_err(|error| Refusal::invalid(format!("query: {}", error.body_text())))?;
        Ok(Self(query.0))
    }
}

/// The variable segments of the path, in order.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let PathOf(value) = PathOf::from_request_parts(parts, state).await?;
        Ok(Self(value))
    }
}
