//! The files themselves: sums, the program in its archive, manual, completions, licences, and the bill of materials.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::Packages;
use super::home::{Home, expect, succeed};
use crate::dist::archive::{self, COMPLETIONS};
use crate::dist::components::{Package, checksums, tree};
use crate::dist::program::{Arch, inspect};
use crate::dist::{LICENSE, SUMS, THIRD_PARTY, VERSION, sbom, sums};

/// Unpacks the archive of this machine below a home; returns the folder with `bin/` and `share/`.
pub(super) fn unpacked(packages: &Packages, home: &Home) -> anyhow::Result<PathBuf> {
    let name = archive::name(Arch::X86_64);
    let file = packages.folder.join(format!("{name}.tar.gz"));
    succeed(home.command("tar").arg("-xzf").arg(file))?;
    Ok(home.path().join(name))
}

pub(super) fn check(packages: &Packages) -> anyhow::Result<String> {
    let written = fs::read_to_string(packages.folder.join(SUMS)).context(SUMS)?;
    if written != sums(&packages.folder)? {
        bail!("{SUMS} is not that of the files beside it");
    }
    let home = Home::new()?;
    let release = unpacked(packages, &home)?;
    let program = release.join("bin/omniglot");
    let found = inspect(&program)?;
    if !found.is_static && !packages.any_program {
        bail!("the program is not static; `--check --binary any` accepts it");
    }
    expect(&succeed(home.command(&program).arg("--version"))?, &[VERSION])?;
    home.try_first_command(home.command(&program))?;
    let share = release.join("share");
    let read = |file: &str| fs::read_to_string(share.join(file)).with_context(|| file.to_owned());
    expect(&read("man/man1/omniglot.1")?, &[".TH omniglot"])?;
    expect(&read("man/man1/omniglot-run.1")?, &["scratch"])?;
    for (_, file) in COMPLETIONS {
        expect(&read(file)?, &["OMNIGLOT_COMPLETE"])?;
    }
    expect(&read(&format!("doc/omniglot/{LICENSE}"))?, &["Apache License"])?;
    let texts = ["tokio ", "Permission is hereby granted", "preact ", "Rust's standard library"];
    expect(&read(&format!("doc/omniglot/{THIRD_PARTY}"))?, &texts)?;
    let size = fs::metadata(&program)?.len() / 1_000_000;
    Ok(format!("{} files, the program {size} MB, static: {}", written.lines().count(), found.is_static))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bill {
    bom_format: String,
    spec_version: String,
    metadata: Metadata,
    components: Vec<Part>,
    dependencies: Vec<Edge>,
}

#[derive(Deserialize)]
struct Metadata {
    component: Part,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    version: String,
    purl: String,
    #[serde(default)]
    licenses: Vec<License>,
    #[serde(default)]
    hashes: Vec<Hash>,
}

#[derive(Deserialize)]
struct License {
    expression: String,
}

#[derive(Deserialize)]
struct Hash {
    content: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edge {
    #[serde(rename = "ref")]
    from: String,
    depends_on: Vec<String>,
}

/// Compares the bill with what cargo selects, and its sums with Cargo.lock.
pub(super) fn check_sbom(packages: &Packages) -> anyhow::Result<String> {
    let bill: Bill = serde_json::from_str(&fs::read_to_string(packages.folder.join(sbom::name()))?)?;
    if (bill.bom_format.as_str(), bill.spec_version.as_str()) != ("CycloneDX", "1.5") {
        bail!("it is {} {}", bill.bom_format, bill.spec_version);
    }
    let parts: Vec<_> = bill.components.iter().chain([&bill.metadata.component]).collect();
    let crates = parts.iter().filter(|part| part.purl.starts_with("pkg:cargo/"));
    let crates: BTreeMap<Package, &Part> =
        crates.map(|part| ((part.name.clone(), part.version.clone()), *part)).collect();
    let built = tree("normal,build")?;
    let named: BTreeSet<_> = crates.keys().cloned().collect();
    if built != named {
        bail!("only one of the build and the bill has {:?}", built.symmetric_difference(&named));
    }
    let sums = checksums()?;
    for (package, part) in &crates {
        let told = part.hashes.first().map(|hash| &hash.content);
        if told != sums.get(package) {
            bail!("{package:?} has another sum in Cargo.lock");
        }
    }
    let addresses: BTreeSet<_> = parts.iter().map(|part| &part.purl).collect();
    let mut ends = bill.dependencies.iter().flat_map(|edge| edge.depends_on.iter().chain([&edge.from]));
    if let Some(unknown) = ends.find(|end| !addresses.contains(end)) {
        bail!("a dependency on {unknown}, which is no component");
    }
    let is_silent = |part: &&&Part| part.licenses.iter().all(|license| license.expression.is_empty());
    if let Some(part) = parts.iter().find(is_silent) {
        bail!("{} has no licence", part.name);
    }
    Ok(format!("{} crates, {} components", crates.len(), parts.len()))
}
