//! The bill of materials: CycloneDX 1.5 in JSON. It has no time and no random id, so the same sources give the same
//! file.

use anyhow::Context as _;
use serde::Serialize;

use super::VERSION;
use super::components::Component;

pub(super) fn name() -> String {
    format!("omniglot-{VERSION}.cdx.json")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bill<'a> {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u32,
    metadata: Metadata<'a>,
    components: Vec<Part<'a>>,
    dependencies: Vec<Edge<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    component: Part<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    r#type: &'static str,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    scope: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    licenses: Vec<License<'a>>,
    purl: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    external_references: Vec<Reference<'a>>,
}

#[derive(Serialize)]
struct Hash<'a> {
    alg: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct License<'a> {
    expression: &'a str,
}

#[derive(Serialize)]
struct Reference<'a> {
    r#type: &'static str,
    url: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Edge<'a> {
    r#ref: String,
    depends_on: &'a [String],
}

pub(super) fn document(components: &[Component]) -> anyhow::Result<String> {
    let is_program = |component: &Component| component.name == "omniglot" && component.is_ours;
    let program = components.iter().find(|component| is_program(component)).context("the program")?;
    let others = components.iter().filter(|component| !is_program(component));
    let bill = Bill {
        bom_format: "CycloneDX",
        spec_version: "1.5",
        version: 1,
        metadata: Metadata { component: part(program, "application") },
        components: others.map(|component| part(component, "library")).collect(),
        dependencies: components.iter().map(edge).collect(),
    };
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn part<'a>(component: &'a Component, r#type: &'static str) -> Part<'a> {
    let vcs = component.repository.iter().map(|url| Reference { r#type: "vcs", url });
    Part {
        r#type,
        reference: component.address(),
        name: &component.name,
        version: &component.version,
        description: component.description.as_deref().map(str::trim),
        scope: if component.is_shipped { "required" } else { "excluded" },
        hashes: component.checksum.iter().map(|content| Hash { alg: "SHA-256", content }).collect(),
        licenses: component.license.iter().map(|expression| License { expression }).collect(),
        purl: component.address(),
        external_references: vcs.collect(),
    }
}

fn edge(component: &Component) -> Edge<'_> {
    Edge { r#ref: component.address(), depends_on: &component.uses }
}
