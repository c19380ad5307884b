//! Rewrites the description so that generators of clients understand it; its meaning stays the same.
//!
//! Generators know types by the names of components, and a variant of a union by its tag. Hence each variant of a
//! tagged union becomes a component, compositions become one object, and a copy of a component a reference to it.
//! `examples.json` has one example for each event, for each JSON body of a request, and for what people meet first.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

const TAG: &str = "type";
const COMPONENTS: &str = "#/components/schemas/";

/// Returns the document with schemas that generators understand, examples and the default address.
pub(crate) fn for_generators(mut document: Value) -> Value {
    let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas").map(Value::take) else {
        return document;
    };
    let schemas = with_examples(with_references(with_named_variants(flattened(schemas))));
    if let Some(place) = document.pointer_mut("/components/schemas") {
        *place = schemas.into();
    }
    if let Some(members) = document.as_object_mut() {
        members.insert("servers".into(), json!([server()]));
    }
    document
}

fn server() -> Value {
    json!({ "url": "http://127.0.0.1:2468", "description": "The daemon at its default address" })
}

/// Makes one object of each component that is composed of several.
fn flattened(schemas: Object) -> Object {
    let flat = schemas.iter().map(|(name, schema)| (name.clone(), flat(schema, &schemas)));
    flat.collect()
}

fn flat(schema: &Value, schemas: &Object) -> Value {
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return schema.clone() };
    let (mut properties, mut required) = (Object::new(), vec![]);
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    whole.remove("allOf");
    for part in parts {
        let part = flat(reference(part).and_then(|name| schemas.get(name)).unwrap_or(part), schemas);
        properties.extend(members(&part, "properties"));
        let names = part.get("required").and_then(Value::as_array).into_iter().flatten();
        required.extend(names.cloned());
        if let Some(more) = part.get("additionalProperties") {
            whole.insert("additionalProperties".into(), more.clone());
        }
    }
    required.dedup();
    whole.insert(TAG.into(), "object".into());
    whole.insert("required".into(), required.into());
    whole.insert("properties".into(), properties.into());
    whole.into()
}

/// Makes a component of each variant of a tagged union, and names the tag as the union's discriminator.
fn with_named_variants(mut schemas: Object) -> Object {
    for (name, union) in schemas.clone() {
        let Some(variants) = union.get("oneOf").and_then(Value::as_array) else { continue };
        let variants: Vec<Value> = variants.iter().map(|variant| flat(variant, &schemas)).collect();
        let Some(tags) = variants.iter().map(tag).collect::<Option<Vec<_>>>() else { continue };
        let targets: Vec<_> = tags.iter().map(|tag| format!("{}{name}", pascal_case(tag))).collect();
        let refer = |target: &String| Value::from(format!("{COMPONENTS}{target}"));
        let mapping: Object = tags.iter().cloned().zip(targets.iter().map(refer)).collect();
        if let Some(Value::Object(union)) = schemas.get_mut(&name) {
            union.insert("oneOf".into(), targets.iter().map(|to| json!({ "$ref": refer(to) })).collect());
            union.insert("discriminator".into(), json!({ "propertyName": TAG, "mapping": mapping }));
        }
        let described = variants.into_iter().zip(&tags).map(|(variant, tag)| described(variant, tag, &name));
        schemas.extend(targets.into_iter().zip(described));
    }
    schemas.sort_keys();
    schemas
}

/// Returns the tag of a variant, if it has exactly one value.
fn tag(variant: &Value) -> Option<String> {
    let values = variant.get("properties")?.get(TAG)?.get("enum")?.as_array()?;
    if let [Value::String(value)] = &**values { Some(value.clone()) } else { None }
}

fn described(mut variant: Value, tag: &str, union: &str) -> Value {
    if let Some(Value::Object(property)) = variant.pointer_mut("/properties/type") {
        property.insert("description".into(), format!("Always `{tag}`.").into());
    }
    if let Some(variant) = variant.as_object_mut() {
        variant.entry("description").or_insert_with(|| format!("A `{union}` of type `{tag}`.").into());
    }
    variant
}

fn pascal_case(tag: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    tag.split(['_', '.', '-']).filter_map(capitalised).collect()
}

/// Replaces copies of components by references, and maps that may be null by unions with null.
fn with_references(schemas: Object) -> Object {
    let referred = schemas.iter().map(|(name, schema)| {
        let inner = schema.as_object().into_iter().flatten();
        let inner = inner.map(|(key, value)| (key.clone(), referred(value, &schemas)));
        (name.clone(), inner.collect::<Object>().into())
    });
    referred.collect()
}

fn referred(value: &Value, schemas: &Object) -> Value {
    match value {
        Value::Array(list) => list.iter().map(|value| referred(value, schemas)).collect(),
        Value::Object(object) => {
            let same =
                |(_, component): &(&String, &Value)| object.contains_key("properties") && *component == value;
            if let Some((name, _)) = schemas.iter().find(same) {
                return json!({ "$ref": format!("{COMPONENTS}{name}") });
            }
            let inner = object.iter().map(|(key, value)| (key.clone(), referred(value, schemas)));
            without_null_map(inner.collect())
        }
        other => other.clone(),
    }
}

fn without_null_map(mut schema: Object) -> Value {
    if schema.get(TAG) != Some(&json!(["object", "null"])) {
        return schema.into();
    }
    let description = schema.remove("description");
    schema.insert(TAG.into(), "object".into());
    let mut union = json!({ "oneOf": [schema, { "type": "null" }] });
    if let (Some(description), Some(union)) = (description, union.as_object_mut()) {
        union.insert("description".into(), description);
    }
    union
}

fn with_examples(mut schemas: Object) -> Object {
    for (name, example) in examples() {
        if let Some(Value::Object(schema)) = schemas.get_mut(&name) {
            schema.insert("examples".into(), json!([example]));
        }
    }
    schemas
}

fn examples() -> Object {
    serde_json::from_str(include_str!("description/examples.json")).unwrap_or_default()
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(COMPONENTS)
}

fn members(schema: &Value, keyword: &str) -> Object {
    schema.get(keyword).and_then(Value::as_object).cloned().unwrap_or_default()
}
