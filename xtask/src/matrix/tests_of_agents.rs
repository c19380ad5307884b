//! The tests of real agents: the existing ones, and those that have passed.
//!
//! A test is identified by its binary, which is named after its agent, and by its last name: its module in
//! the binary does not matter.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::value::Map;

use crate::tools::NEXTEST;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Test {
    pub(super) binary: String,
    pub(super) name: String,
}

impl Test {
    /// Makes a test from `omniglot::real_claude` and `tools::it_works`.
    fn new(suite: &str, path: &str) -> Self {
        let last = |path: &str| path.rsplit("::").next().unwrap_or(path).to_owned();
        Self { binary: last(suite), name: last(path) }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct List {
    rust_suites: Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Suite {
    #[serde(default)]
    testcases: Map<String, serde_json::Value>,
}

/// Returns every test. The whole workspace is built as its run builds it, so that nothing is built twice.
pub(super) fn listed() -> anyhow::Result<BTreeSet<Test>> {
    let line = NEXTEST.line("list --workspace --message-format json -E binary(/^real_/)")?;
    in_list(&line.stdout()?)
}

fn in_list(json: &str) -> anyhow::Result<BTreeSet<Test>> {
    let list: List = serde_json::from_str(json).context("the list of tests")?;
    let mut tests = BTreeSet::new();
    for (name, suite) in list.rust_suites {
        let suite: Suite = serde_json::from_value(suite).with_context(|| name.clone())?;
        tests.extend(suite.testcases.keys().map(|path| Test::new(&name, path)));
    }
    Ok(tests)
}

/// Returns the tests that passed in the last run of all of them.
pub(super) fn passed() -> anyhow::Result<BTreeSet<Test>> {
    let report = report().context(
        "there is no report of a whole run: `cargo xtask test --only nextest` makes one, or `--listed` does without",
    )?;
    println!("{}", report.display());
    Ok(in_report(&fs::read_to_string(&report).with_context(|| report.display().to_string())?))
}

fn report() -> Option<PathBuf> {
    let written = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let reports = ["whole", "ci"].map(report_of);
    let newest: Option<(SystemTime, PathBuf)> =
        reports.into_iter().filter_map(|path| Some((written(&path)?, path))).max();
    newest.map(|(_, path)| path)
}

fn in_report(xml: &str) -> BTreeSet<Test> {
    cases(xml).into_iter().filter(|case| case.passed).map(|case| Test::new(case.suite, case.path)).collect()
}

/// Returns the place of the report of a profile's last run.
pub(crate) fn report_of(profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join("nextest").join(profile).join("junit.xml")
}

/// One test of a report.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case<'a> {
    pub(crate) suite: &'a str,
    pub(crate) path: &'a str,
    pub(crate) passed: bool,
}

/// Reads nextest's report: one element per test, in which a failure is an element of its own. Printed output
/// of a test is escaped, so no element is found in it.
pub(crate) fn cases(xml: &str) -> Vec<Case<'_>> {
    let passed = |case: &str| {
        let end = case.find("</testcase>").unwrap_or(case.len());
        let own = case.get(..end).unwrap_or_default();
        !["<failure", "<error", "<skipped"].iter().any(|element| own.contains(element))
    };
    let case = |case| {
        let (suite, path) = (attribute(case, "classname")?, attribute(case, "name")?);
        Some(Case { suite, path, passed: passed(case) })
    };
    xml.split("<testcase ").skip(1).filter_map(case).collect()
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let head = element.split('>').next()?;
    head.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix("=\"")?.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(binary: &str, name: &str) -> Test {
        Test { binary: binary.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn only_what_passed_is_believed() {
        let xml = r#"<?xml version="1.0"?><testsuites><testsuite name="omniglot::real_claude">
            <testcase name="tools::it_works" classname="omniglot::real_claude" time="1.0">
            </testcase>
            <testcase name="it_fails" classname="omniglot::real_claude" time="1.0">
                <failure type="test failure">&lt;testcase </failure>
            </testcase>
            <testcase name="it_is_quick" classname="omniglot::real_codex_acp" time="0.1"/>
            </testsuite></testsuites>"#;
        let expected = [test("real_claude", "it_works"), test("real_codex_acp", "it_is_quick")];
        assert_eq!(in_report(xml), BTreeSet::from(expected));
    }

    #[test]
    fn a_list_names_every_test_with_its_binary() {
        let json = r#"{"test-count": 1, "rust-suites": {"omniglot::real_qwen": {"status": "listed",
            "testcases": {"it_works": {"ignored": false}}}, "omniglot::rest": {"status": "skipped"}}}"#;
        assert_eq!(in_list(json).unwrap(), BTreeSet::from([test("real_qwen", "it_works")]));
    }
}
