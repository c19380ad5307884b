//! Whether a rule that denies or asks may be meant: a doubt counts as yes.

use omniglot_schema::{Rule, ToolKind};

use super::sight::Sight;
use crate::path::BoundGlob;
use crate::shell::Word;
use crate::tool_call::{Call, Machine};
use crate::{argv, host};

pub(super) fn fits(rule: &Rule, call: &Call<'_>, sight: &Sight, machine: &Machine<'_>) -> bool {
    let same = |wanted: &Option<String>, given: Option<&str>| {
        wanted.as_ref().is_none_or(|wanted| given.is_some_and(|given| given.eq_ignore_ascii_case(wanted)))
    };
    same(&rule.agent, Some(call.agent))
        && same(&rule.server, call.server)
        && rule.tool.as_ref().is_none_or(|tool| fits_tool(tool, call.tool, true))
        && rule.label.as_ref().is_none_or(|label| super::allow::has_label(label, call))
        && rule.kind.is_none_or(|kind| fits_kind(kind, rule, call, sight))
        && rule.command.as_ref().is_none_or(|command| fits_command(command, sight))
        && rule.path.as_ref().is_none_or(|path| fits_path(path, sight, machine))
        && rule.host.as_ref().is_none_or(|host| fits_host(host, call))
}

/// A command may read, write, delete or move every file that it names.
fn fits_kind(kind: ToolKind, rule: &Rule, call: &Call<'_>, sight: &Sight) -> bool {
    let of_files = matches!(
        kind,
        ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Search
    );
    let by_command = call.command.is_some()
        && (of_files && rule.path.is_some()
            || kind == ToolKind::Edit && !sight.writes.is_empty()
            || kind == ToolKind::Fetch && rule.host.is_some());
    call.may_be(kind) || by_command
}

fn fits_command(command: &[String], sight: &Sight) -> bool {
    let begins = |words: &Vec<Word>| {
        let words: Vec<&str> = words.iter().map(Word::text).collect();
        argv::begins(command, &words)
    };
    let occurs = |words: &Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        argv::occurs(command, &words)
    };
    sight.script.as_ref().is_some_and(|script| script.commands.iter().any(begins))
        || sight.scanned.iter().flatten().any(occurs)
}

fn fits_path(pattern: &str, sight: &Sight, machine: &Machine<'_>) -> bool {
    let glob = BoundGlob::bind(pattern, machine, false);
    sight.all().any(|path| glob.fits_any(path))
}

fn fits_host(pattern: &str, call: &Call<'_>) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    [call.url, call.command].into_iter().flatten().any(|text| host::may_name(&pattern, text))
}

/// Whether the name of a tool fits; a `*` at the end of the rule's stands for any ending.
pub(super) fn fits_tool(wanted: &str, given: Option<&str>, any_case: bool) -> bool {
    let Some(given) = given else { return false };
    let (wanted, given) = match any_case {
        true => (wanted.to_lowercase(), given.to_lowercase()),
        false => (wanted.to_owned(), given.to_owned()),
    };
    match wanted.strip_suffix('*') {
        Some(beginning) => given.starts_with(beginning),
        None => given == wanted,
    }
}
