//! Every promise of `docs/PROMISES.md` and every paragraph of `docs/SECURITY.md` names the tests that hold it, and these
//! tests exist.
//!
//! A promise is a row of the table whose first cell is its number; its last cell but one names tests in backquotes. The
//! tests of a paragraph stand below it, and below the table or example that belongs to it, in a quote.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::sources::rust_files;

const PROMISES: &str = "docs/PROMISES.md";
const SECURITY: &str = "docs/SECURITY.md";
const COUNT: usize = 22;

pub(super) fn check() -> anyhow::Result<()> {
    let mut files = vec![];
    rust_files(Path::new("crates"), &mut files)?;
    let mut tests = BTreeSet::new();
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        tests.extend(tests_of(&text).map(str::to_owned));
    }
    let mut all = vec![];
    for (file, faults) in [(PROMISES, faults as fn(&str, &BTreeSet<String>) -> _), (SECURITY, untested)] {
        let page = fs::read_to_string(file).context(file)?;
        all.extend(faults(&page, &tests).into_iter().map(|fault| format!("{file}: {fault}")));
    }
    if all.is_empty() { Ok(()) } else { bail!("{}", all.join("\n")) }
}

/// Returns the paragraphs without tests, but for the first, which is about the page itself.
fn untested(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = vec![];
    let mut open: Option<&str> = None;
    let blocks = page.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty());
    for block in blocks.skip_while(|block| !block.starts_with("## ")).chain(["## the end"]) {
        if block.starts_with(['|', ' ']) {
            continue;
        }
        if let Some(list) = block.strip_prefix("> Tests: ") {
            let named = in_backquotes(list);
            let missing = named.iter().filter(|test| !tests.contains(**test));
            faults.extend(missing.map(|test| format!("{test} is no test")));
            if !named.is_empty() {
                open = None;
            }
            continue;
        }
        faults.extend(open.take().map(|words| format!("no test is named below \"{words}…\"")));
        if !block.starts_with('#') {
            let end = block.char_indices().nth(60).map_or(block.len(), |(end, _)| end);
            open = block.get(..end);
        }
    }
    faults
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
    Some(Promise { name, tests: in_backquotes(held) })
}

fn in_backquotes(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the names of the functions that an attribute makes a test, also within macros that expand to tests, and of
/// the functions that `conformance_tests!` and `own_tests!` make tests of.
fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    let (mut is_test, mut are_checks) = (false, false);
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if ["conformance_tests! {", "own_tests! {"].iter().any(|begin| line.contains(begin)) || line == "}" {
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
    fn a_paragraph_about_security_without_a_test_or_with_an_unknown_one_is_a_fault() {
        let tests = ["kept".to_owned()].into();
        let right = "# Page\n\nHow it is kept.\n\n## Part\n\nA claim.\n\n| a | table |\n\n> Tests: `kept`.\n\n## More\n\n\
                     Another.\n\n> Tests: `kept`.\n";
        assert_eq!(untested(right, &tests), [""; 0]);
        let wrong =
            "## Part\n\nA claim.\n\nAnother.\n\n> Tests: `gone`.\n\n## More\n\nThe last.\n\n> Tests: none.\n";
        let faults = [
            "no test is named below \"A claim.…\"",
            "gone is no test",
            "no test is named below \"The last.…\"",
        ];
        assert_eq!(untested(wrong, &tests), faults);
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
