//! The error responses that any described route may return.

use std::collections::BTreeMap;

use omniglot_schema::ProblemDetails;
use utoipa::openapi::response::Response;
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema as _};

/// The error responses that any route may return, for the description.
pub(crate) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let table = [
            ("400", "The request is not valid"),
            ("401", "The token is missing or wrong"),
            ("403", "The token does not allow this, or the host or origin is not allowed"),
            ("404", "What the path names does not exist"),
            ("default", "Any other refusal"),
        ];
        table.into_iter().map(|(status, text)| (status.to_owned(), refusal(text).into())).collect()
    }
}

fn refusal(description: &str) -> Response {
    let schema = Ref::from_schema_name(ProblemDetails::name());
    ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", Content::new(Some(schema)))
        .build()
}
