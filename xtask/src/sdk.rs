//! The types of the SDKs below sdk/, generated from docs/openapi.json and kept in the repository, so that nobody
//! needs the generators to use them. Tests say when they are stale.

use crate::agents;
use crate::shell::Line;

const DOCUMENT: &str = "docs/openapi.json";

pub(crate) fn write() -> anyhow::Result<()> {
    let node = agents::program("node")?;
    agents::program("openapi-typescript")?;
    let generator = ".agents/openapi-typescript/node_modules/openapi-typescript/bin/cli.js";
    let node = node.display();
    Line::new(&format!("{node} {generator} {DOCUMENT} -o sdk/typescript/src/generated.ts")).run()
}
