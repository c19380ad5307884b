//! A list of the state: inline, or, when it is long, as a reference to the blob that holds it.
//!
//! The Timeline decides which lists are too long to be inline.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A list, or the path to fetch it from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Listed<T> {
    Inline(Vec<T>),
    Blob(BlobRef),
}

/// Points at a blob of the session: a JSON array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlobRef {
    /// Path to GET. Boxed, so that a list is no larger for having two forms.
    #[serde(rename = "$blob")]
    #[schema(value_type = String)]
    pub path: Box<str>,
}

impl<T> Listed<T> {
    /// The entries, if they are inline.
    pub fn inline(&self) -> Option<&[T]> {
        match self {
            Self::Inline(list) => Some(list),
            Self::Blob(_) => None,
        }
    }

    /// The path of the blob, if the entries are not inline.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Inline(_) => None,
            Self::Blob(blob) => Some(&blob.path),
        }
    }
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self::Inline(vec![])
    }
}

impl<T> From<Vec<T>> for Listed<T> {
    fn from(list: Vec<T>) -> Self {
        Self::Inline(list)
    }
}

impl<T> FromIterator<T> for Listed<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Self::Inline(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_no_larger_for_having_two_forms() {
        assert_eq!(size_of::<Option<Listed<String>>>(), size_of::<Vec<String>>());
    }

    #[test]
    fn both_forms_survive_the_way_there_and_back() {
        for json in [r#"["a","b"]"#, "[]", r#"{"$blob":"/v1/sessions/s/blobs/x.json"}"#] {
            let listed: Listed<String> = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&listed).unwrap(), json);
        }
        assert!(serde_json::from_str::<Listed<String>>(r#"{"blob":"x"}"#).is_err());
    }
}
