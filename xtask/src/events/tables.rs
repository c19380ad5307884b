//! Schemas as tables for people.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

const COMPONENTS: &str = "#/components/schemas/";

pub(super) struct Schemas {
    all: Map<String, Value>,
    /// The components that a table has named.
    named: BTreeSet<String>,
    shown: BTreeSet<String>,
}

impl Schemas {
    pub(super) fn new(all: Map<String, Value>) -> Self {
        let own = ["SessionState", "UniversalEvent", "ContentPart", "StatusLabel", "DeltaPart", "ItemKind"];
        Self { all, named: BTreeSet::new(), shown: own.map(str::to_owned).into() }
    }

    fn get(&self, name: &str) -> &Value {
        self.all.get(name).unwrap_or(&Value::Null)
    }

    pub(super) fn description(&self, name: &str) -> String {
        self.get(name)["description"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the tags of a union in its order, each with its component.
    pub(super) fn variants(&self, union: &str) -> Vec<(String, String)> {
        let variants = self.get(union)["oneOf"].as_array().into_iter().flatten().filter_map(reference);
        let tag = |name: &&str| self.get(name)["properties"]["type"]["enum"][0].as_str().map(str::to_owned);
        variants.filter_map(|name| Some((tag(&name)?, name.to_owned()))).collect()
    }

    pub(super) fn values(&self, name: &str) -> Vec<String> {
        let values = self.get(name)["enum"].as_array().into_iter().flatten();
        values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    /// Returns the component that a property refers to.
    pub(super) fn property_type(&self, name: &str, property: &str) -> String {
        reference(&self.get(name)["properties"][property]).unwrap_or_default().to_owned()
    }

    /// Returns the properties of an object with their descriptions and types.
    pub(super) fn properties(&mut self, name: &str) -> Vec<(String, String)> {
        let properties = self.get(name)["properties"].as_object().cloned().unwrap_or_default();
        let told = properties.iter().map(|(key, schema)| {
            (key.clone(), format!("{} Type: {}.", self.meaning(schema), self.type_of(schema)))
        });
        let told: Vec<_> = told.collect();
        properties.values().for_each(|schema| self.note(schema));
        told
    }

    /// Writes the members of an object, or the values of an enumeration, without those of `but`.
    pub(super) fn table(&mut self, name: &str, but: &[&str]) -> String {
        self.shown.insert(name.to_owned());
        let schema = self.get(name).clone();
        let values = self.values(name);
        if !values.is_empty() {
            return format!("One of {}.\n", quoted(&values));
        }
        let Some(properties) = schema["properties"].as_object() else {
            self.note(&schema);
            return format!("Type: {}.\n", self.type_of(&schema));
        };
        let mut table = "| Member | Type | |\n|---|---|---|\n".to_owned();
        for (key, property) in properties.iter().filter(|(key, _)| !but.contains(&key.as_str())) {
            let is_required =
                schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == key));
            let optional = if is_required { "" } else { ", optional" };
            let (kind, meaning) = (self.type_of(property), self.meaning(property));
            let _ = writeln!(table, "| `{key}` | {kind}{optional} | {} |", meaning.replace('|', "\\|"));
            self.note(property);
        }
        if properties.len() == but.len() { String::new() } else { table }
    }

    /// Returns the components that were named and not shown, until there are none.
    pub(super) fn left(&mut self) -> Vec<String> {
        let mut left = vec![];
        let mut open: BTreeSet<String> = self.named.difference(&self.shown).cloned().collect();
        while let Some(name) = open.pop_first() {
            self.shown.insert(name.clone());
            let schema = self.get(&name).clone();
            self.note(&schema);
            let is_id = schema["type"] == "string" && schema.get("enum").is_none();
            if !is_id {
                left.push(name);
            }
            open = self.named.difference(&self.shown).cloned().collect();
        }
        left.sort();
        left
    }

    fn note(&mut self, schema: &Value) {
        if let Some(name) = reference(schema) {
            self.named.insert(name.to_owned());
        }
        match schema {
            Value::Array(list) => list.iter().for_each(|inner| self.note(inner)),
            Value::Object(members) => {
                let inner = members.iter().filter(|(key, _)| *key != "examples" && *key != "discriminator");
                inner.for_each(|(_, inner)| self.note(inner));
            }
            _ => {}
        }
    }

    /// Returns the description of a property, or that of its type.
    fn meaning(&self, schema: &Value) -> String {
        let own = schema["description"].as_str().map(str::to_owned);
        let target = || reference(schema).map(|name| self.meaning(self.get(name)));
        let variants = || schema["oneOf"].as_array().into_iter().flatten();
        let told = own
            .or_else(target)
            .or_else(|| variants().map(|inner| self.meaning(inner)).find(|told| !told.is_empty()));
        told.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn type_of(&self, schema: &Value) -> String {
        if let Some(name) = reference(schema) {
            let target = self.get(name);
            let is_id = target["type"] == "string" && target.get("enum").is_none();
            return if is_id { "string".into() } else { format!("[{name}](#{})", name.to_lowercase()) };
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
        }
        let variants = ["oneOf", "anyOf"].iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
        let variants: Vec<_> =
            variants.filter(|inner| inner["type"] != "null").map(|inner| self.type_of(inner)).collect();
        if !variants.is_empty() {
            return variants.join(" or ");
        }
        let types = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let name = schema["type"].as_str().or_else(|| types.into_iter().find(|name| *name != "null"));
        match name {
            Some("array") => format!("list of {}", self.type_of(&schema["items"])),
            Some("object") if schema.get("additionalProperties").is_some() => {
                format!("map of {}", self.type_of(&schema["additionalProperties"]))
            }
            Some(name) => name.to_owned(),
            None => "any".into(),
        }
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(COMPONENTS)
}

fn quoted(values: &[String]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}
