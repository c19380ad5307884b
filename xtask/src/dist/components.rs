//! The packages of others, and of ours, that the program is made of: as cargo selects them for it, and the scripts that
//! its screen in the browser has inside.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

use super::program::Arch;
use crate::shell::Line;
use crate::ui;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) ecosystem: &'static str,
    pub(super) license: Option<String>,
    pub(super) description: Option<String>,
    pub(super) repository: Option<String>,
    /// The SHA-256 of the package as the registry has it; our own have none.
    pub(super) checksum: Option<String>,
    /// Whether its code is in the program, and not only used to build it.
    pub(super) is_shipped: bool,
    pub(super) is_ours: bool,
    /// The folder with its files, if they are there.
    pub(super) folder: Option<PathBuf>,
    /// The addresses of the components that it uses.
    pub(super) uses: Vec<String>,
}

impl Component {
    /// Returns its package URL.
    pub(super) fn address(&self) -> String {
        address(self.ecosystem, &self.name, &self.version)
    }
}

fn address(ecosystem: &str, name: &str, version: &str) -> String {
    format!("pkg:{ecosystem}/{}@{}", name.replace('@', "%40"), version.replace('+', "%2B"))
}

/// A name and its version.
pub(super) type Package = (String, String);

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Crate>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Crate {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    repository: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

#[derive(Deserialize)]
struct NpmLock {
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Deserialize)]
struct NpmPackage {
    version: Option<String>,
    license: Option<String>,
    #[serde(default)]
    dev: bool,
}

/// Returns everything, by name and version.
pub(super) fn of_the_program() -> anyhow::Result<Vec<Component>> {
    let mut components = crates()?;
    components.extend(scripts()?);
    Ok(components)
}

fn crates() -> anyhow::Result<Vec<Component>> {
    let line =
        format!("cargo metadata --locked --format-version 1 --filter-platform {}", Arch::X86_64.target());
    let metadata: Metadata = serde_json::from_str(&Line::new(&line).stdout()?)?;
    // Metadata unites the features of all members; the tree has those of the program.
    let (built, shipped) = (tree("normal,build")?, tree("normal,no-proc-macro")?);
    let checksums = checksums()?;
    let packages: HashMap<_, _> = metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let nodes: HashMap<_, _> = metadata.resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let key = |package: &Crate| (package.name.clone(), package.version.clone());
    let mut components = vec![];
    for package in metadata.packages.iter().filter(|package| built.contains(&key(package))) {
        let used = nodes.get(&package.id).map_or(&[][..], |node| &node.dependencies[..]);
        let used = used.iter().filter_map(|id| packages.get(id)).filter(|used| built.contains(&key(used)));
        components.push(Component {
            name: package.name.clone(),
            version: package.version.clone(),
            ecosystem: "cargo",
            license: package.license.as_ref().map(|license| license.replace('/', " OR ")),
            description: package.description.clone(),
            repository: package.repository.clone(),
            checksum: checksums.get(&key(package)).cloned(),
            is_shipped: shipped.contains(&key(package)),
            is_ours: package.source.is_none(),
            folder: package.manifest_path.parent().map(Path::to_owned),
            uses: used.map(|used| address("cargo", &used.name, &used.version)).collect(),
        });
    }
    components.sort_by_key(Component::address);
    Ok(components)
}

/// Returns the packages that cargo selects for the program along these edges.
pub(super) fn tree(edges: &str) -> anyhow::Result<BTreeSet<Package>> {
    let target = Arch::X86_64.target();
    let line =
        format!("cargo tree --locked -p omniglot --target {target} -e {edges} --prefix none --format {{p}}");
    let lines = Line::new(&line).stdout()?;
    lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| package(line).with_context(|| line.to_owned()))
        .collect()
}

/// Reads a line such as `serde_derive v1.0.228 (proc-macro)`.
fn package(line: &str) -> Option<Package> {
    let mut words = line.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// Returns the sums of Cargo.lock.
pub(super) fn checksums() -> anyhow::Result<BTreeMap<Package, String>> {
    let lock: Lock = toml::from_str(&fs::read_to_string("Cargo.lock")?).context("Cargo.lock")?;
    let sums = lock.package.into_iter();
    Ok(sums.filter_map(|package| Some(((package.name, package.version), package.checksum?))).collect())
}

/// Returns the packages that are bundled into ui/dist.
fn scripts() -> anyhow::Result<Vec<Component>> {
    let lock: NpmLock = serde_json::from_str(&fs::read_to_string("ui/package-lock.json")?)?;
    // Their licences are in their folders.
    ui::install()?;
    let bundled = lock.packages.into_iter().filter(|(path, package)| !package.dev && !path.is_empty());
    let components = bundled.map(|(path, package)| {
        let folder = Path::new(ui::PACKAGES).join(&path);
        Some(Component {
            name: path.rsplit_once("node_modules/")?.1.to_owned(),
            version: package.version?,
            ecosystem: "npm",
            license: package.license,
            description: None,
            repository: None,
            checksum: None,
            is_shipped: true,
            is_ours: false,
            folder: folder.is_dir().then_some(folder),
            uses: vec![],
        })
    });
    components.map(|component| component.context("ui/package-lock.json")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let read = |line| package(line).unwrap();
        assert_eq!(read("serde_derive v1.0.228 (proc-macro)"), ("serde_derive".into(), "1.0.228".into()));
        assert_eq!(read("libc v0.2.1 (*)").1, "0.2.1");
        assert_eq!(package("serde"), None);
    }

    #[test]
    fn addresses_are_package_urls() {
        assert_eq!(address("npm", "@preact/signals", "2.11.4"), "pkg:npm/%40preact/signals@2.11.4");
        assert_eq!(
            address("cargo", "zstd-sys", "2.0.16+zstd.1.5.7"),
            "pkg:cargo/zstd-sys@2.0.16%2Bzstd.1.5.7"
        );
    }
}
