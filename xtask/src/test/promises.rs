//! Every promise of `docs/PROMISES.md` names the tests that hold it, and these tests exist.
//!
//! A promise is a row of the table whose first cell is its number; its last cell but one names tests in backquotes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::sources::rust_files;

const FILE: &str = "docs/PROMISES.md";
const COUNT: usize = 22;

pub(super) fn check() -> anyhow::Result<()> {
    let page = fs::read_to_string(FILE).context(FILE)?;
    let mut files = vec![];
    rust_files(Path::new("crates"), &mut files)?;
    let mut tests = BTreeSet::new();
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        tests.extend(tests_of(&text).map(str::to_owned));
    }
    let faults = faults(&page, &tests);
    if faults.is_empty() { Ok(()) } else { bail!("{FILE}: {}", faults.join(&format!("\n{FILE}: "))) }
}

fn faults(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let promises: Vec<_> = page.lines().filter_map(promise).collect();
    let mut faults = vec![];
    for number in 1..=COUNT {
        let name = format!("P{number}");
        match promises.iter().find(|promise| promise.name == name) {
            None => faults.push(format!("{name} has no row")),
            Some(promise) if promise.tests.is_empty() => faults.push(format!("{name} names no test")),
            Some(promise) => {
                let missing = promise.tests.iter().filter(|test| !tests.contains(**test));
                faults.extend(missing.map(|test| format!("{name} names {test}, which is no test")));
            }
        }
    }
    faults
}

struct Promise<'a> {
    name: &'a str,
    tests: Vec<&'a str>,
}

fn promise(line: &str) -> Option<Promise<'_>> {
    let cells: Vec<_> = line.strip_prefix("| P")?.strip_suffix('|')?.split(" | ").collect();
    let (first, held) = (cells.first()?, cells.get(3)?);
    let name = line.get(2..3 + first.len())?.trim();
    // Every second piece stands between two backquotes.
    Some(Promise { name, tests: held.split('`').skip(1).step_by(2).collect() })
}

/// Returns the names of the functions that an attribute makes a test, also within macros that expand to tests, and of
/// the checks that `conformance_tests!` makes tests of.
fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    let (mut is_test, mut are_checks) = (false, false);
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.contains("conformance_tests! {") || line == "}" {
            are_checks = line != "}";
        }
        if are_checks {
            return line.strip_suffix(',')?.split_once("::").map(|(_, check)| check);
        }
        if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
            is_test = true;
        }
        let name = line.trim_start_matches("async ").strip_prefix("fn ")?.split(['(', '<']).next()?;
        std::mem::take(&mut is_test).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> String {
        let others = (3..=COUNT).map(|n| format!("| P{n} | Property | Figure | `kept` | 2026-11-17 |\n"));
        format!("{rows}\n{}", others.collect::<String>())
    }

    #[test]
    fn a_promise_without_a_test_or_with_an_unknown_one_is_a_fault() {
        let tests = ["kept".to_owned()].into();
        let right = table("| P1 | A | 0 | `kept`, in part | now |\n| P2 | B | 1 | `kept` | now |");
        assert_eq!(faults(&right, &tests), [""; 0]);
        let wrong = table("| P1 | A | 0 | nobody | now |\n| P2 | B | 1 | `kept` and `gone` | now |");
        assert_eq!(faults(&wrong, &tests), ["P1 names no test", "P2 names gone, which is no test"]);
        assert_eq!(faults(&table("| P1 | A | 0 | `kept` | now |"), &tests), ["P2 has no row"]);
    }

    #[test]
    fn tests_are_the_functions_behind_an_attribute() {
        let text =
            "#[test]\nfn one() {\n#[tokio::test(start_paused = true)]\nasync fn two() {\nfn helper() {\n";
        assert_eq!(tests_of(text).collect::<Vec<_>>(), ["one", "two"]);
        let checks =
            "$crate::conformance_tests! { $service:\n  logs::three,\n  }\nfn helper() {\nlogs::four,\n";
        assert_eq!(tests_of(checks).collect::<Vec<_>>(), ["three"]);
    }
}
