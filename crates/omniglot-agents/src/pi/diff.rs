//! The changes that Pi's tools make in files, as unified diffs (T14): of those that were made, and of those that
//! are asked for.

use omniglot_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::tool::Call;
use super::wire::EditDetails;
use crate::diff::{of_files, unified};

/// The content of a file before a call; `None` for a file that did not exist.
pub(crate) type Before = Option<String>;

#[derive(Deserialize)]
struct Edit {
    path: String,
    #[serde(default)]
    edits: Vec<Replacement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    old_text: String,
    new_text: String,
}

#[derive(Deserialize)]
struct Write {
    path: String,
    content: String,
}

/// Returns the file that a call has changed.
pub(crate) fn of_call(call: &Call, details: Option<&RawValue>) -> Option<ContentPart> {
    match call.name.as_str() {
        "edit" => {
            let Edit { path, edits } = serde_json::from_str(&call.arguments).ok()?;
            let details = details.and_then(|details| serde_json::from_str::<EditDetails>(details.get()).ok());
            let EditDetails { patch, diff } = details.unwrap_or_default();
            let patch = patch.map(|patch| with_prefixes(&path, &patch));
            let diff =
                patch.or_else(|| from_numbered(&path, &diff?)).or_else(|| Some(proposed(&path, &edits)));
            Some(ContentPart::file(path, FileAction::Patch, diff))
        }
        "write" => Some(written(call)?),
        _ => None,
    }
}

/// Returns the file that a call would change.
pub(crate) fn asked(call: &Call) -> Vec<ContentPart> {
    let file = match call.name.as_str() {
        "edit" => serde_json::from_str(&call.arguments).ok().map(|Edit { path, edits }| {
            let diff = Some(proposed(&path, &edits));
            ContentPart::file(path, FileAction::Patch, diff)
        }),
        "write" => written(call),
        _ => None,
    };
    file.into_iter().collect()
}

fn written(call: &Call) -> Option<ContentPart> {
    let Write { path, content } = serde_json::from_str(&call.arguments).ok()?;
    let diff = call.before.as_ref().map(|before| of_files(&path, before.as_deref(), &content));
    Some(ContentPart::file(path, FileAction::Write, diff))
}

fn proposed(path: &str, edits: &[Replacement]) -> String {
    edits.iter().map(|edit| unified(path, &edit.old_text, &edit.new_text)).collect()
}

/// Pi's patches name the file without the prefixes that tools expect.
fn with_prefixes(path: &str, patch: &str) -> String {
    let path = path.trim_start_matches('/');
    let hunks = patch.find("@@ ").and_then(|at| patch.get(at..)).unwrap_or(patch);
    format!("--- a/{path}\n+++ b/{path}\n{hunks}")
}

/// Makes a unified diff of lines with numbers, such as `+4 Added line.`; `...` stands for lines left out.
fn from_numbered(path: &str, numbered: &str) -> Option<String> {
    let path = path.trim_start_matches('/');
    let mut diff = format!("--- a/{path}\n+++ b/{path}\n");
    let mut hunk = Hunk::default();
    for line in numbered.lines() {
        match NumberedLine::parse(line) {
            Some(line) => hunk.add(&line),
            None => hunk.finish(&mut diff),
        }
    }
    hunk.finish(&mut diff);
    diff.contains("@@").then_some(diff)
}

struct NumberedLine<'a> {
    sign: char,
    number: usize,
    text: &'a str,
}

impl<'a> NumberedLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let sign = line.chars().next().filter(|sign| matches!(sign, ' ' | '+' | '-'))?;
        let rest = line.get(1..)?.trim_start_matches(' ');
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest.get(..digits)?.parse().ok()?;
        let text = rest.get(digits..)?;
        Some(Self { sign, number, text: text.strip_prefix(' ').unwrap_or(text) })
    }
}

#[derive(Default)]
struct Hunk {
    first: Option<usize>,
    removed: usize,
    added: usize,
    /// How much longer the file has become before this hunk.
    grown: isize,
    lines: String,
}

impl Hunk {
    fn add(&mut self, line: &NumberedLine<'_>) {
        self.first.get_or_insert(line.number);
        self.removed += usize::from(line.sign != '+');
        self.added += usize::from(line.sign != '-');
        self.lines.push(line.sign);
        self.lines.push_str(line.text);
        self.lines.push('\n');
    }

    fn finish(&mut self, diff: &mut String) {
        let Some(first) = self.first.take() else { return };
        let (removed, added) = (std::mem::take(&mut self.removed), std::mem::take(&mut self.added));
        let new_first = first.saturating_add_signed(self.grown);
        diff.push_str(&format!("@@ -{first},{removed} +{new_first},{added} @@\n"));
        diff.push_str(&std::mem::take(&mut self.lines));
        self.grown += isize::try_from(added).unwrap_or(0) - isize::try_from(removed).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::from_numbered;

    #[test]
    fn numbered_lines_become_hunks() {
        let numbered =
            " 1 # Demo\n 2 \n-3 Last line.\n+3 First.\n+4 Added line.\n   ...\n 90 a\n-91 b\n 92 c";
        insta::assert_snapshot!(from_numbered("/w/README.md", numbered).unwrap(), @r"
        --- a/w/README.md
        +++ b/w/README.md
        @@ -1,3 +1,4 @@
         # Demo
         
        -Last line.
        +First.
        +Added line.
        @@ -90,3 +91,2 @@
         a
        -b
         c
        ");
    }
}
