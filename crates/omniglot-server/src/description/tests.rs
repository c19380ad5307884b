//! The whole description: what it says about properties, unions and examples.

use super::*;

fn document() -> Value {
    crate::openapi()
}

/// Returns the paths of all properties below a schema that neither they nor their type describe.
fn undescribed(at: &str, schema: &Value, schemas: &Object, found: &mut Vec<String>) {
    for (name, property) in members(schema, "properties") {
        let at = format!("{at}.{name}");
        undescribed(&at, &property, schemas, found);
        if !is_described(&property, schemas) {
            found.push(at);
        }
    }
    let inner = ["oneOf", "anyOf", "allOf"].iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    inner.flatten().chain(schema.get("items")).for_each(|inner| undescribed(at, inner, schemas, found));
}

fn is_described(schema: &Value, schemas: &Object) -> bool {
    let target = reference(schema).and_then(|name| schemas.get(name));
    let variants = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    schema.get("description").is_some()
        || target.is_some_and(|target| is_described(target, schemas))
        || variants.into_iter().any(|variant| is_described(variant, schemas))
}

#[test]
fn every_property_and_every_component_is_described() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut found = vec![];
    for (name, schema) in schemas {
        undescribed(name, schema, schemas, &mut found);
        if schema.get("description").is_none() {
            found.push(name.clone());
        }
    }
    assert!(found.is_empty(), "{} without a description:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_example_is_of_a_component_and_fits_it() {
    let document = document();
    for (name, example) in examples() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": format!("{COMPONENTS}{name}"),
            "components": document["components"],
        });
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(document["components"]["schemas"].get(&name).is_some(), "no component {name}");
        validator.validate(&example).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Returns whether a media type has an example of its own, or its schema's component has.
fn has_example(content: &Value, schemas: &Value) -> bool {
    let schema = &content["schema"];
    let variants = schema["oneOf"].as_array().into_iter().flatten().chain([schema]);
    let mut named = variants.filter_map(reference);
    content.get("example").is_some() || named.any(|name| schemas[name].get("examples").is_some())
}

#[test]
fn every_event_and_every_json_body_of_a_request_has_an_example() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let events = schemas["UniversalEvent"]["oneOf"].as_array().unwrap().iter().filter_map(reference);
    let mut without: Vec<String> =
        events.filter(|name| schemas[name].get("examples").is_none()).map(str::to_owned).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let json = &operation["requestBody"]["content"]["application/json"];
            if json.is_object() && !has_example(json, schemas) {
                without.push(format!("{method} {path}"));
            }
        }
    }
    assert!(without.is_empty(), "without an example:\n{}", without.join("\n"));
}

#[test]
fn every_tagged_union_names_its_tag_and_a_component_for_each_variant() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (name, variants) in
        [("UniversalEvent", 14), ("ContentPart", 8), ("PendingRequest", 2), ("McpServerConfig", 2)]
    {
        let union = &schemas[name];
        let mapping = union["discriminator"]["mapping"].as_object().unwrap();
        assert_eq!((union["oneOf"].as_array().unwrap().len(), mapping.len()), (variants, variants), "{name}");
        for (tag, target) in mapping {
            let target = target.as_str().unwrap().strip_prefix(COMPONENTS).unwrap();
            assert_eq!(schemas[target]["properties"]["type"]["enum"], json!([tag]), "{name}");
        }
    }
    assert_eq!(schemas["ItemDeltaEvent"]["properties"]["data"]["$ref"], format!("{COMPONENTS}ItemDeltaData"));
}

#[test]
fn no_component_is_a_composition_and_copies_are_references() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.values().all(|schema| schema.get("allOf").is_none()));
    assert_eq!(schemas["Listed_Todo"]["oneOf"][0]["items"], json!({ "$ref": format!("{COMPONENTS}Todo") }));
    assert_eq!(
        schemas["SessionDetail"]["properties"]["status"]["$ref"],
        format!("{COMPONENTS}SessionStatus")
    );
}
