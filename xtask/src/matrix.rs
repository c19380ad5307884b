//! The README's table of features by agent. A cell is ✓ only when a test of the real agent proves it.
//!
//! The tables below list the features, and the tests that prove them. `tests_of_agents` finds the existing
//! tests and those that have passed.

mod tests_of_agents;

use std::collections::BTreeSet;
use std::fmt::Write as _;
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

/// An agent's name in the table, and the binary of its tests.
const AGENTS: &[(&str, &str)] = &[
    ("claude", "real_claude"),
    ("codex", "real_codex"),
    ("opencode", "real_opencode"),
    ("gemini", "real_gemini"),
    ("qwen", "real_qwen"),
    ("claude-acp", "real_claude_acp"),
    ("codex-acp", "real_codex_acp"),
];

/// A feature, and the tests any one of which proves it.
const FEATURES: &[(&str, &[&str])] = &[
    ("Text messages", &["text_is_streamed"]),
    // The model sends half a sentence and waits for the test, which has seen it.
    ("Streaming deltas", &["a_cancelled_turn_ends_and_the_next_prompt_works"]),
    ("Reasoning", &["thoughts_are_items_of_their_own"]),
    ("Reasoning that is not shown", &["a_thought_that_only_its_maker_can_read_is_private"]),
    ("Tool calls and results", &["a_shell_command_runs"]),
    ("Parallel tools", &["parallel_tools_all_get_their_results"]),
    ("Command execution", &["a_shell_command_runs"]),
    (
        "Exit codes",
        &[
            "a_shell_command_tells_its_exit_code",
            "a_command_that_fails_tells_its_exit_code_and_the_turn_goes_on",
            "the_exit_code_of_a_command_is_told",
        ],
    ),
    ("File changes as diffs", &["a_file_is_read_and_really_edited"]),
    ("MCP tools", &["tools_of_an_mcp_server_run"]),
    ("Images", &["an_image_reaches_the_model"]),
    ("File attachments", &["a_text_file_that_is_attached_reaches_the_model"]),
    ("Several turns", &["the_next_prompt_follows_the_first"]),
    ("Resume after a restart", &["the_agent_remembers_after_a_restart_of_the_daemon"]),
    (
        "Resume after a crash",
        &[
            "an_agent_that_crashes_in_mid_turn_is_resumed_by_the_next_prompt",
            "when_the_server_is_killed_every_turn_on_it_ends_and_the_next_message_resumes",
            "when_the_server_is_killed_in_mid_turn_the_next_message_resumes",
        ],
    ),
    (
        "Fork",
        &[
            "a_copy_of_a_session_remembers_and_leaves_the_original_alone",
            "a_fork_begins_with_what_the_first_session_was_told",
            "a_fork_knows_what_was_said_and_does_not_tell_it_again",
        ],
    ),
    ("Interrupt", &["a_cancelled_turn_ends_and_the_next_prompt_works"]),
    (
        "Interrupt ends a running command",
        &[
            "a_cancel_stops_a_running_command",
            "a_cancel_while_a_command_runs_ends_it_and_the_turn",
            "a_cancel_also_ends_the_command_that_runs",
        ],
    ),
    ("Permissions: once", &["a_permission_once_is_asked_again"]),
    ("Permissions: for the session", &["a_permission_for_ever_is_asked_once"]),
    ("Permissions: reject", &["a_rejected_tool_does_not_run", "a_rejected_tool_ends_the_turn"]),
    (
        "Permissions: reject with words",
        &[
            "a_rejection_with_a_message_tells_the_model_why",
            "a_rejection_with_a_word_goes_on_and_the_model_hears_it",
        ],
    ),
    (
        "Questions",
        &[
            "questions_are_answered_with_one_and_with_several_choices",
            "an_answer_to_a_question_reaches_the_model",
        ],
    ),
    ("Plan to approve", &["an_approved_plan_ends_plan_mode"]),
    (
        "Todos",
        &[
            "todos_are_state_of_the_session",
            "a_plan_becomes_the_todos_of_the_session",
            "a_list_of_things_to_do_is_state_of_the_session",
        ],
    ),
    (
        "Subagents",
        &[
            "a_subagent_works_below_the_call_that_spawned_it",
            "a_child_agent_speaks_below_the_call_that_started_it",
            "a_subagent_works_below_the_call_that_began_it",
        ],
    ),
    (
        "Turns that the agent begins",
        &[
            "the_end_of_a_background_command_begins_a_turn_of_the_agent",
            "a_subagent_in_the_background_reports_in_a_turn_of_the_agent",
        ],
    ),
    ("Steering a running turn", &["a_message_that_steers_becomes_part_of_the_running_turn"]),
    (
        "Compaction",
        &[
            "a_compaction_leaves_a_summary_in_the_context",
            "a_conversation_is_compacted_and_goes_on",
            "a_conversation_is_compacted_when_somebody_asks",
        ],
    ),
    ("Model switch", &["another_model_is_asked_from_then_on"]),
    ("Mode switch", &["another_mode_holds_for_the_next_prompt"]),
    (
        "Variants (effort)",
        &[
            "another_effort_is_asked_from_then_on",
            "the_effort_that_a_session_asks_for_is_the_effort_of_its_model",
            "an_effort_reaches_the_model_with_every_prompt",
        ],
    ),
    ("Errors: credentials", &["a_key_that_is_refused_is_a_matter_of_auth"]),
    ("Errors: rate limit", &["a_throttled_request_is_a_rate_limit"]),
    (
        "Errors: context overflow",
        &[
            "a_prompt_that_is_too_long_is_an_overflow",
            "a_context_that_is_full_is_compacted_and_the_turn_goes_on",
        ],
    ),
    (
        "Errors: provider",
        &[
            "a_failing_server_is_an_api_error",
            "an_overloaded_server_is_an_api_error",
            "a_refused_request_is_an_api_error",
        ],
    ),
    (
        "Errors: broken stream",
        &["a_broken_stream_ends_the_turn_with_an_error", "a_stream_that_breaks_is_begun_again"],
    ),
];

/// The condition of a mark: a feature, an agent, and the condition under which it has the feature.
const CONDITIONS: &[(&str, &str, &str)] = &[
    ("Reasoning that is not shown", "opencode", "with providers that have it, such as Anthropic"),
    ("Plan to approve", "opencode", "with `OPENCODE_EXPERIMENTAL_PLAN_MODE=1` in its environment"),
    (
        "Turns that the agent begins",
        "opencode",
        "with `OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS=1` in its environment",
    ),
];

const FILE: &str = "README.md";
const BEGIN: &str = "<!-- matrix: written by `cargo xtask matrix` -->\n";
const END: &str = "<!-- /matrix -->";

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.check {
        return check();
    }
    let tests = if args.listed { listed()? } else { passed()? };
    let readme = fs::read_to_string(FILE).context(FILE)?;
    let (before, _, after) = parts(&readme)?;
    fs::write(FILE, format!("{before}{}{after}", table(&tests))).context(FILE)?;
    println!("{FILE}: {} cells, made by tests of {} agents", cells(&tests).len(), AGENTS.len());
    Ok(())
}

/// Checks the table against the existing tests; the run that includes this check proves that they pass.
pub(crate) fn check() -> anyhow::Result<()> {
    let readme = fs::read_to_string(FILE).context(FILE)?;
    let (_, table, _) = parts(&readme)?;
    let made = cells(&listed()?);
    let unearned: Vec<String> = claims(table)
        .into_iter()
        .filter(|(feature, agent)| !made.contains(&(feature.as_str(), agent.as_str())))
        .map(|(feature, agent)| format!("{FILE} says that {agent} has {feature:?}; no test makes it so"))
        .collect();
    if !unearned.is_empty() {
        bail!("{}\n`cargo xtask matrix` writes the table anew", unearned.join("\n"));
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

/// Returns the features that these tests prove, with their agents.
fn cells(tests: &BTreeSet<Test>) -> BTreeSet<(&'static str, &'static str)> {
    let mut cells = BTreeSet::new();
    for (agent, binary) in AGENTS {
        let proves =
            |name: &&str| tests.contains(&Test { binary: (*binary).to_owned(), name: (*name).to_owned() });
        let proven = FEATURES.iter().filter(|(_, names)| names.iter().any(&proves));
        cells.extend(proven.map(|(feature, _)| (*feature, *agent)));
    }
    cells
}

fn table(tests: &BTreeSet<Test>) -> String {
    let cells = cells(tests);
    let mut table = String::from("|  |");
    for (agent, _) in AGENTS {
        let _ = write!(table, " `{agent}` |");
    }
    let _ = writeln!(table, "\n|---|{}", ":-:|".repeat(AGENTS.len()));
    for (feature, _) in FEATURES {
        let _ = write!(table, "| {feature} |");
        for (agent, _) in AGENTS {
            let mark = if cells.contains(&(*feature, *agent)) { "✓" } else { "" };
            let note = condition(feature, agent).filter(|_| !mark.is_empty());
            let note = note.map(|number| format!("<sup>{number}</sup>")).unwrap_or_default();
            let _ = write!(table, " {mark}{note} |");
        }
        table.push('\n');
    }
    for (number, (feature, agent, condition)) in CONDITIONS.iter().enumerate() {
        if cells.contains(&(*feature, *agent)) {
            let _ = write!(table, "\n<sup>{}</sup> {condition}  ", number + 1);
        }
    }
    if !CONDITIONS.is_empty() {
        table.push('\n');
    }
    table
}

/// Returns the number of the condition under which an agent has a feature.
fn condition(feature: &str, agent: &str) -> Option<usize> {
    let at = CONDITIONS.iter().position(|(of, whose, _)| *of == feature && *whose == agent);
    at.map(|at| at + 1)
}

/// Returns the marked cells of a table, also of one written by hand.
fn claims(table: &str) -> Vec<(String, String)> {
    let row = |line: &str| -> Vec<String> {
        line.trim()
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    let mut lines = table.lines().filter(|line| line.trim_start().starts_with('|')).map(row);
    let agents = lines.next().unwrap_or_default();
    let mut claims = Vec::new();
    for cells in lines {
        let Some((feature, marks)) = cells.split_first() else { continue };
        let marked = marks.iter().zip(agents.iter().skip(1)).filter(|(mark, _)| mark.contains('✓'));
        claims.extend(marked.map(|(_, agent)| (feature.clone(), agent.clone())));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(binary: &str, name: &str) -> Test {
        Test { binary: binary.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_cell_is_marked_by_a_test_of_that_agent_and_by_nothing_else() {
        let tests = BTreeSet::from([
            test("real_qwen", "an_image_reaches_the_model"),
            test("rest", "text_is_streamed"),
            test("real_gemini", "somebody_elses_name"),
        ]);
        assert_eq!(cells(&tests), BTreeSet::from([("Images", "qwen")]));
        assert_eq!(claims(&table(&tests)), [("Images".to_owned(), "qwen".to_owned())]);
    }

    #[test]
    fn a_mark_that_a_person_added_is_a_claim_too() {
        let table = "|  | `a` | `b` |\n|---|:-:|:-:|\n| Tea |  | ✓ |\n";
        assert_eq!(claims(table), [("Tea".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn no_feature_stands_there_twice() {
        let features: BTreeSet<_> = FEATURES.iter().map(|(feature, _)| feature).collect();
        assert_eq!(features.len(), FEATURES.len());
    }

    #[test]
    fn every_condition_is_one_of_a_feature_and_an_agent() {
        let features: BTreeSet<_> = FEATURES.iter().map(|(feature, _)| *feature).collect();
        let agents: BTreeSet<_> = AGENTS.iter().map(|(agent, _)| *agent).collect();
        assert!(
            CONDITIONS.iter().all(|(feature, agent, _)| features.contains(feature) && agents.contains(agent))
        );
        let test = test("real_opencode", "an_approved_plan_ends_plan_mode");
        let table = table(&BTreeSet::from([test]));
        assert!(
            table.contains("✓<sup>2</sup>") && table.contains("\n<sup>2</sup> with `OPENCODE"),
            "{table}"
        );
        assert_eq!(claims(&table), [("Plan to approve".to_owned(), "opencode".to_owned())]);
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
