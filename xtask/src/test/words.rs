//! The words of the code: identifiers and file names that were retired stay retired, and doc comments that begin
//! with "What", "Whoever" or "Whose" instead of a subject and its verb become fewer.

use std::path::Path;

/// Words that a newcomer could not guess, each with the one to use: no part of an identifier may be one of them.
const RETIRED: &[(&str, &str)] = &[
    ("vessel", "process handle"),
    ("forsake", "abandon"),
    ("forsaken", "abandoned"),
    ("occupy", "set busy"),
    ("haunted", "orphaned"),
    ("hearers", "recipients"),
    ("door", "lock, link or access"),
    ("doors", "locks, links or access"),
    ("heir", "new agent"),
    ("conceive", "open"),
    ("newborn", "pending session"),
    ("loan", "host request"),
    ("loans", "host requests"),
    ("lender", "client host"),
    ("lenders", "client hosts"),
    ("lent", "of the client's host"),
    ("errand", "side request"),
    ("errands", "side requests"),
    ("pile", "pending"),
    ("pulse", "activity"),
    ("pursue", "drive"),
    ("heed", "apply"),
    ("wish", "request"),
    ("wishes", "requests"),
    ("foresee", "preview"),
    ("foreseen", "preview"),
    ("burial", "kill timeout"),
    ("speechless", "half closed"),
    ("patience", "timeout"),
    ("shelf", "cache"),
    ("greeting", "initial state or hello"),
    ("stage", "fixture"),
    ("ledger", "pending"),
    ("leftover", "orphan or pending delete"),
    ("leftovers", "orphans or pending deletes"),
];

/// Whole identifiers that were retired, where their parts are good words elsewhere.
const RETIRED_WHOLE: &[&str] = &[
    "Seat",
    "deal_out",
    "Exchanged",
    "write_down",
    "bring_in",
    "bring_forth",
    "Fate",
    "turn_of_the_loop",
    "Heard",
    "FromAgent",
    "NotOpened",
    "so_far",
    "SoFar",
    "bell",
    "Bell",
    "Asked",
    "Facts",
    "News",
    "UNHEARD",
    "MOST_OWED",
    "Lives",
    "Bench",
    "Letter",
    "Poster",
];

/// Names that no type may have; a variant or a field may.
const RETIRED_TYPES: &[&str] = &["Sign", "Ask", "Why", "Place"];

/// File names, without their extension, that were retired in one folder and are good names in others.
const RETIRED_IN: &[(&str, &str)] = &[
    ("acp_command", "post"),
    ("session", "rest"),
    ("faces/opencode", "live"),
    ("faces/opencode", "backlog"),
    ("faces/opencode", "words"),
];

/// File names, without their extension, that were retired with them.
const RETIRED_FILES: &[&str] = &[
    "vessel",
    "exchange",
    "doors",
    "lending",
    "lent",
    "leftovers",
    "news",
    "opening",
    "wishes",
    "asks",
    "shelf",
    "lives",
    "place",
    "greeting",
    "offer",
    "book",
    "stage",
    "judge",
    "drive",
    "door",
    "ledger",
    "errands",
    "paint",
    "call",
    "variables",
];

/// How many doc comments may still begin without a subject. It only falls: lower it when there are fewer.
const BUDGET: usize = 0;

pub(super) struct Words {
    headless: usize,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { headless: 0 }
    }

    pub(super) fn faults(&mut self, file: &Path, text: &str) -> Vec<String> {
        // This file is the list.
        if file.ends_with("xtask/src/test/words.rs") {
            return vec![];
        }
        self.headless += text.lines().filter(|line| is_headless(line)).count();
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let names = file.iter().map(|part| part.to_string_lossy().into_owned()).chain([name]);
        let file_name = names
            .filter(|name| RETIRED_FILES.contains(&&**name))
            .map(|name| format!("the file or folder name `{name}` is retired"));
        let file_name = file_name.chain(retired_here(file));
        let words =
            text.lines().enumerate().filter(|(_, line)| !is_comment(line)).flat_map(|(number, line)| {
                let faults = identifiers(line).filter_map(retired).chain(retired_type(line));
                faults.map(move |fault| format!("line {}: {fault}", number + 1))
            });
        file_name.chain(words).collect()
    }

    /// Returns the complaint about the budget, once all files were read.
    pub(super) fn over_budget(&self) -> Option<String> {
        let found = self.headless;
        match found.cmp(&BUDGET) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(format!(
                "{found} doc comments begin with What, Whoever or Whose, {BUDGET} may: begin with a subject and its verb"
            )),
            std::cmp::Ordering::Less => Some(format!(
                "only {found} doc comments begin with What, Whoever or Whose: lower BUDGET in xtask/src/test/words.rs from {BUDGET}"
            )),
        }
    }
}

/// Returns the complaint about an identifier that was retired.
fn retired(identifier: &str) -> Option<String> {
    if RETIRED_WHOLE.contains(&identifier) {
        return Some(format!("the identifier `{identifier}` is retired"));
    }
    let parts = parts(identifier);
    let (word, instead) = RETIRED.iter().find(|(word, _)| parts.split('_').any(|part| part == *word))?;
    Some(format!("`{word}` in `{identifier}` is retired: say {instead}"))
}

/// Returns the complaint about a type that a line declares by a retired name.
fn retired_type(line: &str) -> Option<String> {
    let declares = |word: &&str| ["struct", "enum", "trait", "type"].contains(word);
    let name = identifiers(line).skip_while(|word| !declares(word)).nth(1)?;
    RETIRED_TYPES.contains(&name).then(|| format!("`{name}` is retired as the name of a type"))
}

/// Returns the complaint about a file name that was retired in its folder.
fn retired_here(file: &Path) -> Option<String> {
    let (folder, name) = (format!("/{}/", file.parent()?.display()), file.file_stem()?.to_str()?);
    let is_retired =
        |(within, retired): &&(&str, &str)| *retired == name && folder.contains(&format!("/{within}/"));
    RETIRED_IN
        .iter()
        .find(is_retired)
        .map(|(within, name)| format!("the file name `{name}` is retired in `{within}`"))
}

/// Returns the parts of a name in any case, in lower case and separated by underscores.
fn parts(identifier: &str) -> String {
    let mut parts = String::new();
    let mut before = ' ';
    for c in identifier.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            parts.push('_');
        }
        parts.push(c.to_ascii_lowercase());
        before = c;
    }
    parts
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn is_headless(line: &str) -> bool {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    text.is_some_and(|text| {
        ["What ", "Whoever ", "Whose "].iter().any(|word| text.trim_start().starts_with(word))
    })
}

/// Returns the identifiers of a line of code, without its string literals and its trailing comment.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split(" // ").next().unwrap_or_default();
    let outside = code.split('"').step_by(2);
    outside
        .flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retired_identifier_is_found_in_code_and_not_in_prose_or_strings() {
        let faults = |text: &str| Words::new().faults(Path::new("src/fine.rs"), text).len();
        assert_eq!(faults("struct Vessel;\n"), 1);
        assert_eq!(faults("let x = wish(so_far);\n"), 2);
        assert_eq!(faults("let x: SoFar = bell;\n"), 2);
        assert_eq!(faults("pub(super) enum Place {\nstruct Sign(u8);\n"), 2);
        assert_eq!(faults("QuestionPolicy::Ask => {}\nenum Manner { Ask, Why }\n"), 0);
        assert_eq!(faults("fn the_last_lender_is_asked() { OpenDoor; DOORS; LentTerminal }\n"), 4);
        assert_eq!(faults("let mut silent = indoor(Asking);\n"), 0);
        assert_eq!(faults("/// A vessel is no word of ours.\nlet said = \"an errand\"; // errand\n"), 0);
    }

    #[test]
    fn a_retired_file_name_is_found() {
        assert_eq!(Words::new().faults(Path::new("src/vessel.rs"), "").len(), 1);
        assert_eq!(Words::new().faults(Path::new("src/lending/terminal.rs"), "").len(), 1);
        let face = |name: &str| Path::new("crates/s/src/faces/opencode/state").join(name);
        for retired in ["live.rs", "backlog.rs", "words.rs"] {
            assert_eq!(Words::new().faults(&face(retired), "").len(), 1, "{retired}");
        }
        assert_eq!(Words::new().faults(Path::new("crates/r/src/hub/live.rs"), "").len(), 0);
        assert_eq!(Words::new().faults(Path::new("crates/r/src/session/rest.rs"), "").len(), 1);
        assert_eq!(Words::new().faults(Path::new("crates/s/src/faces/rest/wire.rs"), "").len(), 0);
    }

    #[test]
    fn a_comment_without_subject_counts_and_one_with_it_does_not() {
        assert!(is_headless("    /// What it is."));
        assert!(is_headless("//! Whose it is."));
        assert!(!is_headless("/// Whatever it is."));
        assert!(!is_headless("/// Returns what it is."));
        assert!(!is_headless("// What a normal comment says."));
    }
}
