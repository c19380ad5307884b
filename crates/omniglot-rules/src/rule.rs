//! The second look at rules: what their types alone do not guarantee, and what their author may not have meant.

use omniglot_schema::{Decide, Rule};

use crate::programs::{self, Trust};
use crate::{host, path};

/// A rule that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{rule}`: {message}")]
pub struct RuleError {
    pub rule: String,
    pub message: String,
}

/// Checks rules; returns warnings about those that allow more than anybody should.
pub fn check(rules: &[Rule]) -> Result<Vec<String>, RuleError> {
    let mut warnings = vec![];
    for (at, rule) in rules.iter().enumerate() {
        let refuse = |message: String| RuleError { rule: rule.name.clone(), message };
        check_one(rule).map_err(refuse)?;
        if rules.iter().take(at).any(|other| other.name == rule.name) {
            return Err(refuse("has the name of another rule; decisions are told by name".to_owned()));
        }
        warnings.extend(warning(rule));
    }
    Ok(warnings)
}

fn check_one(rule: &Rule) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if rule.name.is_empty() || rule.name.len() > 64 || !rule.name.chars().all(is_name) {
        return Err("a name is 1 to 64 letters, digits, `-`, `_` or `.`".to_owned());
    }
    let texts = [&rule.agent, &rule.server, &rule.tool, &rule.label];
    if texts.into_iter().flatten().any(|text| text.is_empty() || text.contains(|c: char| c.is_control())) {
        return Err("a criterion is empty or has control characters; leave it out".to_owned());
    }
    if rule.tool.as_ref().is_some_and(|tool| tool.trim_end_matches('*').contains('*')) {
        return Err("`tool` may have one `*`, at its end".to_owned());
    }
    if let Some(command) = &rule.command {
        check_command(command, rule.decide)?;
    }
    if let Some(pattern) = &rule.path {
        path::check(pattern).map_err(|message| format!("`path` {message}"))?;
    }
    if let Some(pattern) = &rule.host {
        host::pattern(pattern).map_err(|message| format!("`host` {message}"))?;
    }
    if rule.command.is_some() && (rule.path.is_some() || rule.host.is_some()) {
        return Err("`command` goes with neither `path` nor `host`; write two rules".to_owned());
    }
    if rule.remember.is_some() && rule.decide != Decide::Ask {
        return Err("`remember` is for rules that ask".to_owned());
    }
    Ok(())
}

fn check_command(command: &[String], decide: Decide) -> Result<(), String> {
    let Some(program) = command.first() else {
        return Err(r#"`command` is empty; write its first words, such as ["git", "status"]"#.to_owned());
    };
    let odd = |c: char| c.is_control() || (!c.is_ascii() && c.is_whitespace());
    if command.iter().any(|word| word.is_empty() || word.contains(odd)) {
        return Err("a word of `command` is empty or has control characters".to_owned());
    }
    if program.contains([' ', '*', '?', '$', '`', ';', '|', '&', '~']) {
        return Err(format!(
            r#"`{program}` is no name of a program: `command` is a list of literal words, such as ["git", "status"]"#
        ));
    }
    if decide != Decide::Allow {
        return Ok(());
    }
    let words: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
    match programs::trust(program) {
        Trust::Never => Err(format!("`{program}` runs whatever follows it, so no rule can allow it")),
        Trust::Prefix => match programs::running_argument(program, &words) {
            Some(word) => {
                Err(format!("`{program}` may run or write something by `{word}`: no rule can allow it"))
            }
            None => Ok(()),
        },
        Trust::Whole => Ok(()),
    }
}

/// Returns a warning about a rule that allows everything, or every command.
fn warning(rule: &Rule) -> Option<String> {
    if rule.decide != Decide::Allow || rule.command.is_some() || rule.host.is_some() || rule.server.is_some()
    {
        return None;
    }
    let name = &rule.name;
    if let Some(pattern) = &rule.path {
        let wide = pattern.trim_matches(['/', '*', '.']).is_empty();
        return wide.then(|| format!("rule `{name}` allows every path"));
    }
    match (rule.kind, &rule.tool) {
        (None, None) => Some(format!("rule `{name}` allows every call")),
        (None, Some(tool)) if tool == "*" => Some(format!("rule `{name}` allows every call")),
        (Some(omniglot_schema::ToolKind::Execute), _) => Some(format!("rule `{name}` allows every command")),
        (None, Some(tool)) => Some(format!("rule `{name}` allows everything that the tool `{tool}` can do")),
        (Some(_), _) => None,
    }
}
