//! Finds an example of everything in the recordings: a telling one, and always the same.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::shell::Line;

const RECORDINGS: &str = "crates/omniglot-agents/captures";
/// A longer example is worse than a shorter one, whatever it shows.
const LONGEST: usize = 1_100;

#[derive(Default)]
pub(super) struct Examples(HashMap<String, (Rank, Value)>);

/// Examples that show more members are better; of those, shorter ones.
type Rank = (bool, Reverse<usize>, usize, String);

impl Examples {
    pub(super) fn of_recordings() -> anyhow::Result<Self> {
        let mut examples = Self::default();
        for folder in sorted(Path::new(RECORDINGS))? {
            let name = folder.file_name().and_then(|name| name.to_str()).context("a name")?.to_owned();
            let recordings = sorted(&folder)?;
            let jsonl = recordings.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
            let line = format!("cargo run --quiet -p omniglot -- convert --from {}", agent_of(&name));
            let line = jsonl.fold(Line::new(&line), |line, file| line.arg(file.to_string_lossy()));
            for event in line.stdout()?.lines() {
                examples.hear(&serde_json::from_str(event)?);
            }
        }
        Ok(examples)
    }

    pub(super) fn get(&self, of: &str) -> Option<&Value> {
        self.0.get(of).map(|(_, example)| example)
    }

    fn hear(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or_default();
        self.offer(format!("event {kind}"), event);
        let data = &event["data"];
        match kind {
            "item.delta" => {
                let part = data["part_type"].as_str().unwrap_or("text");
                self.offer(format!("delta {part}"), data);
            }
            "item.completed" => self.item(&data["item"]),
            "session.updated" => {
                for (key, value) in
                    data.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null())
                {
                    self.offer(format!("state {key}"), value);
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Value) {
        self.offer(format!("kind {}", item["kind"].as_str().unwrap_or_default()), item);
        for part in item["content"].as_array().into_iter().flatten() {
            self.offer(format!("part {}", part["type"].as_str().unwrap_or_default()), part);
            let label = part["label"].as_str().and_then(|label| label.rsplit_once('.'));
            if let Some((_, label)) = label {
                self.offer(format!("label {label}"), item);
            }
        }
    }

    fn offer(&mut self, of: String, example: &Value) {
        let text = example.to_string();
        let mut members = BTreeSet::new();
        count(example, &mut members);
        let rank = (text.len() > LONGEST, Reverse(members.len()), text.len(), text);
        match self.0.get(&of) {
            Some((best, _)) if *best <= rank => {}
            _ => {
                self.0.insert(of, (rank, example.clone()));
            }
        }
    }
}

/// Collects the names of all members below a value.
fn count<'a>(value: &'a Value, members: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, inner)| {
            members.insert(name);
            count(inner, members);
        }),
        Value::Array(list) => list.iter().for_each(|inner| count(inner, members)),
        _ => {}
    }
}

/// Returns the agent that a folder of recordings is named after; a version may follow.
fn agent_of(folder: &str) -> &str {
    match folder.rsplit_once('-') {
        Some((agent, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => agent,
        _ => folder,
    }
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_example_that_shows_more_is_better_and_a_shorter_one_of_equals() {
        let mut examples = Examples::default();
        for example in
            [json!({"a": 1}), json!({"a": 1, "b": "long"}), json!({"a": 1, "b": ""}), json!({"a": 0})]
        {
            examples.offer("x".into(), &example);
        }
        examples.offer("x".into(), &json!({"a": "x".repeat(LONGEST), "b": 1, "c": 1}));
        assert_eq!(examples.get("x"), Some(&json!({"a": 1, "b": ""})));
    }

    #[test]
    fn a_folder_is_named_after_its_agent() {
        assert_eq!(
            ["claude", "claude-2.1.325", "claude-acp", "claude-acp-0.99"].map(agent_of),
            ["claude", "claude", "claude-acp", "claude-acp"]
        );
    }
}
