//! The types of the SDKs below sdk/, generated from docs/openapi.json and kept in the repository, so that nobody
//! needs the generators to use them. Tests say when they are stale.

use std::fs;

use anyhow::Context as _;

use crate::agents;
use crate::shell::Line;

const DOCUMENT: &str = "docs/openapi.json";

pub(crate) fn write() -> anyhow::Result<()> {
    let node = agents::program("node")?;
    agents::program("openapi-typescript")?;
    let generator = ".agents/openapi-typescript/node_modules/openapi-typescript/bin/cli.js";
    let node = node.display();
    Line::new(&format!("{node} {generator} {DOCUMENT} -o sdk/typescript/src/generated.ts")).run()?;
    let python = agents::program("sdk-python")?;
    // The test of the Python SDK gives the same switches.
    let switches = fs::read_to_string("sdk/python/generate.txt").context("the generator's switches")?;
    let switches = switches.split_whitespace().collect::<Vec<_>>().join(" ");
    let generator = format!("{} -m datamodel_code_generator", python.display());
    Line::new(&format!("{generator} {switches} --input {DOCUMENT} --output sdk/python/omniglot_sdk/types.py"))
        .run()
}
