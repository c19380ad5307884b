//! docs/EVENTS.md: every event, item, part, label and key of the state, with an example of each from the recordings.
//!
//! The shapes come from docs/openapi.json, so that nothing can be left out; the prose is in `events/`. A thing that no
//! recording has needs an example in `events/words.json`, which the page says.

#![expect(clippy::indexing_slicing, reason = "a member that a JSON value lacks is null")]

mod examples;
mod tables;

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, bail};
use serde_json::Value;

use examples::Examples;
use tables::Schemas;

const FILE: &str = "docs/EVENTS.md";
const DOCUMENT: &str = "docs/openapi.json";
const INTRO: &str = include_str!("events/intro.md");
const WORDS: &str = include_str!("events/words.json");

pub(crate) fn write() -> anyhow::Result<()> {
    let page = generated()?;
    fs::write(FILE, &page).context(FILE)?;
    println!("{FILE}: {} bytes", page.len());
    Ok(())
}

pub(crate) fn check() -> anyhow::Result<()> {
    if fs::read_to_string(FILE).unwrap_or_default() != generated()? {
        bail!(
            "{FILE} is not what the description and the recordings say; `cargo xtask events` writes it anew"
        );
    }
    Ok(())
}

fn generated() -> anyhow::Result<String> {
    let document: Value = serde_json::from_str(&fs::read_to_string(DOCUMENT).context(DOCUMENT)?)?;
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object).context("schemas")?;
    let words: Value = serde_json::from_str(WORDS)?;
    let examples = Examples::of_recordings()?;
    Page { text: INTRO.to_owned(), schemas: Schemas::new(schemas.clone()), words, examples }.whole()
}

struct Page {
    text: String,
    schemas: Schemas,
    words: Value,
    examples: Examples,
}

impl Page {
    fn whole(mut self) -> anyhow::Result<String> {
        self.events()?;
        self.listed("Kinds of items", "ItemKind", "kinds", "kind")?;
        self.parts()?;
        self.listed("Deltas", "DeltaPart", "deltas", "delta")?;
        self.listed("Labels of status items", "StatusLabel", "labels", "label")?;
        self.state()?;
        self.types();
        Ok(self.text)
    }

    fn events(&mut self) -> anyhow::Result<()> {
        self.text += "\n## The envelope\n\nThe members that every event has beside `type` and `data`:\n\n";
        self.text += &self.schemas.table("ItemDeltaEvent", &["type", "data"]);
        self.text += "\n## Events\n";
        for (tag, schema) in self.schemas.variants("UniversalEvent") {
            let data = self.schemas.property_type(&schema, "data");
            let _ = write!(self.text, "\n### `{tag}`\n\n{}\n\n", self.schemas.description(&schema));
            self.text += &self.schemas.table(&data, &[]);
            self.example(&format!("event {tag}"))?;
        }
        Ok(())
    }

    fn parts(&mut self) -> anyhow::Result<()> {
        self.text += "\n## Parts of an item\n";
        for (tag, schema) in self.schemas.variants("ContentPart") {
            let _ = write!(self.text, "\n### `{tag}`\n\n{}\n\n", self.schemas.description(&schema));
            self.text += &self.schemas.table(&schema, &["type"]);
            self.example(&format!("part {tag}"))?;
        }
        Ok(())
    }

    /// Writes the values of an enumeration, each with its words and an example.
    fn listed(&mut self, heading: &str, schema: &str, words: &str, kind: &str) -> anyhow::Result<()> {
        let _ = write!(self.text, "\n## {heading}\n\n{}\n", self.schemas.description(schema));
        for value in self.schemas.values(schema) {
            let told = self.words[words][&value].as_str();
            let told = told.with_context(|| format!("xtask/src/events/words.json lacks {words} {value}"))?;
            let _ = write!(self.text, "\n### `{value}`\n\n{told}\n");
            self.example(&format!("{kind} {value}"))?;
        }
        Ok(())
    }

    fn state(&mut self) -> anyhow::Result<()> {
        self.text += "\n## The state\n\nThe keys of the state, which `session.updated` changes. A list over 16 KiB is \
            `{\"$blob\": PATH}` instead, to be fetched from that path.\n";
        for (key, told) in self.schemas.properties("SessionState") {
            let _ = write!(self.text, "\n### `{key}`\n\n{told}\n");
            self.example(&format!("state {key}"))?;
        }
        Ok(())
    }

    /// Writes all types that events refer to and that have no section of their own.
    fn types(&mut self) {
        self.text += "\n## Types\n";
        for name in self.schemas.left() {
            let _ = write!(self.text, "\n### {name}\n\n{}\n\n", self.schemas.description(&name));
            self.text += &self.schemas.table(&name, &[]);
        }
    }

    fn example(&mut self, of: &str) -> anyhow::Result<()> {
        let made = self.words["examples"].get(of);
        let (example, note) = match (self.examples.get(of), made) {
            (Some(example), _) => (example, ""),
            (None, Some(made)) => (made, "No recording has one; it looks like this:\n\n"),
            (None, None) => bail!("no recording has `{of}`; xtask/src/events/words.json needs an example"),
        };
        let _ = write!(self.text, "\n{note}```json\n{}\n```\n", serde_json::to_string_pretty(example)?);
        Ok(())
    }
}
