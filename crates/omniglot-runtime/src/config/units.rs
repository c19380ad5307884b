//! Sizes, days and counts as people write them in a configuration.
//!
//! Errors leave the value out: it may be a secret in the wrong place.

use std::fmt;
use std::time::Duration;

use omniglot_timeline::MOST_ITEM_BYTES;
use serde::Deserializer;
use serde::de::{Deserialize as _, Error, Unexpected, Visitor};

const BYTES: &str = "a number of bytes over 0, or a text such as \"500 MB\" or \"2 GiB\"";
const DAYS: &str = "a number of days over 0, such as 30 or 0.5";
const SECONDS: f64 = 86_400.0;

/// Longer than anybody keeps anything, and far from where arithmetic on times ends.
const MOST_DAYS: f64 = 1_000_000.0;

/// The units of sizes, in lower case.
const UNITS: [(&str, u64); 9] = [
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// A size.
pub(super) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(Bytes)
}

/// A size that means no limit when it is absent.
pub(super) fn some_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    bytes(deserializer).map(Some)
}

/// A size of something in memory.
pub(super) fn memory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    usize::try_from(bytes(deserializer)?).map_err(|_| D::Error::custom(format!("expected {BYTES}")))
}

/// A size of the text of an item.
pub(super) fn item<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match memory(deserializer)? {
        bytes if bytes <= MOST_ITEM_BYTES => Ok(bytes),
        _ => Err(D::Error::custom(
            "expected at most \"128 MiB\": the database keeps no longer text in one row",
        )),
    }
}

/// An age that means no limit when it is absent.
pub(super) fn some_days<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    deserializer.deserialize_any(Days).map(Some)
}

/// A time that means no limit when it is absent.
pub(super) fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    positive(deserializer).map(Some)
}

/// A count that must not be 0.
pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("expected more than 0; raise it or leave it out")),
        count => Ok(count),
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BYTES)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        let bytes = u64::try_from(number).ok().filter(|bytes| *bytes > 0);
        bytes.ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        size(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

struct Days;

impl Visitor<'_> for Days {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DAYS)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Duration, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Duration, E> {
        if number > 0.0 && number <= MOST_DAYS {
            return Ok(Duration::from_secs_f64(number * SECONDS));
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

/// A whole number and a unit, with or without a space between them.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_units_that_people_write() {
        let good =
            [("1b", 1), ("2 KB", 2000), ("500MB", 500_000_000), ("2 GiB", 2 << 30), (" 3 tib ", 3 << 40)];
        for (text, bytes) in good {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "0 MB", "12", "MB", "-1 MB", "1.5 GB", "1 XB", "1 G B", "99999999 TiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
