//! OpenCode's own description of its events, cut to those that we send.
//!
//! `server.heartbeat` is not in it: the real server sends it and does not describe it.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::text;

pub(crate) struct Schema {
    by_type: HashMap<String, Validator>,
}

impl Schema {
    pub(crate) fn load() -> Self {
        let document: Value = serde_json::from_str(include_str!("schema.json")).unwrap();
        let validator = |component: &Value| {
            let reference = format!("#/components/schemas/{}", component.as_str().unwrap());
            let schema = json!({ "$ref": reference, "components": document["components"] });
            jsonschema::validator_for(&schema).unwrap()
        };
        let types = document["events"].as_object().unwrap().iter();
        Self { by_type: types.map(|(kind, component)| (kind.clone(), validator(component))).collect() }
    }

    pub(crate) fn check(&self, event: &Value) -> Result<(), String> {
        let kind = text(event, "/type");
        let validator = self.by_type.get(kind).ok_or_else(|| format!("OpenCode has no event {kind:?}"))?;
        let error = validator.iter_errors(event).next();
        error.map_or(Ok(()), |error| Err(format!("{}: {error}", error.instance_path())))
    }
}
