//! Path and query of a request as types; a value that does not fit is a problem, never plain text.

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use crate::http::members;
use crate::http::problem::Problem;

/// The variable segments of the path, in order.
pub(crate) struct PathOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(value) = Path::from_request_parts(parts, state).await.map_err(bad_path)?;
        Ok(Self(value))
    }
}

fn bad_path(rejection: PathRejection) -> Problem {
    Problem::invalid(match rejection {
        PathRejection::FailedToDeserializePathParams(error) => match error.into_kind() {
            // The type's own message names the accepted form; axum's text around it adds nothing but the URL.
            ErrorKind::DeserializeError { message, .. } => message,
            other => other.to_string(),
        },
        other => other.body_text(),
    })
}

/// The query of the URL; a parameter that the route does not have is refused.
pub(crate) struct QueryOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // A name that is not UTF-8 would become another one.
        let query = parts.uri.query().unwrap_or_default();
        if percent_encoding::percent_decode_str(query).decode_utf8().is_err() {
            return Err(Problem::invalid("query: not UTF-8"));
        }
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|error| Problem::invalid(format!("query: {}", error.body_text())))?;
        refuse_unknown(&pairs, members::names_of::<T>())?;
        let values = MapDeserializer::<_, Error>::new(grouped(pairs).into_iter());
        serde_path_to_error::deserialize(values).map(Self).map_err(|error| {
            let name = error.path().to_string();
            let inner = error.into_inner();
            // Each parameter's message continues its name: `limit must be …`.
            Problem::invalid(if name == "." { format!("query: {inner}") } else { format!("{name} {inner}") })
        })
    }
}

/// The values of one parameter, in order. Only one that is read as a list may have several.
struct Values(Vec<String>);

fn grouped(pairs: Vec<(String, String)>) -> Vec<(String, Values)> {
    let mut grouped: Vec<(String, Values)> = Vec::new();
    for (name, value) in pairs {
        match grouped.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Values(values))) => values.push(value),
            None => grouped.push((name, Values(vec![value]))),
        }
    }
    grouped
}

impl Values {
    fn only(mut self) -> Result<String, Error> {
        let only = self.0.pop().filter(|_| self.0.is_empty());
        only.ok_or_else(|| Error::custom("must be given once"))
    }
}

impl IntoDeserializer<'_, Error> for Values {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Values {
    type Error = Error;

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(SeqDeserializer::new(self.0.into_iter()))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        IntoDeserializer::<Error>::into_deserializer(self.only()?).deserialize_enum(name, variants, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.only()?)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct tuple tuple_struct map struct identifier ignored_any
    }
}

/// For routes without query parameters.
pub(crate) type NoQuery = QueryOf<Nothing>;

#[derive(Deserialize)]
pub(crate) struct Nothing {}

/// Reads a parameter that is any text.
pub(crate) fn text<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    String::deserialize(d).map(Some)
}

fn refuse_unknown(pairs: &[(String, String)], known: Option<&[&str]>) -> Result<(), Problem> {
    let Some(known) = known else { return Ok(()) };
    let Some((unknown, _)) = pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let allowed = match known {
        [] => "this route takes none".to_owned(),
        names => format!("allowed are {}", names.join(", ")),
    };
    Err(Problem::invalid(format!("no query parameter `{unknown}`; {allowed}")))
}
