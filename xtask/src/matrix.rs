//! The README's table of features by agent. A cell is ✓ only when a test of the real agent proves it.
//!
//! The table itself lists the features and the agents. A feature is proved by the test of its name, in the test
//! binary of the agent: "Exit codes" of `codex-acp` by `exit_codes` in `real_codex_acp`. `tests_of_agents` finds the
//! existing tests and those that have passed.

pub(crate) mod tests_of_agents;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, bail};

use tests_of_agents::{Test, listed, passed};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when README.md has a ✓ that no test makes.
    #[arg(long)]
    check: bool,
    /// Believe every test that there is, and not only those that passed in the last whole run.
    #[arg(long)]
    listed: bool,
}

const FILE: &str = "README.md";
const BEGIN: &str = "<!-- matrix: written by `cargo xtask matrix` -->\n";
const END: &str = "<!-- /matrix -->";
const MARK: &str = "✓";

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.check {
        return check();
    }
    let tests = if args.listed { listed()? } else { passed()? };
    let readme = fs::read_to_string(FILE).context(FILE)?;
    let (before, table, after) = parts(&readme)?;
    let marked = mark(table, &tests);
    fs::write(FILE, format!("{before}{marked}{after}")).context(FILE)?;
    println!("{FILE}: {} cells are marked", marked.matches(MARK).count());
    Ok(())
}

/// Checks the table against the existing tests; the run that includes this check proves that they pass.
pub(crate) fn check() -> anyhow::Result<()> {
    let readme = fs::read_to_string(FILE).context(FILE)?;
    let (_, table, _) = parts(&readme)?;
    let tests = listed()?;
    let strangers = without_column(table, &tests);
    if !strangers.is_empty() {
        bail!("the table in {FILE} has no column for the agents of these tests: {}", strangers.join(", "));
    }
    let rows = unproved(table, &tests);
    if !rows.is_empty() {
        bail!("no agent has a test for these rows of {FILE}: {}", rows.join(", "));
    }
    if mark(table, &tests) != table {
        bail!("the table in {FILE} is not what the tests make; `cargo xtask matrix` writes it anew");
    }
    Ok(())
}

/// Returns the README before the table, the table, and the rest.
fn parts(readme: &str) -> anyhow::Result<(&str, &str, &str)> {
    let begin = readme.find(BEGIN).with_context(|| format!("{FILE} has no {BEGIN}"))? + BEGIN.len();
    let (before, rest) = readme.split_at(begin);
    let end = rest.find(END).with_context(|| format!("{FILE} has no {END}"))?;
    let (table, after) = rest.split_at(end);
    Ok((before, table, after))
}

/// Returns the table with a mark in each cell that one of these tests proves. A note at a mark stays.
fn mark(table: &str, tests: &BTreeSet<Test>) -> String {
    let agents = agents(table);
    let row = |line: &str| {
        let Some((feature, cells)) = feature_of(line) else { return format!("{line}\n") };
        let marked = cells.iter().zip(&agents).map(|(cell, agent)| {
            let note = cell.trim().trim_start_matches(MARK);
            if tests.contains(&proof(feature, agent)) { format!(" {MARK}{note} |") } else { "  |".to_owned() }
        });
        format!("| {feature} |{}\n", marked.collect::<String>())
    };
    table.lines().map(row).collect()
}

/// Returns the rows that no agent has a test for.
fn unproved<'a>(table: &'a str, tests: &BTreeSet<Test>) -> Vec<&'a str> {
    let agents = agents(table);
    let features = table.lines().filter_map(feature_of).map(|(feature, _)| feature);
    features.filter(|feature| !agents.iter().any(|agent| tests.contains(&proof(feature, agent)))).collect()
}

/// Returns the test binaries whose agent is not in the head of the table.
fn without_column<'t>(table: &str, tests: &'t BTreeSet<Test>) -> Vec<&'t str> {
    let known: Vec<_> = agents(table).into_iter().map(binary_of).collect();
    let mut strangers: Vec<_> = tests.iter().map(|test| test.binary.as_str()).collect();
    strangers.dedup();
    strangers.retain(|binary| !known.iter().any(|known| known == binary));
    strangers
}

/// Returns the names in the head of the table.
fn agents(table: &str) -> Vec<&str> {
    let head = table.lines().next().unwrap_or_default();
    cells_of(head).into_iter().skip(1).map(|cell| cell.trim().trim_matches('`')).collect()
}

/// Returns the feature of a line of the table, and the cells of its agents.
fn feature_of(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut cells = cells_of(line).into_iter();
    let feature = cells.next()?.trim();
    feature.starts_with(char::is_alphabetic).then(|| (feature, cells.collect()))
}

fn cells_of(line: &str) -> Vec<&str> {
    let inner = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    inner.map(|inner| inner.split('|').collect()).unwrap_or_default()
}

/// Returns the test that proves a feature of an agent.
fn proof(feature: &str, agent: &str) -> Test {
    let words = feature.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_").to_lowercase();
    Test { binary: binary_of(agent), name }
}

fn binary_of(agent: &str) -> String {
    format!("real_{}", agent.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "|  | `qwen` | `codex-acp` |\n|---|:-:|:-:|\n| Exit codes | ✓ |  |\n| Errors: rate limit |  | ✓<sup>1</sup> |\n\n<sup>1</sup> some of them  \n";

    fn tests(names: &[(&str, &str)]) -> BTreeSet<Test> {
        let test = |(binary, name): &(&str, &str)| Test { binary: (*binary).into(), name: (*name).into() };
        names.iter().map(test).collect()
    }

    #[test]
    fn a_cell_is_marked_by_a_test_of_that_agent_and_by_nothing_else() {
        let found = tests(&[
            ("real_codex_acp", "exit_codes"),
            ("real_codex_acp", "errors_rate_limit"),
            ("rest", "errors_rate_limit"),
            ("real_qwen", "somebody_elses_name"),
        ]);
        let marked = mark(TABLE, &found);
        assert!(marked.contains("| Exit codes |  | ✓ |\n"), "{marked}");
        assert!(marked.contains("| Errors: rate limit |  | ✓<sup>1</sup> |\n"), "{marked}");
        assert!(marked.ends_with("\n\n<sup>1</sup> some of them  \n"), "{marked}");
        assert_eq!(mark(&marked, &found), marked);
    }

    #[test]
    fn a_row_without_any_test_is_named() {
        let found = tests(&[("real_qwen", "exit_codes"), ("rest", "errors_rate_limit")]);
        assert_eq!(unproved(TABLE, &found), ["Errors: rate limit"]);
    }

    #[test]
    fn tests_of_an_agent_without_a_column_are_named() {
        let found =
            tests(&[("real_qwen", "exit_codes"), ("real_pi", "exit_codes"), ("real_pi", "some_more")]);
        assert_eq!(without_column(TABLE, &found), ["real_pi"]);
    }

    #[test]
    fn only_the_table_is_written_anew() {
        let readme = format!("Before\n{BEGIN}old\n{END}\nAfter\n");
        let (before, table, after) = parts(&readme).unwrap();
        assert_eq!(
            (before, table, after),
            (format!("Before\n{BEGIN}").as_str(), "old\n", format!("{END}\nAfter\n").as_str())
        );
        assert!(parts("nothing").is_err());
    }
}
