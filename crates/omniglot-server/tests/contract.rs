//! Proves that clients of the published contract can use our API: each of its operations, parameters,
//! properties, enum values and required fields exists in our description, by the same name and type.
//!
//! We may offer more. `tests/contract/openapi.json` is the contract, verbatim; it is OpenAPI 3.0 and ours is
//! 3.1, so both are converted to one form first (`contract/shape.rs`).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test; helpers beside test functions count as code"
)]

#[path = "contract/compare.rs"]
mod compare;
#[path = "contract/joined.rs"]
mod joined;
#[path = "contract/shape.rs"]
mod shape;

use compare::Documents;
use serde_json::Value;

/// Parameters for which we accept less than the contract, with the reason.
const STRICTER: &[(&str, &str)] = &[
    // A client that follows empty pages that promise more would loop forever.
    (r#"get /v1/sessions/{session_id}/events parameter "limit""#, "minimum"),
];

/// Schemas of the contract that no operation refers to: they hold the query parameters of an operation, where
/// we describe them.
const DESCRIBED_AS_PARAMETERS: &[(&str, &str)] = &[
    ("EventsQuery", "/paths/~1v1~1sessions~1{session_id}~1events/get/parameters"),
    ("FsDeleteQuery", "/paths/~1v1~1fs~1entry/delete/parameters"),
    ("FsEntriesQuery", "/paths/~1v1~1fs~1entries/get/parameters"),
    ("FsPathQuery", "/paths/~1v1~1fs~1file/get/parameters"),
    ("FsSessionQuery", "/paths/~1v1~1fs~1move/post/parameters"),
    ("FsUploadBatchQuery", "/paths/~1v1~1fs~1upload-batch/post/parameters"),
    ("TurnStreamQuery", "/paths/~1v1~1sessions~1{session_id}~1messages~1stream/post/parameters"),
];

/// Everything that need not exist under its own name.
fn excused() -> Vec<String> {
    let schemas = DESCRIBED_AS_PARAMETERS.iter().map(|(name, _)| format!("schema {name}"));
    schemas.collect()
}

fn documents() -> Documents {
    let theirs = serde_json::from_str(include_str!("contract/openapi.json")).unwrap();
    let ours = omniglot_server::openapi();
    Documents { theirs, ours }
}

#[test]
fn the_contract_is_kept() {
    let differences = documents().differences(&excused());
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn what_is_described_as_parameters_is_complete() {
    let documents = documents();
    for (schema, pointer) in DESCRIBED_AS_PARAMETERS {
        let properties = documents.theirs["components"]["schemas"][schema]["properties"].as_object().unwrap();
        let parameters = documents.ours.pointer(pointer).unwrap().as_array().unwrap();
        for name in properties.keys() {
            // The contract names schemas' members in camelCase, the same parameters in snake_case.
            let same = |p: &Value| p["name"] == snake_case(name) && p["in"] == "query";
            assert!(parameters.iter().any(same), "{schema}: {name}");
        }
    }
}

fn snake_case(name: &str) -> String {
    let parts = name.chars().map(|c| match c.is_ascii_uppercase() {
        true => format!("_{}", c.to_ascii_lowercase()),
        false => c.to_string(),
    });
    parts.collect()
}

#[test]
fn the_contract_has_the_operations_we_think_it_has() {
    let documents = documents();
    let paths = documents.theirs["paths"].as_object().unwrap();
    assert_eq!(paths.values().map(|item| item.as_object().unwrap().len()).sum::<usize>(), 23);
}

#[test]
fn a_missing_property_type_or_enum_value_is_noticed() {
    let broken = [
        ("/components/schemas/SessionInfo/properties/ended", Value::Null),
        ("/components/schemas/SessionInfo/properties/agent/type", "integer".into()),
        ("/components/schemas/ItemKind/enum/0", "nonsense".into()),
        ("/components/schemas/MessageRequest/required/0", "nonsense".into()),
        ("/paths/~1v1~1sessions/get/operationId", "nonsense".into()),
        ("/paths/~1v1~1sessions~1{session_id}~1events/get/parameters/1/name", "nonsense".into()),
    ];
    for (pointer, value) in broken {
        let mut documents = documents();
        *documents.ours.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        assert!(!documents.differences(&excused()).is_empty(), "{pointer}");
    }
}

#[test]
fn the_description_is_openapi_3_1_and_refers_to_nothing_that_is_missing() {
    let Documents { ours, .. } = documents();
    assert!(ours["openapi"].as_str().unwrap().starts_with("3.1"));
    for name in shape::references(&ours) {
        assert!(ours["components"]["schemas"].get(&name).is_some(), "{name} is not described");
    }
}
