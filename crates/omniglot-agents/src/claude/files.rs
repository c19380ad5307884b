//! Files as subagents have read and left them, within a turn.
//!
//! The edits of a subagent are told as text alone. Where it has read the file before, whole, the diff has the line
//! numbers of the file; otherwise they count from the snippet, and the diff of a file that was overwritten is not
//! known. The CLI makes no edit of a file that has changed since it was read.

use std::collections::HashMap;

use omniglot_schema::{ContentPart, FileAction};
use omniglot_timeline::ToolResult;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::diff::{Replacement, edited};
use crate::diff::of_files;

#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    /// The content by the call that began the subagent, and the path.
    contents: HashMap<(String, String), String>,
}

/// The input of the tools that read and change a file.
#[derive(Deserialize)]
struct Input {
    file_path: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    content: Option<String>,
    #[serde(flatten)]
    edit: Option<Replacement>,
    #[serde(default)]
    edits: Vec<Replacement>,
}

impl KnownFiles {
    /// Learns from a call of a subagent that has succeeded, and gives the result of an edit its true diff.
    pub(crate) fn learn(
        &mut self,
        subagent: &str,
        tool: &str,
        input: Option<&RawValue>,
        result: &mut ToolResult,
    ) {
        let Some(input) = input.and_then(|raw| serde_json::from_str::<Input>(raw.get()).ok()) else { return };
        let path = input.file_path.clone();
        let at = (subagent.to_owned(), path.clone());
        let before = self.contents.remove(&at);
        let after = match tool {
            "Read" if input.offset.or(input.limit).is_none() => unnumbered(&result.output),
            "Read" => before.clone(),
            "Write" => input.content,
            "Edit" | "MultiEdit" => before.clone().and_then(|before| {
                let mut edits = input.edit.iter().chain(&input.edits);
                edits.try_fold(before, |text, edit| {
                    edited(&text, &edit.old_string, &edit.new_string, edit.replace_all)
                })
            }),
            _ => return,
        };
        let Some(after) = after else { return };
        if let (Some(before), true) = (before, tool != "Read") {
            let diff = Some(of_files(&path, Some(&before), &after));
            result.parts = vec![ContentPart::file(path, FileAction::Patch, diff)];
        }
        self.contents.insert(at, after);
    }

    pub(crate) fn turn_ended(&mut self) {
        self.contents.clear();
    }
}

/// Returns the file from the lines with numbers that the model is given; what follows them is not of the file.
fn unnumbered(text: &str) -> Option<String> {
    let numbered = text.split('\n').zip(1_u64..).map_while(|(line, number)| {
        let (at, line) = line.split_once('\t')?;
        (at.trim_start().parse() == Ok(number)).then_some(line)
    });
    let lines: Vec<&str> = numbered.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
