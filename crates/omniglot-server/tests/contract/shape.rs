//! One form for the schemas of OpenAPI 3.0 and 3.1, so that only meaning is compared.

use serde_json::Value;

/// A schema with its nullability taken out: 3.0 writes `nullable`, 3.1 a `null` among types or variants.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) nullable: bool,
    /// Without wrappers that only carry a description or null.
    pub(crate) schema: Value,
}

pub(crate) fn shape(schema: &Value) -> Shape {
    let mut nullable = schema["nullable"] == true;
    let mut schema = schema.clone();
    schema.as_object_mut().map(|members| members.remove("nullable"));
    if let Some(types) = schema["type"].as_array() {
        nullable |= types.iter().any(|kind| kind == "null");
        let rest: Vec<Value> = types.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = if let [one] = &*rest { one.clone() } else { rest.into() };
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        let Some(variants) = schema[keyword].as_array().cloned() else { continue };
        let (nulls, rest): (Vec<_>, Vec<_>) =
            variants.into_iter().partition(|variant| variant["type"] == "null");
        nullable |= !nulls.is_empty();
        if let [one] = &*rest {
            let inner = shape(one);
            return Shape { nullable: nullable || inner.nullable, schema: inner.schema };
        }
        schema[keyword] = rest.into();
    }
    Shape { nullable, schema }
}

/// Returns the component that a schema refers to.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// `oneOf` and `anyOf` are equivalent as long as variants exclude each other.
pub(crate) fn variants(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())
}

/// Returns every component that is referred to anywhere below `value`.
pub(crate) fn references(value: &Value) -> Vec<String> {
    let mut found: Vec<String> = reference(value).map(str::to_owned).into_iter().collect();
    match value {
        Value::Array(list) => found.extend(list.iter().flat_map(references)),
        Value::Object(map) => found.extend(map.values().flat_map(references)),
        _ => {}
    }
    found
}
