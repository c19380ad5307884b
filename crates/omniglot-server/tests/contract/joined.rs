//! A union of ours as the one object that the contract has in its place: `type` and `data` of an event may be any
//! of those that its variants have.

use serde_json::{Map, Value, json};

use crate::shape::{reference, variants};

/// Returns one object with the members of all variants, if `schema` is a union with a discriminator of objects that
/// have the same members.
pub(crate) fn joined(schema: &Value, document: &Value) -> Value {
    let schemas = &document["components"]["schemas"];
    let variants: Vec<&Value> = match variants(schema) {
        Some(variants) if schema.get("discriminator").is_some() => {
            variants.iter().filter_map(|variant| schemas.get(reference(variant)?)).collect()
        }
        _ => return schema.clone(),
    };
    let names = |variant: &Value| variant["properties"].as_object().map(|all| all.keys().cloned().collect());
    let Some(common) = variants.first().and_then(|first| names(first)) else { return schema.clone() };
    let common: Vec<String> = common;
    if variants.iter().any(|variant| names(variant) != Some(common.clone())) {
        return schema.clone();
    }
    let property = |name: &String| {
        let forms: Vec<&Value> = variants.iter().map(|variant| &variant["properties"][name]).collect();
        (name.clone(), union_of(&forms, schemas))
    };
    let properties: Map<String, Value> = common.iter().map(property).collect();
    json!({ "type": "object", "required": variants[0]["required"], "properties": properties })
}

/// Returns the one form, or a reference to the component that has exactly these values or all these variants.
fn union_of(forms: &[&Value], schemas: &Value) -> Value {
    if forms.iter().all(|form| form == &forms[0]) {
        return forms[0].clone();
    }
    let values: Option<Vec<&Value>> = forms.iter().map(|form| form["enum"].as_array()?.first()).collect();
    let is_union = |component: &Value| match &values {
        Some(values) => {
            component["enum"].as_array().is_some_and(|all| all.iter().collect::<Vec<_>>() == *values)
        }
        None => variants(component).is_some_and(|all| {
            forms.iter().all(|form| all.iter().any(|variant| reference(variant) == reference(form)))
        }),
    };
    let found = schemas.as_object().into_iter().flatten().find(|(_, component)| is_union(component));
    found.map_or(Value::Null, |(name, _)| json!({ "$ref": format!("#/components/schemas/{name}") }))
}
