//! The direction of dependencies: the allowed uses among our crates, and the purity of the pure ones.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::shell::Line;

/// Each crate and those of ours that it may use. Tests may use more; a product crate never uses the testkit.
const ALLOWED: &[(&str, &[&str])] = &[
    ("omniglot-schema", &[]),
    ("omniglot-timeline", &["omniglot-schema"]),
    ("omniglot-agents", &["omniglot-schema", "omniglot-timeline"]),
    ("omniglot-rules", &["omniglot-schema"]),
    ("omniglot-store", &["omniglot-schema"]),
    (
        "omniglot-runtime",
        &["omniglot-schema", "omniglot-timeline", "omniglot-agents", "omniglot-rules", "omniglot-store"],
    ),
    ("omniglot-server", &["omniglot-schema", "omniglot-timeline", "omniglot-store", "omniglot-runtime"]),
    ("omniglot-client", &["omniglot-schema"]),
    (
        "omniglot",
        &[
            "omniglot-schema",
            "omniglot-timeline",
            "omniglot-agents",
            "omniglot-rules",
            "omniglot-store",
            "omniglot-runtime",
            "omniglot-server",
            "omniglot-client",
        ],
    ),
    ("omniglot-testkit", &["omniglot-schema", "omniglot-timeline", "omniglot-client"]),
    ("xtask", &["omniglot-agents"]),
];

/// Crates that must not wait, open or listen: no runtime may be below them.
const PURE: &[&str] = &["omniglot-schema", "omniglot-timeline", "omniglot-agents", "omniglot-rules"];
const IMPURE: &[&str] = &["tokio", "mio", "async-io", "hyper", "rusqlite"];

pub(super) fn check() -> anyhow::Result<()> {
    let mut faults = vec![];
    for package in workspace()? {
        faults.extend(edge_faults(&package));
    }
    for name in PURE {
        let tree = Line::new(&format!("cargo tree --quiet -e normal -p {name} --prefix none --format {{p}}"))
            .stdout()?;
        faults.extend(purity_faults(name, &tree));
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}", faults.join("\n"))
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or null for a dependency of the product.
    kind: Option<String>,
}

fn workspace() -> anyhow::Result<Vec<Package>> {
    let json = Line::new("cargo metadata --no-deps --format-version 1").stdout()?;
    let metadata: Metadata = serde_json::from_str(&json).context("cargo metadata")?;
    Ok(metadata.packages)
}

fn edge_faults(package: &Package) -> Vec<String> {
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package.name) else {
        return vec![format!("{} has no line in the table of xtask/src/test/edges.rs", package.name)];
    };
    let ours = package.dependencies.iter().filter(|d| d.kind.is_none() && d.name.starts_with("omniglot"));
    let wrong = ours.filter(|d| !allowed.contains(&d.name.as_str()));
    wrong.map(|d| format!("{} must not use {}", package.name, d.name)).collect()
}

fn purity_faults(package: &str, tree: &str) -> Vec<String> {
    let below: BTreeSet<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let found = IMPURE.iter().filter(|name| below.contains(*name));
    found
        .map(|name| {
            format!("{package} must not reach {name}: see `cargo tree -e normal -p {package} -i {name}`")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &str, kind: Option<&str>) -> Package {
        let dependency = Dependency { name: uses.into(), kind: kind.map(str::to_owned) };
        Package { name: name.into(), dependencies: vec![dependency] }
    }

    #[test]
    fn an_edge_upwards_is_a_fault_unless_only_tests_use_it() {
        assert_eq!(
            edge_faults(&package("omniglot-schema", "omniglot-store", None)),
            ["omniglot-schema must not use omniglot-store"]
        );
        assert!(edge_faults(&package("omniglot-store", "omniglot-schema", None)).is_empty());
        assert!(edge_faults(&package("omniglot-runtime", "omniglot-testkit", Some("dev"))).is_empty());
        assert_eq!(edge_faults(&package("omniglot-new", "serde", None)).len(), 1);
    }

    #[test]
    fn a_runtime_below_a_pure_crate_is_a_fault() {
        assert!(purity_faults("omniglot-agents", "serde v1\ntokio-util v0.7\n").is_empty());
        assert_eq!(purity_faults("omniglot-agents", "serde v1\ntokio v1.2\n").len(), 1);
    }
}
