//! Reading ACP's lists and optional fields piece by piece, so that one bad piece does not spoil the rest.
//!
//! The envelope around them is `rpc`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};

/// Decodes a list entry by entry: one bad entry is reported and the others stay.
pub(crate) fn entries<'a, T: Deserialize<'a>>(
    location: &str,
    list: Option<&'a RawValue>,
    faults: &mut Vec<Unparsed>,
) -> Option<Vec<T>> {
    let raw: Vec<&'a RawValue> = field(location, list, faults)?;
    let mut good = Vec::with_capacity(raw.len());
    for (index, entry) in raw.into_iter().enumerate() {
        match decode(&format!("{location}[{index}]"), entry) {
            Ok(entry) => good.push(entry),
            Err(fault) => faults.push(fault),
        }
    }
    Some(good)
}

/// Decodes one optional field: a bad one is reported and counts as absent.
pub(crate) fn field<'a, T: Deserialize<'a>>(
    location: &str,
    raw: Option<&'a RawValue>,
    faults: &mut Vec<Unparsed>,
) -> Option<T> {
    match decode(location, raw?) {
        Ok(value) => Some(value),
        Err(fault) => {
            faults.push(fault);
            None
        }
    }
}
