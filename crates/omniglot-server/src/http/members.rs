//! The names of the members that a type accepts, taken from its own `Deserialize`.
//!
//! The readers of bodies and queries refuse other members.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the members of a struct, aliases included; `None` for a type that accepts any.
pub(crate) fn names_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    T::deserialize(Probe).err().and_then(|Told(names)| names)
}

/// A deserializer without data that records the requested members.
struct Probe;

impl<'de> Deserializer<'de> for Probe {
    type Error = Told;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Told> {
        Err(Told(Some(fields)))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Told> {
        Err(Told(None))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[derive(Debug)]
struct Told(Option<&'static [&'static str]>);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is nothing to read")
    }
}

impl std::error::Error for Told {}

impl de::Error for Told {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::CancelRequest;
    use serde::Deserialize;

    use super::*;

    #[test]
    fn a_struct_tells_its_members_and_their_other_spellings() {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only its shape counts")]
        struct Query {
            offset: u64,
            #[serde(alias = "includeRaw")]
            include_raw: bool,
        }
        assert_eq!(names_of::<CancelRequest>(), Some(&["queue"][..]));
        let mut names = names_of::<Query>().unwrap().to_vec();
        names.sort_unstable();
        assert_eq!(names, ["includeRaw", "include_raw", "offset"]);
    }

    #[test]
    fn what_takes_any_member_tells_none() {
        assert_eq!(names_of::<serde_json::Value>(), None);
    }
}
