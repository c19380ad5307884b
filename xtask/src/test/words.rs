//! The words of the code: identifiers and file names that were retired stay retired, and doc comments that begin
//! with "What", "Whoever" or "Whose" instead of a subject and its verb become fewer.

use std::path::Path;

/// Identifiers that a newcomer could not guess; CONTRIBUTING.md has their replacements.
const RETIRED: &[&str] = &[
    "Vessel",
    "vessel",
    "Seat",
    "forsake",
    "forsaken",
    "occupy",
    "haunted",
    "is_haunted",
    "deal_out",
    "hearers",
    "Doors",
    "Heir",
    "heir",
    "Exchanged",
    "conceive",
    "Newborn",
    "newborn",
    "write_down",
    "bring_in",
    "bring_forth",
    "Loan",
    "Loans",
    "Lender",
    "Lenders",
    "lender",
    "Errand",
    "Errands",
    "errand",
    "errands",
    "LentTerminal",
    "Pile",
    "Fate",
    "Pulse",
    "feel_pulse",
    "turn_of_the_loop",
    "pursue",
    "heed_settings",
    "heed_cancel",
    "Heard",
    "FromAgent",
    "NotOpened",
    "Wish",
    "Wishes",
    "foresee",
    "foreseen",
    "Foreseen",
    "SoFar",
    "so_far",
    "Asked",
    "BURIAL",
    "SPEECHLESS",
    "UNHEARD",
    "MOST_OWED",
    "PATIENCE",
    "Shelf",
    "Lives",
    "greeting",
    "Bench",
    "Stage",
    "Letter",
    "Ledger",
    "Poster",
    "Door",
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
        let file_name = RETIRED_FILES.contains(&&*name).then(|| format!("the file name `{name}` is retired"));
        let words =
            text.lines().enumerate().filter(|(_, line)| !is_comment(line)).flat_map(|(number, line)| {
                let retired = identifiers(line).filter(|word| RETIRED.contains(word));
                retired.map(move |word| format!("line {}: the identifier `{word}` is retired", number + 1))
            });
        file_name.into_iter().chain(words).collect()
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
        assert_eq!(faults("let x = wish(so_far);\n"), 1);
        assert_eq!(faults("/// A vessel is no word of ours.\nlet said = \"an errand\"; // errand\n"), 0);
    }

    #[test]
    fn a_retired_file_name_is_found() {
        assert_eq!(Words::new().faults(Path::new("src/vessel.rs"), "").len(), 1);
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
