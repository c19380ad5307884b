//! Whether rules allow a call: each of its parts by itself, to the last word.

use omniglot_schema::{Decide, Rule, ToolKind};

use super::generous::fits_tool;
use super::sight::{Sight, is_sink};
use crate::path::{BoundGlob, Located};
use crate::policy::{Layer, Policy};
use crate::shell::Word;
use crate::tool_call::{Call, Machine};
use crate::{argv, host};

/// One part of a call; a rule must allow each.
enum Part<'a> {
    /// A simple command.
    Command(&'a [Word]),
    /// A file that the call is about, with the kind of access.
    Path(&'a Located, Option<ToolKind>),
    Url(&'a str),
    /// The call, which shows nothing else of itself.
    Whole,
}

type Named = (Layer, String);

impl Policy {
    /// Returns the rule that allows the call, the first one if several do together; else the reason why not.
    pub(super) fn allowing(
        &self,
        call: &Call<'_>,
        sight: &Sight,
        machine: &Machine<'_>,
    ) -> Result<Named, String> {
        let rules: Vec<&(Layer, Rule)> = self
            .rules
            .iter()
            .filter(|(_, rule)| rule.decide == Decide::Allow && is_about(rule, call))
            .collect();
        self.unsure(sight, machine)?;
        if let Some((layer, rule)) = rules.iter().find(|(_, rule)| allows_all(rule, call)) {
            return Ok((*layer, rule.name.clone()));
        }
        let mut first = None;
        for part in parts(call, sight)? {
            let named = allowing_part(&rules, &part, call, machine)?;
            first.get_or_insert(named);
        }
        first.ok_or_else(|| "no rule fits".to_owned())
    }

    /// Refuses a call about folders that hold something which is denied, asked about or the daemon's own.
    fn unsure(&self, sight: &Sight, machine: &Machine<'_>) -> Result<(), String> {
        if let Some(path) = self.floor.0.iter().find(|path| sight.is_above(path)) {
            return Err(format!("it is about a folder that holds {}", path.display()));
        }
        let guarded = |(_, rule): &&(Layer, Rule)| rule.decide != Decide::Allow;
        for (_, rule) in self.rules.iter().filter(guarded) {
            let Some(pattern) = &rule.path else { continue };
            let roots = BoundGlob::bind(pattern, machine, false).roots;
            let name = &rule.name;
            if !sight.globbed.is_empty() {
                return Err(format!("a pattern for files may stand for those of rule `{name}`"));
            }
            if roots.iter().any(|root| sight.is_above(root)) {
                return Err(format!("it is about a folder that holds files of rule `{name}`"));
            }
        }
        Ok(())
    }
}

/// Whether the criteria that are not about a part fit, each exactly.
fn is_about(rule: &Rule, call: &Call<'_>) -> bool {
    let same = |wanted: &Option<String>, given: Option<&str>| {
        wanted.as_ref().is_none_or(|wanted| given == Some(wanted))
    };
    same(&rule.agent, Some(call.agent))
        && same(&rule.server, call.server)
        && rule.tool.as_ref().is_none_or(|tool| fits_tool(tool, call.tool, false))
        && rule.label.as_ref().is_none_or(|label| has_label(label, call))
}

/// Whether a rule has no criterion about parts and is of the call's kind.
fn allows_all(rule: &Rule, call: &Call<'_>) -> bool {
    let about_parts = rule.command.is_some() || rule.path.is_some() || rule.host.is_some();
    !about_parts && rule.kind.is_none_or(|kind| call.kind == Some(kind) && is_whole_kind(kind, call))
}

/// A command is allowed by its own kind alone, whatever an agent calls it.
fn is_whole_kind(kind: ToolKind, call: &Call<'_>) -> bool {
    call.command.is_none() || kind == ToolKind::Execute
}

fn parts<'a>(call: &Call<'a>, sight: &'a Sight) -> Result<Vec<Part<'a>>, String> {
    let mut parts: Vec<Part<'a>> = vec![];
    if let Some(script) = &sight.script {
        if let Some(reason) = &script.opaque {
            return Err(reason.clone());
        }
        let unsure = |word: &&Word| word.literal().is_none();
        if let Some(word) = script.writes.iter().chain(&script.reads).find(unsure) {
            return Err(format!("only the shell knows which file `{}` is", word.text()));
        }
        let device = |word: &&Word| word.text().starts_with("/dev/") && !is_sink(word);
        if let Some(word) = script.writes.iter().chain(&script.reads).find(device) {
            return Err(format!("it redirects to or from {}", word.text()));
        }
        parts.extend(script.commands.iter().map(|words| Part::Command(words)));
        parts.extend(sight.writes.iter().map(|path| Part::Path(path, Some(ToolKind::Edit))));
    }
    parts.extend(sight.paths.iter().map(|path| Part::Path(path, call.kind)));
    parts.extend(call.url.map(Part::Url));
    if parts.is_empty() {
        parts.push(Part::Whole);
    }
    Ok(parts)
}

fn allowing_part(
    rules: &[&(Layer, Rule)],
    part: &Part<'_>,
    call: &Call<'_>,
    machine: &Machine<'_>,
) -> Result<Named, String> {
    let mut reason = None;
    for (layer, rule) in rules {
        match allows(rule, part, call, machine) {
            Ok(true) => return Ok((*layer, rule.name.clone())),
            Ok(false) => {}
            Err(why) => reason = Some(why),
        }
    }
    Err(reason.unwrap_or_else(|| format!("no rule allows {}", part.shown())))
}

fn allows(rule: &Rule, part: &Part<'_>, call: &Call<'_>, machine: &Machine<'_>) -> Result<bool, String> {
    let of_kind = |kind: Option<ToolKind>| rule.kind.is_none_or(|wanted| kind == Some(wanted));
    match part {
        Part::Command(words) => match &rule.command {
            // An agent may ask for more than to run a command; its call is of another kind then.
            Some(command) if call.kind == Some(ToolKind::Execute) && of_kind(call.kind) => {
                argv::allows(command, words)
            }
            _ => Ok(false),
        },
        Part::Path(path, kind) => match (&rule.path, rule.command.is_some() || rule.host.is_some()) {
            (_, true) => Ok(false),
            (Some(pattern), false) => {
                let glob = BoundGlob::bind(pattern, machine, true);
                Ok(of_kind(*kind) && path.resolved.as_deref().is_some_and(|path| glob.fits(path)))
            }
            // A rule of this kind of access alone, such as all edits.
            (None, false) => Ok(rule.kind.is_some() && of_kind(*kind) && path.resolved.is_some()),
        },
        Part::Url(url) => match &rule.host {
            Some(pattern) if rule.path.is_none() && of_kind(call.kind) => {
                let pattern = pattern.to_ascii_lowercase();
                Ok(host::of(url).is_some_and(|name| host::fits(&pattern, &name)))
            }
            _ => Ok(false),
        },
        // Rules without criteria about parts were asked before.
        Part::Whole => Ok(false),
    }
}

impl Part<'_> {
    fn shown(&self) -> String {
        match self {
            Self::Command(words) => {
                let words: Vec<&str> = words.iter().map(Word::text).collect();
                format!("the command `{}`", words.join(" "))
            }
            Self::Path(path, Some(ToolKind::Edit)) => format!("the change of {}", path.written.display()),
            Self::Path(path, _) => format!("the path {}", path.written.display()),
            Self::Url(url) => format!("the address {url}"),
            Self::Whole => "it".to_owned(),
        }
    }
}

/// Whether the session has the label, or any value of its key.
pub(super) fn has_label(label: &str, call: &Call<'_>) -> bool {
    let Some(labels) = call.labels else { return false };
    match label.split_once('=') {
        Some((key, value)) => labels.get(key).is_some_and(|given| given == value),
        None => labels.contains_key(label),
    }
}
