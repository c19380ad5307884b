//! Arbitrary input from a fixed seed: every run of the tests tries the same cases, and their number is bounded.
//!
//! `OMNIGLOT_FUZZ_FACTOR` multiplies the cases and `OMNIGLOT_FUZZ_SEED` chooses others; `cargo xtask fuzz` sets both.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// Returns the configuration of a test that tries this many cases by default.
pub fn config(cases: u32) -> ProptestConfig {
    config_of(cases, 0)
}

/// As [`config`], for one of several targets of a test, each of which is tried with other cases.
pub fn config_of(cases: u32, target: u64) -> ProptestConfig {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let factor = number("OMNIGLOT_FUZZ_FACTOR").and_then(|factor| u32::try_from(factor).ok()).unwrap_or(1);
    ProptestConfig {
        cases: cases.saturating_mul(factor),
        rng_seed: RngSeed::Fixed(number("OMNIGLOT_FUZZ_SEED").unwrap_or(1).wrapping_add(target)),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    }
}

/// A change of one value inside a JSON document.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Chooses the value, counted in the order of the document.
    at: usize,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    /// Its member or element is left out.
    Drop,
    /// Another value stands in its place.
    Replace(Value),
    /// It is wrapped into a list that has it twice.
    Repeat,
    /// A text loses its second half.
    Cut,
}

pub fn edit() -> impl Strategy<Value = Edit> {
    let change = prop_oneof![
        3 => Just(Change::Drop),
        4 => odd_value().prop_map(Change::Replace),
        1 => Just(Change::Repeat),
        1 => Just(Change::Cut),
    ];
    (any::<u16>(), change).prop_map(|(at, change)| Edit { at: at.into(), change })
}

/// Values of every type, with the extremes that arithmetic stumbles over.
pub fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        prop_oneof![Just(u64::MAX), Just(1 << 53)].prop_map(Value::from),
        Just(Value::from(i64::MIN)),
        prop_oneof![Just(1.5e300), Just(-0.5)].prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::from("\u{0}\r\n\u{1b}[2J")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{}], null, "x"])),
        Just(json!({"type": "unheard-of", "id": 1})),
    ]
}

/// An arbitrary JSON document of small size.
pub fn document() -> impl Strategy<Value = Value> {
    odd_value().prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,8}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

impl Edit {
    pub fn apply(&self, document: &mut Value) {
        let mut left = self.at % count(document);
        if !self.visit(document, &mut left) {
            *document = Value::Null;
        }
    }

    /// Returns false when the value itself is to be dropped by its owner.
    fn visit(&self, value: &mut Value, left: &mut usize) -> bool {
        if *left == 0 {
            *left = usize::MAX;
            return self.change(value);
        }
        *left -= 1;
        match value {
            Value::Array(elements) => {
                elements.retain_mut(|element| !self.meets(left) || self.visit(element, left))
            }
            Value::Object(members) => {
                let mut dropped = None;
                for (name, member) in members.iter_mut() {
                    if self.meets(left) && !self.visit(member, left) {
                        dropped = Some(name.clone());
                    }
                }
                dropped.and_then(|name| members.remove(&name));
            }
            _ => {}
        }
        true
    }

    /// Whether the value was not met yet.
    fn meets(&self, left: &usize) -> bool {
        *left != usize::MAX
    }

    fn change(&self, value: &mut Value) -> bool {
        match &self.change {
            Change::Drop => return false,
            Change::Replace(other) => value.clone_from(other),
            Change::Repeat => *value = json!([value, value]),
            Change::Cut => {
                if let Value::String(text) = value {
                    *text = text.chars().take(text.chars().count() / 2).collect();
                }
            }
        }
        true
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_changes_the_value_that_it_counts_to() {
        let changed = |at, change| {
            let mut document = json!({"a": [1, "text"], "b": {"c": 2}});
            Edit { at, change }.apply(&mut document);
            document
        };
        assert_eq!(changed(2, Change::Drop), json!({"a": ["text"], "b": {"c": 2}}));
        assert_eq!(changed(3, Change::Cut), json!({"a": [1, "te"], "b": {"c": 2}}));
        assert_eq!(changed(4, Change::Repeat), json!({"a": [1, "text"], "b": [{"c": 2}, {"c": 2}]}));
        assert_eq!(changed(5, Change::Replace(Value::Null)), json!({"a": [1, "text"], "b": {"c": null}}));
        assert_eq!(changed(6, Change::Drop), Value::Null, "it counts around");
    }
}
