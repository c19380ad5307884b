//! The direction of dependencies inside two crates: layers of the runtime use only those beneath them, faces of
//! the server use no other face.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::sources::rust_files;

/// A module with its folder, and the paths of its crate that must not occur in it.
struct Layer {
    source: &'static str,
    module: &'static str,
    above: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer {
        source: "crates/omniglot-runtime/src",
        module: "process",
        above: &["crate::agent", "crate::session", "crate::hub"],
    },
    Layer {
        source: "crates/omniglot-runtime/src",
        module: "agent",
        above: &["crate::session", "crate::hub"],
    },
    Layer { source: "crates/omniglot-runtime/src", module: "session", above: &["crate::hub"] },
    Layer { source: "crates/omniglot-server/src", module: "http", above: &["crate::faces"] },
];

const FACES: &str = "crates/omniglot-server/src/faces";

pub(super) fn check() -> anyhow::Result<()> {
    let mut faults = vec![];
    for layer in LAYERS {
        let above: Vec<String> = layer.above.iter().map(|path| (*path).to_owned()).collect();
        faults.extend(module_faults(Path::new(layer.source), layer.module, &above)?);
    }
    let faces = faces()?;
    for face in &faces {
        let others: Vec<String> =
            faces.iter().filter(|other| *other != face).map(|other| format!("faces::{other}")).collect();
        faults.extend(module_faults(Path::new(FACES), face, &others)?);
    }
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// Returns the faces, which are the folders; a new one is checked without being named here.
fn faces() -> anyhow::Result<Vec<String>> {
    let mut names = vec![];
    for entry in fs::read_dir(FACES).context(FACES)? {
        let path = entry?.path();
        if path.is_dir() {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

fn module_faults(source: &Path, module: &str, above: &[String]) -> anyhow::Result<Vec<String>> {
    let mut files = vec![source.join(format!("{module}.rs"))];
    rust_files(&source.join(module), &mut files)?;
    let mut faults = vec![];
    for file in files.into_iter().filter(|file| !is_test(file)) {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        faults.extend(upward(&text, above).map(|(line, path)| {
            format!(
                "{}:{line}: `{module}` must not use `{path}`, which is above or beside it",
                file.display()
            )
        }));
    }
    Ok(faults)
}

/// Tests of a layer may use those above it.
fn is_test(file: &Path) -> bool {
    file.file_stem().is_some_and(|name| name == "tests")
        || file.components().any(|part| part.as_os_str() == "tests")
}

fn upward<'a>(text: &'a str, above: &'a [String]) -> impl Iterator<Item = (usize, &'a String)> {
    let found = |line: &str, path: &str| {
        line.match_indices(path).any(|(at, _)| {
            let next = line.get(at + path.len()..).and_then(|rest| rest.chars().next());
            next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
        })
    };
    let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(move |(number, line)| {
        above.iter().filter(move |path| found(line, path)).map(move |path| (number + 1, path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_upwards_is_found_and_a_longer_name_or_a_comment_is_not() {
        let above = ["crate::hub".to_owned()];
        let faults = |text: &str| upward(text, &above).map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(faults("use crate::error;\nuse crate::hub::Hub;\n"), [2]);
        assert_eq!(faults("use crate::hubris;\n// crate::hub is above\n"), [0; 0]);
    }
}
