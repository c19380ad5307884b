//! `cargo xtask test`: every check that a commit must pass, the quick ones first, up to the first
//! that fails.
//!
//! A step is one line of progress. Its output is printed only when it fails, with the command that repeats
//! it.

mod edges;
mod layers;
mod literals;
mod promises;
mod sources;
mod words;

use std::fmt::Write as _;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::agents::pinned;
use crate::events;
use crate::matrix;
use crate::shell::Line;
use crate::tools::{DENY, NEXTEST};
use crate::ui;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these steps.
    #[arg(long, value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(names()))]
    only: Vec<String>,
    /// Show what each step writes while it runs.
    #[arg(long, short)]
    verbose: bool,
}

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    /// A check of our own.
    Own(fn() -> anyhow::Result<()>),
    /// A command; made late, because its tool may have to be installed first.
    Command(fn() -> anyhow::Result<Line>),
}

const STEPS: &[Step] = &[
    Step { name: "fmt", work: Work::Command(|| Ok(Line::new("cargo fmt --all --check"))) },
    Step { name: "sources", work: Work::Own(sources::check) },
    Step { name: "edges", work: Work::Own(edges::check) },
    Step { name: "layers", work: Work::Own(layers::check) },
    Step { name: "promises", work: Work::Own(promises::check) },
    Step {
        name: "clippy",
        work: Work::Command(|| Ok(Line::new("cargo clippy --workspace --all-targets -- -D warnings"))),
    },
    Step { name: "agents", work: Work::Command(agents) },
    Step { name: "programs", work: Work::Command(|| Ok(Line::new("cargo xtask programs"))) },
    Step { name: "ui", work: Work::Own(ui::check) },
    Step { name: "nextest", work: Work::Command(nextest) },
    Step { name: "matrix", work: Work::Own(matrix::check) },
    Step { name: "doctests", work: Work::Command(|| Ok(Line::new("cargo test --workspace --doc"))) },
    Step {
        name: "docs",
        work: Work::Command(|| {
            Ok(Line::new("cargo doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"))
        }),
    },
    // Not `advisories`: it fetches a database over the network and fails on news about unchanged code, which
    // is for a scheduled job and not for a commit.
    Step { name: "deny", work: Work::Command(|| DENY.line("check bans licenses sources")) },
    Step { name: "openapi", work: Work::Command(|| Ok(Line::new("cargo xtask openapi --check"))) },
    Step { name: "events", work: Work::Own(events::check) },
];

fn names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Installs the pinned agents that tests drive; for present ones only the version is checked.
fn agents() -> anyhow::Result<Line> {
    let mut files = vec![];
    for folder in ["crates/omniglot-testkit/src", "crates/omniglot/tests"] {
        sources::rust_files(Path::new(folder), &mut files)?;
    }
    let sources = files.iter().map(fs::read_to_string).collect::<Result<String, _>>()?;
    let driven = pinned().filter(|agent| drives(&sources, agent));
    Ok(driven.fold(Line::new("cargo xtask agents"), |line, agent| line.arg(agent)))
}

/// Whether these sources ask for a file of the agent, as in `program("codex", …)` or `installed("acpx/…")`.
fn drives(sources: &str, agent: &str) -> bool {
    let asks = |call: &str| {
        [format!("{call}(\"{agent}\","), format!("{call}(\"{agent}/")]
            .iter()
            .any(|call| sources.contains(call))
    };
    ["installed", "library", "program", "script"].into_iter().any(asks)
}

fn nextest() -> anyhow::Result<Line> {
    let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    NEXTEST.line(if ci { "run --workspace --profile ci" } else { "run --workspace --profile whole" })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let chosen = |step: &&Step| args.only.is_empty() || args.only.iter().any(|name| name == step.name);
    let steps: Vec<_> = STEPS.iter().filter(chosen).collect();
    let began = Instant::now();
    for (n, step) in steps.iter().enumerate() {
        print!("[{}/{}] {:<9} ", n + 1, steps.len(), step.name);
        std::io::stdout().flush()?;
        let start = Instant::now();
        match step.run(args.verbose) {
            Ok(note) => println!("ok    {:>9}  {note}", seconds(start.elapsed())),
            Err(failure) => {
                println!("FAILED {:>8}\n\n{}\n", seconds(start.elapsed()), telling(&failure.output));
                let passed = format!("{n} of {} steps passed", steps.len());
                bail!("step `{}` failed ({passed}); repeat it with\n    {}", step.name, failure.repeat);
            }
        }
    }
    println!("\nall {} steps passed in {}", steps.len(), seconds(began.elapsed()));
    Ok(())
}

struct Failure {
    output: String,
    repeat: String,
}

impl Step {
    /// Runs the step; returns a note about its result.
    fn run(&self, verbose: bool) -> Result<String, Failure> {
        let again = format!("cargo xtask test --only {}", self.name);
        let own = |error: anyhow::Error| Failure { output: format!("{error:#}"), repeat: again.clone() };
        match self.work {
            Work::Own(check) => check().map(|()| String::new()).map_err(own),
            Work::Command(line) => {
                let mut line = line().map_err(own)?;
                let repeat = line.typed();
                if std::io::stdout().is_terminal() {
                    line = line.env("CARGO_TERM_COLOR", "always");
                }
                if verbose {
                    println!("{repeat}");
                    return line.run().map(|()| String::new()).map_err(own);
                }
                let (success, output) = line.capture().map_err(own)?;
                if success { Ok(note(&output)) } else { Err(Failure { output, repeat }) }
            }
        }
    }
}

/// Returns a failed step's output without its progress: a log that is cut short still has the reason.
fn telling(output: &str) -> String {
    const PROGRESS: [&str; 6] =
        ["Compiling ", "Checking ", "Downloading ", "Downloaded ", "Documenting ", "PASS "];
    let progress = |line: &&str| PROGRESS.iter().any(|word| line.trim_start().starts_with(word));
    output.lines().filter(|line| !progress(line)).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns the count of a test run and the names of its flaky tests; nothing if the output has no summary.
fn note(output: &str) -> String {
    let output = uncoloured(output);
    let summary = output.lines().rfind(|line| line.trim_start().starts_with("Summary ["));
    let Some(count) = summary.map(after_the_time) else { return String::new() };
    let flaky: Vec<_> = output.lines().filter_map(flaky_test).collect();
    if flaky.is_empty() { count.to_owned() } else { format!("{count}; flaky: {}", flaky.join(", ")) }
}

/// Returns the name of the test that a line of nextest's summary calls flaky:
/// `FLAKY 2/2 [   0.004s] (16/34) omniglot::opencode_face tui::a_prompt_is_answered`.
fn flaky_test(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("FLAKY ")?;
    let counted = after_the_time(line);
    Some(counted.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(counted, |(_, name)| name))
}

/// Returns what stands behind the bracketed time in a line of nextest's.
fn after_the_time(line: &str) -> &str {
    line.split_once(']').map_or("", |(_, rest)| rest.trim())
}

/// Removes the escape sequences that colour a text.
fn uncoloured(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

fn seconds(time: Duration) -> String {
    let (whole, mut text) = (time.as_secs(), String::new());
    if whole >= 60 {
        let _ = write!(text, "{} min ", whole / 60);
    }
    let _ = write!(text, "{:.1} s", time.as_secs_f64() - (whole / 60 * 60) as f64);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_driven_by_tests_that_ask_for_its_files() {
        let sources = r#"script("claude-acp", WRAPPER); installed("acpx/cli.js"); Self::new("pi", "acp")"#;
        let driven = |agent| drives(sources, agent);
        assert!(driven("claude-acp") && driven("acpx"));
        assert!(!driven("claude") && !driven("pi"));
    }

    #[test]
    fn times_read_well() {
        assert_eq!(seconds(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(61)), "1 min 1.0 s");
    }

    #[test]
    fn a_failure_is_told_without_the_progress_before_it() {
        let output = "   Compiling libc v0.2\n    Checking serde v1.0\nerror: no space left on device\n";
        assert_eq!(telling(output), "error: no space left on device");
    }

    #[test]
    fn the_count_of_a_test_run_is_its_note() {
        let output = "...\n     Summary [   0.174s] 3 tests run: 3 passed, 0 skipped\n";
        assert_eq!(note(output), "3 tests run: 3 passed, 0 skipped");
        let one = "     Summary [   0.021s] 1 test run: 1 passed, 25 skipped\n";
        assert_eq!(note(one), "1 test run: 1 passed, 25 skipped");
        assert_eq!(note("Finished"), "");
    }

    #[test]
    fn flaky_tests_are_named_in_the_note() {
        let output = "  TRY 1 FAIL [   0.431s] (───) omniglot::opencode_face tui::a_prompt_is_answered
  TRY 2 PASS [   0.004s] (2/3) omniglot::opencode_face tui::a_prompt_is_answered
     Summary [   0.438s] 3 tests run: 3 passed (2 flaky), 0 skipped
   FLAKY 2/2 [   0.004s] (2/3) omniglot::opencode_face tui::a_prompt_is_answered
   FLAKY 2/2 [   0.005s] omniglot::acp_stdio acpx::it_prompts_once
";
        let named = "3 tests run: 3 passed (2 flaky), 0 skipped; flaky: \
            omniglot::opencode_face tui::a_prompt_is_answered, omniglot::acp_stdio acpx::it_prompts_once";
        assert_eq!(note(output), named);
    }

    #[test]
    fn colours_do_not_hide_a_flaky_test() {
        let output = "\x1b[32;1m     Summary\x1b[0m [   0.344s] \x1b[1m1\x1b[0m test run: \x1b[1m1\x1b[0m \
            \x1b[32;1mpassed\x1b[0m (\x1b[1m1\x1b[0m \x1b[33;1mflaky\x1b[0m)\n\
            \x1b[33;1m   FLAKY 2/2\x1b[0m [   0.013s] (1/1) \x1b[35;1mxtask\x1b[0m \x1b[34;1msometimes\x1b[0m\n";
        assert_eq!(note(output), "1 test run: 1 passed (1 flaky); flaky: xtask sometimes");
    }
}
