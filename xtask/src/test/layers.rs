//! The direction of dependencies inside two crates: a layer uses only those beneath it, a face uses no other face
//! and has the parts that every face has.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::sources::rust_files;

/// The modules of a folder, lowest first. Modules of one layer may use each other.
struct Layers {
    source: String,
    /// The path of the folder's module in its crate.
    module: Vec<String>,
    order: &'static [&'static [&'static str]],
    /// Modules that none of these may use.
    others: Vec<Vec<String>>,
}

const RUNTIME: &str = "crates/omniglot-runtime/src";
const SERVER: &str = "crates/omniglot-server/src";

const RUNTIME_ORDER: &[&[&str]] = &[
    &[
        "caller",
        "config",
        "confined",
        "data_url",
        "deadlines",
        "digest",
        "error",
        "files",
        "log_context",
        "metrics",
    ],
    &["process"],
    &["snapshots"],
    &["agent"],
    &["session"],
    &["hub"],
];
const SERVER_ORDER: &[&[&str]] = &[&["http"], &["hooks"], &["faces"]];
/// The parts of a face.
const FACE_ORDER: &[&[&str]] = &[&["wire"], &["project"], &["state"], &["routes"]];

pub(super) fn check() -> anyhow::Result<()> {
    let top =
        |source: &str, order| Layers { source: source.to_owned(), module: vec![], order, others: vec![] };
    let mut faults = layer_faults(&top(RUNTIME, RUNTIME_ORDER), &reexports(RUNTIME)?)?;
    faults.extend(unknown_parts(Path::new(RUNTIME), &top(RUNTIME, RUNTIME_ORDER))?);
    faults.extend(layer_faults(&top(SERVER, SERVER_ORDER), &HashMap::new())?);
    let faces = faces()?;
    for face in &faces {
        let path = |name: &str| vec!["faces".to_owned(), name.to_owned()];
        let others = faces.iter().filter(|other| *other != face).map(|other| path(other)).collect();
        let source = format!("{SERVER}/faces/{face}");
        let layers = Layers { source, module: path(face), order: FACE_ORDER, others };
        faults.extend(unknown_parts(Path::new(&layers.source), &layers)?);
        faults.extend(layer_faults(&layers, &HashMap::new())?);
    }
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// Returns the faces, which are the folders; a new one is checked without being named here.
fn faces() -> anyhow::Result<Vec<String>> {
    let names = entries(&Path::new(SERVER).join("faces"))?;
    Ok(names.into_iter().filter(|name| !name.ends_with(".rs")).collect())
}

fn entries(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = vec![];
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Returns what stands in a folder beside its layers.
fn unknown_parts(folder: &Path, layers: &Layers) -> anyhow::Result<Vec<String>> {
    let names = entries(folder)?;
    let is_known = |name: &str| name == "lib" || layers.order.concat().contains(&name);
    let unknown = names.iter().filter(|name| !is_known(name.trim_end_matches(".rs")));
    Ok(unknown.map(|name| format!("{}/{name}: this folder has no such layer", folder.display())).collect())
}

/// Returns the names at the root of a crate that stand for others, with their paths.
fn reexports(source: &str) -> anyhow::Result<HashMap<String, Vec<String>>> {
    let file = Path::new(source).join("lib.rs");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let paths = text.split("pub use ").skip(1).flat_map(|tree| expand(tree, &[]));
    Ok(paths.filter_map(|path| Some((path.last()?.clone(), path))).collect())
}

fn layer_faults(layers: &Layers, reexports: &HashMap<String, Vec<String>>) -> anyhow::Result<Vec<String>> {
    let mut faults = vec![];
    for (height, module) in
        (0..).zip(layers.order).flat_map(|(height, layer)| layer.iter().map(move |m| (height, m)))
    {
        let above = layers.order.iter().skip(height + 1).flat_map(|layer| layer.iter());
        let above = above.map(|name| [&layers.module[..], &[(*name).to_owned()]].concat());
        let above: Vec<Vec<String>> = above.chain(layers.others.iter().cloned()).collect();
        let source = Path::new(&layers.source);
        let mut files = vec![source.join(format!("{module}.rs"))];
        if source.join(module).is_dir() {
            rust_files(&source.join(module), &mut files)?;
        }
        for file in files.into_iter().filter(|file| file.exists() && !is_test(file)) {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let inner = file.strip_prefix(source)?.with_extension("");
            let inner = inner.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
            let here: Vec<String> = layers.module.iter().cloned().chain(inner).collect();
            faults.extend(upward(&text, &here, &above, reexports).into_iter().map(|(line, path)| {
                let (file, here) = (file.display(), here.join("::"));
                format!("{file}:{line}: `{here}` must not use `{path}`, which is above or beside it")
            }));
        }
    }
    Ok(faults)
}

/// Tests of a layer may use those above it.
fn is_test(file: &Path) -> bool {
    file.components().any(|part| Path::new(part.as_os_str()).file_stem().is_some_and(|name| name == "tests"))
}

/// Returns the paths of a module's code that lead to modules above it, with their lines.
fn upward(
    text: &str,
    here: &[String],
    above: &[Vec<String>],
    reexports: &HashMap<String, Vec<String>>,
) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code.split_inclusive('\n').map(without_comment).collect();
    let mut faults = vec![];
    for (at, start) in ["crate::", "super::"].iter().flat_map(|start| code.match_indices(start)) {
        let before = code.get(..at).unwrap_or_default();
        // The middle of a longer path, which was read from its start.
        if before.ends_with("::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = code.get(at + start.len()..).unwrap_or_default();
        let climbs = rest.split("super::").take_while(|part| part.is_empty()).count();
        let rest = rest.get(climbs * "super::".len()..).unwrap_or_default();
        let base = match start {
            "crate::" => vec![],
            _ => here.iter().take(here.len().saturating_sub(climbs + 1)).cloned().collect(),
        };
        for path in expand(rest, &base) {
            let path = path
                .first()
                .and_then(|name| reexports.get(name))
                .filter(|_| path.len() == 1)
                .unwrap_or(&path);
            if above.iter().any(|above| path.starts_with(above)) {
                faults.push((before.matches('\n').count() + 1, path.join("::")));
            }
        }
    }
    faults
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") { "\n" } else { line }
}

/// Returns the paths of a tree such as `a::{b, c::{self, D}}`, below `base`.
fn expand(tree: &str, base: &[String]) -> Vec<Vec<String>> {
    if let Some(group) = tree.strip_prefix('{') {
        return branches(group).into_iter().flat_map(|branch| expand(branch, base)).collect();
    }
    let end = tree.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tree.len());
    let (name, rest) = tree.split_at(end);
    let mut path = base.to_vec();
    if !name.is_empty() && name != "self" {
        path.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| c == '{' || c == '_' || c.is_alphabetic()) => {
            expand(rest, &path)
        }
        _ => vec![path],
    }
}

/// Splits the inside of a group at its own commas, up to its end.
fn branches(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, vec![]);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                found.extend(group.get(start..at).map(str::trim).filter(|branch| !branch.is_empty()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> Vec<String> {
        path.split("::").map(str::to_owned).collect()
    }

    fn faults(text: &str) -> Vec<usize> {
        let reexports = HashMap::from([("Hub".to_owned(), path("hub::Hub"))]);
        let faults = upward(text, &path("agent::host::files"), &[path("hub"), path("session")], &reexports);
        faults.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_path_upwards_is_found_and_a_longer_name_or_a_comment_is_not() {
        assert_eq!(faults("use crate::error;\nuse crate::hub::Hub;\n"), [2]);
        assert_eq!(faults("fn f(hub: &crate::hub::Hub) {}"), [1]);
        assert_eq!(faults("use crate::hubris;\n// crate::hub is above\nuse crate::agent::hub;"), [0; 0]);
        assert_eq!(faults("#[cfg(test)]\nmod tests {\n    use crate::hub::Hub;\n}\n"), [0; 0]);
    }

    #[test]
    fn groups_are_read_branch_by_branch() {
        assert_eq!(faults("use crate::{error, hub};"), [1]);
        assert_eq!(faults("use crate::{\n    error::{A, B},\n    session::{self, Session},\n};"), [1, 1]);
        assert_eq!(faults("use crate::{agent::{hub, session}, error};"), [0; 0]);
    }

    #[test]
    fn a_path_that_climbs_out_of_its_layer_is_found() {
        assert_eq!(faults("use super::super::super::hub::Hub;"), [1]);
        assert_eq!(faults("use super::super::super::{error, hub};"), [1]);
        assert_eq!(faults("use super::super::hub;\nuse super::session;"), [0; 0]);
    }

    #[test]
    fn a_name_that_the_crate_gives_another_place_is_found() {
        assert_eq!(faults("use crate::Hub;\nuse crate::{Error, Hub};"), [1, 2]);
    }

    #[test]
    fn a_part_that_no_face_has_is_told() {
        let dir = std::env::temp_dir().join(format!("layers-{}", std::process::id()));
        fs::create_dir_all(dir.join("state")).unwrap();
        for file in ["wire.rs", "routes.rs", "settings.rs"] {
            fs::write(dir.join(file), "").unwrap();
        }
        let layers = Layers { source: String::new(), module: vec![], order: FACE_ORDER, others: vec![] };
        let unknown = unknown_parts(&dir, &layers).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        assert!(matches!(&unknown[..], [one] if one.contains("settings.rs")), "{unknown:?}");
    }
}
