//! How Claude Code is started, as data.

use omniglot_schema::SystemPrompt;

use super::settings::{EFFORTS, wanted_mode};
use crate::contract::Open;
use crate::launch::{LaunchSpec, Start};

/// The program itself, without what a session adds.
pub(crate) const START: Start = Start {
    command: &["claude"],
    env: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_BUG_COMMAND", "1"),
        // Newer versions offer no tools for what is to do without it.
        ("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1"),
    ],
    sandbox_env: SANDBOX_ENV,
    login: "run `claude /login` in a terminal, or set ANTHROPIC_API_KEY",
    ..Start::NONE
};

pub(crate) const SANDBOX_ENV: &[(&str, &str)] = &[("IS_SANDBOX", "1")];

/// The whole command for a session: `base`, the protocol's switches, and the session's own.
pub(crate) fn launch(base: &LaunchSpec, open: &Open) -> LaunchSpec {
    let mut spec = base.clone();
    for (name, value) in START.env {
        spec.env.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    spec.args.extend(PROTOCOL.iter().map(|arg| (*arg).to_owned()));
    let mut add = |words: &[&str]| spec.args.extend(words.iter().map(|word| (*word).to_owned()));
    match (&open.resume, open.fork) {
        (Some(native), true) => {
            add(&["--resume", native, "--fork-session", "--session-id", &open.new_id]);
        }
        (Some(native), false) => add(&["--resume", native]),
        (None, _) => add(&["--session-id", &open.new_id]),
    }
    // A resumed session takes its model from the transcript, where a suffix is lost, so the model is named again.
    // `default` is named as well: without it the CLI takes what the transcript or the user's settings say.
    if let Some(model) = &open.requested.model {
        add(&["--model", model]);
    }
    // What the CLI would refuse is left out here: the adapter tells it better.
    if let Some(effort) = open.requested.variant.as_deref().filter(|effort| EFFORTS.contains(effort)) {
        add(&["--effort", effort]);
    }
    if let Ok(Some(mode)) = wanted_mode(&open.requested, None) {
        add(&["--permission-mode", mode]);
    }
    // Without it the mode that skips permissions cannot be chosen later. Root may not give it, but in a sandbox.
    if open.unprivileged || SANDBOX_ENV.iter().any(|(name, _)| base.env.contains_key(*name)) {
        add(&[MAY_BYPASS]);
    }
    // The CLI reads `.claude/skills` of a further directory, and may read the files there.
    if let Some(dir) = open.skills.as_ref().and_then(|skills| skills.dir.to_str()) {
        add(&["--add-dir", dir]);
    }
    if !open.mcp.is_empty() {
        add(&["--strict-mcp-config"]);
    }
    match &open.system_prompt {
        Some(SystemPrompt::Append(text)) => add(&["--append-system-prompt", text]),
        Some(SystemPrompt::Replace(text)) => add(&["--system-prompt", text]),
        None => {}
    }
    // In one word, because the flag takes every word up to the next flag.
    if let Some(tools) = open.allowed_tools.as_ref().filter(|tools| !tools.is_empty()) {
        add(&[&format!("--allowedTools={}", tools.join(","))]);
    }
    if let Some(most) = open.max_turns {
        add(&["--max-turns", &most.to_string()]);
    }
    spec
}

pub(crate) const MAY_BYPASS: &str = "--allow-dangerously-skip-permissions";

/// Without a prompt tool nothing is ever asked, and the tools that ask are not even offered.
const PROTOCOL: &[&str] = &[
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];
