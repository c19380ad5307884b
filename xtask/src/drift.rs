//! `cargo xtask drift`: the tests of real agents with the pinned and with the newest published version of each.
//!
//! A newest version that does not install or start is a row of the table, and the others go on.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context as _;

use crate::agents::newest::{Tested, tested};
use crate::matrix::tests_of_agents::{cases, report_of};
use crate::tools::NEXTEST;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these agents; all that have tests by default.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
}

/// The variable by which the testkit learns whose newest version it is to start.
const TRIED: &str = "OMNIGLOT_TEST_NEWEST";
const PROFILE: &str = "drift";

/// The tests of one version: whether each has passed, or why there are none.
type Outcome = Result<BTreeMap<String, bool>, String>;

struct Row {
    agent: &'static str,
    pinned: &'static str,
    newest: String,
    /// `None` when the newest version is the pinned one.
    outcomes: Option<(Outcome, Outcome)>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let agents = tested(&args.agents)?;
    let mut rows = vec![];
    for (n, agent) in agents.iter().enumerate() {
        println!("[{}/{}] {}", n + 1, agents.len(), agent.name());
        rows.push(compare(*agent)?);
    }
    println!("\n{}", table(&rows));
    Ok(())
}

fn compare(agent: Tested) -> anyhow::Result<Row> {
    let (package, pinned) = agent.pinned()?;
    let row = |newest: String, outcomes| Row { agent: agent.name(), pinned, newest, outcomes };
    let newest = match agent.newest() {
        Ok(newest) => newest,
        Err(error) => {
            let reason = reason(&error);
            return Ok(row("unknown".to_owned(), Some((Err("not run".to_owned()), Err(reason)))));
        }
    };
    if newest == pinned {
        println!("{package} {pinned} is the newest version");
        return Ok(row(newest, None));
    }
    println!("installing {package} {newest}");
    let installed = agent.install_newest(&newest);
    println!("testing {package} {pinned}");
    let before = agent.install_pinned().and_then(|()| test(agent, ""));
    let after = installed.and_then(|()| {
        println!("testing {package} {newest}");
        test(agent, agent.name())
    });
    let told = |outcome: anyhow::Result<_>| outcome.map_err(|error| reason(&error));
    Ok(row(newest, Some((told(before), told(after)))))
}

/// Runs the tests of an agent; with the newest version of the one that is tried.
fn test(agent: Tested, tried: &str) -> anyhow::Result<BTreeMap<String, bool>> {
    let report = report_of(PROFILE);
    if report.exists() {
        fs::remove_file(&report).with_context(|| report.display().to_string())?;
    }
    // A module of this name has the tests of a version of its own.
    let tests = format!("--test {} -E not(test(/^version_/))", agent.binary());
    let line = NEXTEST.line(&format!("run -p omniglot --profile {PROFILE} {tests}"))?.env(TRIED, tried);
    let run = line.run();
    match fs::read_to_string(&report) {
        Ok(xml) => Ok(cases(&xml).into_iter().map(|case| (case.path.to_owned(), case.passed)).collect()),
        // Without a report not even the build succeeded.
        Err(_) => run.and_then(|()| anyhow::bail!("the run left no report")),
    }
}

/// Returns an error as one short line.
fn reason(error: &anyhow::Error) -> String {
    let words = format!("{error:#}");
    let line: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(160).collect()
}

fn table(rows: &[Row]) -> String {
    let head = ["agent", "pinned", "passed", "newest", "passed", "differ"].map(str::to_owned);
    let lines: Vec<_> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let padded = |line: &[String; 6]| {
        let cells = line.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", width(column)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(padded).collect()
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let (pinned, newest, differ) = match &self.outcomes {
            None => (String::new(), String::new(), "the pinned version is the newest".to_owned()),
            Some((pinned, newest)) => (passed(pinned), passed(newest), differing(pinned, newest)),
        };
        [self.agent.to_owned(), self.pinned.to_owned(), pinned, self.newest.clone(), newest, differ]
    }
}

fn passed(outcome: &Outcome) -> String {
    match outcome {
        Ok(tests) => format!("{} of {}", tests.values().filter(|passed| **passed).count(), tests.len()),
        Err(_) => "none".to_owned(),
    }
}

/// Returns the tests that only one of the versions passes, or why there is nothing to compare.
fn differing(pinned: &Outcome, newest: &Outcome) -> String {
    match (pinned, newest) {
        (Ok(pinned), Ok(newest)) => {
            let differs = |(test, passed): &(&String, &bool)| newest.get(*test) != Some(*passed);
            let told = |(test, passed): (&String, &bool)| {
                format!("{test} {}", if *passed { "fails now" } else { "passes now" })
            };
            let tests: Vec<_> = pinned.iter().filter(differs).map(told).collect();
            if tests.is_empty() { "nothing".to_owned() } else { tests.join(", ") }
        }
        (_, Err(reason)) => format!("newest: {reason}"),
        (Err(reason), _) => format!("pinned: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(list: &[(&str, bool)]) -> Outcome {
        Ok(list.iter().map(|(name, passed)| ((*name).to_owned(), *passed)).collect())
    }

    #[test]
    fn the_table_names_what_differs_and_what_could_not_be_tried() {
        let row =
            |agent, newest: &str, outcomes| Row { agent, pinned: "1.0", newest: newest.into(), outcomes };
        let both = (
            tests(&[("a", true), ("b", false), ("c", true)]),
            tests(&[("a", false), ("b", true), ("c", true)]),
        );
        let broken = (tests(&[("a", true)]), Err("it does not start".to_owned()));
        let alike = (tests(&[("a", false)]), tests(&[("a", false)]));
        let rows = [
            row("pi", "1.1", Some(both)),
            row("codex", "1.1", Some(alike)),
            row("qwen", "1.0", None),
            row("amp", "2", Some(broken)),
        ];
        assert_eq!(
            table(&rows),
            "agent  pinned  passed  newest  passed  differ\n\
             pi     1.0     2 of 3  1.1     2 of 3  a fails now, b passes now\n\
             codex  1.0     0 of 1  1.1     0 of 1  nothing\n\
             qwen   1.0             1.0             the pinned version is the newest\n\
             amp    1.0     1 of 1  2       none    newest: it does not start\n"
        );
    }

    #[test]
    fn an_agent_without_tests_is_refused_with_the_known_ones() {
        let error = tested(&["opera".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("no tested agent opera"), "{error}");
    }
}
