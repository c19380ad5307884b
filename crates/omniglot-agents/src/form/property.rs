//! The schema of a form, typed, and the texts of its questions.
//!
//! The structs are ours because the protocol crate sorts the properties by name, and the order of the
//! questions is the agent's.

use agent_client_protocol_schema::v1::ElicitationContentValue as Value;
use indexmap::IndexMap;
use omniglot_schema::{AnswerFormat, QuestionInfo, QuestionOption};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Field, NO, YES, option};
use crate::contract::{Unparsed, decode};

/// The type of a property's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    /// One of its options, which may be yes and no.
    One,
    /// Several of its options.
    Many,
}

pub(super) struct Schema {
    properties: IndexMap<String, Property>,
    required: Vec<String>,
}

#[derive(Deserialize)]
struct RawSchema<'a> {
    #[serde(default, borrow)]
    properties: Option<IndexMap<String, &'a RawValue>>,
    #[serde(default)]
    required: Option<Vec<String>>,
}

struct Property {
    kind: Kind,
    options: Vec<QuestionOption>,
    values: Vec<Value>,
    title: Option<String>,
    description: Option<String>,
    codex: Option<CodexMeta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawProperty {
    r#type: String,
    title: Option<String>,
    description: Option<String>,
    r#enum: Option<Vec<String>>,
    one_of: Option<Vec<Choice>>,
    items: Option<Items>,
    #[serde(rename = "_meta")]
    meta: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Items {
    r#enum: Option<Vec<String>>,
    any_of: Option<Vec<Choice>>,
    one_of: Option<Vec<Choice>>,
}

#[derive(Deserialize)]
struct Choice {
    r#const: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<serde_json::Value>,
}

/// Extensions are free-form: one without the known shape is ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    codex: Option<CodexMeta>,
    #[serde(rename = "_claude/askUserQuestionOption")]
    claude_option: Option<ClaudeOption>,
}

/// The metadata of codex-acp 2.6 for the questions of its own tool.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CodexMeta {
    question_id: Option<String>,
    role: Option<String>,
    is_secret: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaudeOption {
    description: Option<String>,
}

fn meta(meta: Option<serde_json::Value>) -> Meta {
    meta.and_then(|meta| serde_json::from_value(meta).ok()).unwrap_or_default()
}

impl Schema {
    pub(super) fn parse(schema: &RawValue) -> Result<Self, Unparsed> {
        let location = "elicitation/create.requestedSchema";
        let raw: RawSchema<'_> = decode(location, schema)?;
        let mut properties = IndexMap::new();
        for (name, property) in raw.properties.unwrap_or_default() {
            let place = format!("{location}.{name}");
            let property = decode::<RawProperty>(&place, property)?;
            let kind = property.r#type.clone();
            let understood = Property::read(property).ok_or_else(|| {
                let error = format!("a property of type {kind} that we cannot ask for");
                Unparsed { error, location: place.clone(), raw_hash: None }
            })?;
            properties.insert(name, understood);
        }
        Ok(Self { properties, required: raw.required.unwrap_or_default() })
    }

    /// Returns the questions, in the order of the agent.
    pub(super) fn fields(self, message: &str) -> Vec<Field> {
        let pair = |name: &String, property| Some((self.belongs_to(name, property)?, name.clone()));
        let companions: IndexMap<String, String> =
            self.properties.iter().filter_map(|(name, property)| pair(name, property)).collect();
        let own_tool = !companions.is_empty() || self.properties.values().any(|p| p.codex.is_some());
        let Self { properties, required } = self;
        let is_companion = |name: &String| companions.values().any(|companion| companion == name);
        let mut fields: Vec<Field> = properties
            .into_iter()
            .filter(|(name, _)| !is_companion(name))
            .map(|(name, property)| {
                let companion = companions.get(&name).cloned();
                property.field(required.contains(&name), companion, name)
            })
            .collect();
        introduce(message, own_tool, &mut fields);
        fields
    }

    /// Returns the question of a free-text property: claude-agent-acp names it, codex-acp has metadata.
    fn belongs_to(&self, name: &str, property: &Property) -> Option<String> {
        let told = property.codex.as_ref().filter(|codex| codex.role.as_deref() == Some("user_note"));
        let question = match told.and_then(|codex| codex.question_id.as_deref()) {
            Some(question) => question,
            None => name.strip_suffix("_custom").filter(|question| question.starts_with("question_"))?,
        };
        let selects = self.properties.get(question).is_some_and(|asked| !asked.options.is_empty());
        (selects && property.kind == Kind::Text).then(|| question.to_owned())
    }
}

/// Puts the message into a question: it asks the only question, or leads to the first of several. The
/// question tools of agents leave it without content when they ask several.
fn introduce(message: &str, own_tool: bool, fields: &mut [Field]) {
    let only = fields.len() == 1;
    let Some(first) = fields.first_mut().filter(|_| !message.is_empty()) else { return };
    // Without a header the prompt is only the property's name, and the message is more precise.
    if only && first.info.header.is_none() {
        let name = std::mem::replace(&mut first.info.prompt, message.to_owned());
        first.info.header = (name != first.name).then_some(name);
    } else if !own_tool {
        first.info.prompt = format!("{message}\n{}", first.info.prompt);
    }
}

impl Property {
    fn read(raw: RawProperty) -> Option<Self> {
        let named = |values: Vec<String>| values.into_iter().map(Choice::named).collect::<Vec<_>>();
        let choices = match raw.items {
            Some(items) => items.any_of.or(items.one_of).or(items.r#enum.map(named)),
            None => raw.one_of.or(raw.r#enum.map(named)),
        };
        let choices = choices.unwrap_or_default();
        let kind = match (raw.r#type.as_str(), choices.is_empty()) {
            ("string", true) => Kind::Text,
            ("integer", true) => Kind::Integer,
            ("number", true) => Kind::Number,
            ("boolean", _) | ("string", false) => Kind::One,
            ("array", false) => Kind::Many,
            _ => return None,
        };
        let (options, values) = if raw.r#type == "boolean" {
            (vec![option(YES), option(NO)], vec![Value::Boolean(true), Value::Boolean(false)])
        } else {
            options(choices)
        };
        let codex = meta(raw.meta).codex;
        Some(Self { kind, options, values, title: raw.title, description: raw.description, codex })
    }

    fn field(self, required: bool, companion: Option<String>, name: String) -> Field {
        // codex-acp puts the question into the title and its short name into the description.
        let (long, short) = match &self.codex {
            Some(_) => (self.title, self.description),
            None => (self.description, self.title),
        };
        let (prompt, header) = match long {
            Some(long) => (long, short.or_else(|| Some(name.clone()))),
            None => (short.unwrap_or_else(|| name.clone()), None),
        };
        let format = match self.kind {
            Kind::Integer => Some(AnswerFormat::Integer),
            Kind::Number => Some(AnswerFormat::Number),
            Kind::Text | Kind::One | Kind::Many => None,
        };
        let info = QuestionInfo {
            prompt,
            header,
            multi_select: self.kind == Kind::Many,
            free_text: companion.is_some() || self.options.is_empty(),
            options: self.options,
            format,
            detail: None,
        };
        let is_secret = self.codex.is_some_and(|codex| codex.is_secret);
        Field { name, info, kind: self.kind, values: self.values, required, companion, is_secret }
    }
}

impl Choice {
    fn named(value: String) -> Self {
        Self { r#const: value, title: None, description: None, meta: None }
    }

    fn option(self) -> (QuestionOption, String) {
        let value = self.r#const;
        let description = self.description.or_else(|| meta(self.meta).claude_option?.description);
        // claude-agent-acp 0.49 writes the description into the title as well.
        let spelled_out = description.as_ref().map(|description| format!("{value} — {description}"));
        let label = self.title.filter(|title| Some(title) != spelled_out.as_ref());
        (QuestionOption { label: label.unwrap_or_else(|| value.clone()), description }, value)
    }
}

/// Returns options under distinct labels: where titles repeat, the values are used.
fn options(choices: Vec<Choice>) -> (Vec<QuestionOption>, Vec<Value>) {
    let options: Vec<(QuestionOption, String)> = choices.into_iter().map(Choice::option).collect();
    let labels: Vec<String> = options.iter().map(|(option, _)| option.label.clone()).collect();
    let unique = |option: QuestionOption, value: &String| {
        let repeats = labels.iter().filter(|label| **label == option.label).count() > 1;
        if repeats { QuestionOption { label: value.clone(), ..option } } else { option }
    };
    options.into_iter().map(|(option, value)| (unique(option, &value), Value::String(value))).unzip()
}
