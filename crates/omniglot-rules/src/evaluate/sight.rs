//! All that a call shows of itself: its command parsed, its directories, and every path that it may name.

use std::path::{Path, PathBuf};

use crate::path::Located;
use crate::programs::{self, Trust};
use crate::shell::{Script, Word, words_of_text};
use crate::tool_call::{Call, Machine};

/// The most words of a command that are looked at as paths; one with more is never allowed.
const MAX_WORDS: usize = 400;
/// A command may change its directory so often; each may hold for all that follows.
const MAX_DIRECTORIES: usize = 8;

pub(super) struct Sight {
    pub(super) script: Option<Script>,
    /// The words of the command however it is quoted, if parts of it are opaque or run other programs.
    pub(super) scanned: Option<[Vec<String>; 2]>,
    pub(super) paths: Vec<Located>,
    pub(super) writes: Vec<Located>,
    /// Paths that words of the command may stand for.
    pub(super) named: Vec<Located>,
    /// Folders in which a pattern of the command finds its files.
    pub(super) globbed: Vec<Located>,
}

impl Sight {
    pub(super) fn of(call: &Call<'_>, machine: &Machine<'_>) -> Self {
        let cwd = call.cwd.map_or_else(|| machine.directory.to_owned(), |cwd| machine.directory.join(cwd));
        let paths = call.paths.iter().map(|path| Located::find(path, &cwd, machine)).collect();
        let mut sight =
            Self { script: None, scanned: None, paths, writes: vec![], named: vec![], globbed: vec![] };
        if let Some(command) = call.command {
            sight.read(command, cwd, machine);
        }
        sight
    }

    fn read(&mut self, command: &str, cwd: PathBuf, machine: &Machine<'_>) {
        let inner = Script::of_login_shell(command);
        let command = inner.as_deref().unwrap_or(command);
        let mut script = Script::parse(command);
        let directories = directories(&mut script, cwd, machine);
        let runs_others = script.commands.iter().any(|words| runs_others(words));
        self.scanned = (script.opaque.is_some() || runs_others).then(|| words_of_text(command));
        if script.commands.iter().flatten().count() + script.reads.len() + script.writes.len() > MAX_WORDS {
            script.opaque.get_or_insert_with(|| format!("it has more than {MAX_WORDS} words"));
        }
        for directory in &directories {
            let find = |text: &str| Located::find(text, directory, machine);
            for word in script.commands.iter().flatten().chain(&script.reads).take(MAX_WORDS) {
                if let Word::Glob(text) = word {
                    self.globbed.push(find(&folder(text)));
                }
                self.named.extend(candidates(word.text()).map(find));
            }
            for words in self.scanned.iter().flatten() {
                self.named.extend(words.iter().take(MAX_WORDS).flat_map(|word| candidates(word)).map(find));
            }
            self.writes.extend(
                script
                    .writes
                    .iter()
                    .take(MAX_WORDS)
                    .filter(|word| !is_sink(word))
                    .map(|word| find(word.text())),
            );
        }
        self.script = Some(script);
    }

    /// Whether the call is about this path or something below it.
    pub(super) fn touches(&self, root: &Path) -> bool {
        self.all().any(|path| path.is_within(root))
    }

    /// Whether the call is about a folder that this path is in.
    pub(super) fn is_above(&self, root: &Path) -> bool {
        self.all().any(|path| path.is_above(root))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Located> {
        self.paths.iter().chain(&self.writes).chain(&self.named).chain(&self.globbed)
    }
}

/// Whether a command may run others, so that their names may be anywhere in it.
fn runs_others(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let arguments: Vec<&str> = arguments.iter().map(Word::text).collect();
    let dynamic = words.iter().any(|word| matches!(word, Word::Dynamic(_)));
    let shown = program.literal().is_none() || programs::trust(program.text()) != Trust::Prefix;
    shown || dynamic || programs::running_argument(program.text(), &arguments).is_some()
}

/// Returns every directory in which a command of the script may run. One that only the shell knows makes it opaque.
fn directories(script: &mut Script, cwd: PathBuf, machine: &Machine<'_>) -> Vec<PathBuf> {
    let mut directories = vec![cwd];
    let mut unknown = false;
    for words in &script.commands {
        let Some((name, arguments)) = words.split_first() else { continue };
        if name.text() != "cd" {
            continue;
        }
        match arguments {
            [Word::Literal(target)] if !target.starts_with('-') && directories.len() < MAX_DIRECTORIES => {
                for directory in directories.clone() {
                    let found = Located::find(target, &directory, machine);
                    unknown |= found.resolved.is_none();
                    directories.extend(found.all().map(Path::to_owned).collect::<Vec<_>>());
                }
                directories.sort();
                directories.dedup();
            }
            _ => unknown = true,
        }
    }
    if unknown || directories.len() > MAX_DIRECTORIES {
        script.opaque.get_or_insert_with(|| "only the shell knows its directory".to_owned());
        directories.truncate(MAX_DIRECTORIES);
    }
    directories
}

/// Returns what of a word may be a path: all of it, or the value of an option.
fn candidates(word: &str) -> impl Iterator<Item = &str> {
    let behind = |sign: char| word.split_once(sign).map(|(_, rest)| rest);
    let attached = word.strip_prefix('-').and_then(|option| {
        let mut letters = option.chars();
        letters.next();
        Some(letters.as_str()).filter(|_| !option.starts_with('-'))
    });
    [Some(word), behind('='), behind('@'), behind(':'), attached]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
}

/// Returns the folder of a pattern before its first sign.
fn folder(pattern: &str) -> String {
    let fixed = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    match fixed.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None => ".".to_owned(),
    }
}

/// Whether a redirection writes to nothing that lasts.
pub(super) fn is_sink(word: &Word) -> bool {
    matches!(word.literal(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr"))
}
