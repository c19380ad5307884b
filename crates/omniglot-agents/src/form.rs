//! A form as questions: one per property, and the conversion between an answer and the property's value.
//!
//! Pure, and shared by the adapters whose agents elicit: these send and keep state, `property` reads the
//! schema.

mod property;

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::ElicitationContentValue as Value;
use omniglot_schema::{QuestionInfo, QuestionOption};
use serde_json::value::RawValue;

use crate::contract::Unparsed;
use property::{Kind, Schema};

/// The option of codex-acp 2.6 for an answer that is in the note.
const OTHER: &str = "None of the above";

pub(crate) type Content = BTreeMap<String, Value>;

/// The questions of one request.
#[derive(Debug)]
pub(crate) enum Form {
    /// Without properties there is only a yes or no to the message.
    Confirm(QuestionInfo),
    Fields(Vec<Field>),
}

/// One property, as a question.
#[derive(Debug)]
pub(crate) struct Field {
    name: String,
    info: QuestionInfo,
    kind: Kind,
    /// The values of the options, in their order.
    values: Vec<Value>,
    required: bool,
    /// The property that takes an answer beside the options.
    companion: Option<String>,
    /// Whether the answer must reach the agent alone.
    is_secret: bool,
}

impl Form {
    pub(crate) fn parse(message: &str, schema: &RawValue) -> Result<Self, Unparsed> {
        let fields = Schema::parse(schema)?.fields(message);
        Ok(if fields.is_empty() { Self::confirm(message) } else { Self::Fields(fields) })
    }

    /// Returns a form with only a yes or no.
    pub(crate) fn confirm(message: &str) -> Self {
        Self::Confirm(confirm(message))
    }

    pub(crate) fn questions(&self) -> Vec<QuestionInfo> {
        match self {
            Self::Confirm(info) => vec![info.clone()],
            Self::Fields(fields) => fields.iter().map(|field| field.info.clone()).collect(),
        }
    }

    /// Returns the content for these answers, one list per question; `None` declines.
    pub(crate) fn write(&self, answers: &[Vec<String>]) -> Option<Content> {
        let mut content = Content::new();
        match self {
            Self::Confirm(_) => {
                answers.first().is_some_and(|chosen| chosen.iter().any(|label| label == YES)).then_some(())?;
            }
            Self::Fields(fields) => {
                for (field, said) in fields.iter().zip(answers) {
                    field.write(said, &mut content);
                }
            }
        }
        Some(content)
    }

    /// Returns the same content with secret answers replaced by `***`; `None` when there is none to hide.
    pub(crate) fn hidden(&self, content: &Content) -> Option<Content> {
        let Self::Fields(fields) = self else { return None };
        let mut shown = content.clone();
        for field in fields.iter().filter(|field| field.is_secret) {
            for name in std::iter::once(&field.name).chain(&field.companion) {
                if let Some(value) = shown.get_mut(name) {
                    *value = Value::String(HIDDEN.to_owned());
                }
            }
        }
        (shown != *content).then_some(shown)
    }

    /// Returns the answers of a content. Questions left open at the end are omitted.
    pub(crate) fn read(&self, content: &Content) -> Vec<Vec<String>> {
        let mut answers: Vec<Vec<String>> = match self {
            Self::Confirm(_) => vec![vec![YES.to_owned()]],
            Self::Fields(fields) => fields.iter().map(|field| field.read(content)).collect(),
        };
        while answers.last().is_some_and(Vec::is_empty) {
            answers.pop();
        }
        answers
    }
}

impl Field {
    fn write(&self, said: &[String], content: &mut Content) {
        let said: Vec<&str> = said.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let (chosen, free): (Vec<&str>, Vec<&str>) =
            said.into_iter().partition(|label| self.value_of(label).is_some());
        let values = || chosen.iter().filter_map(|label| self.value_of(label));
        let value = match self.kind {
            Kind::Text => free.first().map(|text| Value::String((*text).to_owned())),
            Kind::Integer => free.first().and_then(|text| text.trim().parse().ok()).map(Value::Integer),
            Kind::Number => free.first().and_then(|text| number(text)).map(Value::Number),
            Kind::One => values().next(),
            Kind::Many if chosen.is_empty() => None,
            Kind::Many => Some(Value::StringArray(values().map(|value| text_of(&value)).collect())),
        };
        let beside = self.companion.as_ref().filter(|_| !free.is_empty());
        let filler = || beside.filter(|_| self.required).and_then(|_| self.value_of(OTHER));
        if let Some(value) = value.or_else(filler) {
            content.insert(self.name.clone(), value);
        }
        if let Some(companion) = beside {
            content.insert(companion.clone(), Value::String(free.join(", ")));
        }
    }

    fn read(&self, content: &Content) -> Vec<String> {
        let mut said: Vec<String> = match content.get(&self.name) {
            Some(Value::StringArray(values)) => {
                values.iter().map(|value| self.label_of(&Value::String(value.clone()))).collect()
            }
            Some(value) => vec![self.label_of(value)],
            None => vec![],
        };
        let free = self.companion.as_ref().and_then(|companion| content.get(companion)).map(text_of);
        if let Some(free) = free.filter(|text| !text.is_empty()) {
            said.retain(|label| label != OTHER);
            said.push(free);
        }
        said
    }

    fn value_of(&self, label: &str) -> Option<Value> {
        let place = self.info.options.iter().position(|option| option.label == label)?;
        self.values.get(place).cloned()
    }

    fn label_of(&self, value: &Value) -> String {
        let place = self.values.iter().position(|known| known == value);
        let option = place.and_then(|place| self.info.options.get(place));
        option.map_or_else(|| text_of(value), |option| option.label.clone())
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::StringArray(texts) => texts.join(", "),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Boolean(yes) => yes.to_string(),
        _ => String::new(),
    }
}

const HIDDEN: &str = "***";
const YES: &str = "Yes";
const NO: &str = "No";

fn option(label: &str) -> QuestionOption {
    QuestionOption { label: label.to_owned(), description: None }
}

fn confirm(message: &str) -> QuestionInfo {
    QuestionInfo {
        prompt: message.to_owned(),
        options: vec![option(YES), option(NO)],
        ..QuestionInfo::default()
    }
}
