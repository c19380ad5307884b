//! The wheel and the source package of `omniglot-sdk`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use super::{LICENSE, VERSION, copy, copy_readme, quietly};
use crate::agents;
use crate::shell::Line;

const SDK: &str = "sdk/python";

pub(super) fn wheel() -> String {
    format!("omniglot_sdk-{VERSION}-py3-none-any.whl")
}

pub(super) fn source() -> String {
    format!("omniglot_sdk-{VERSION}.tar.gz")
}

pub(super) fn pack(out: &Path) -> anyhow::Result<()> {
    let project = fs::read_to_string(format!("{SDK}/pyproject.toml"))?;
    if !project.lines().any(|line| line == format!("version = \"{VERSION}\"")) {
        bail!("{SDK}/pyproject.toml has another version than {VERSION}");
    }
    let folder = TempDir::new()?;
    copy(&Path::new(SDK).join("pyproject.toml"), &folder.path().join("pyproject.toml"), 0o644)?;
    copy_readme(SDK, folder.path())?;
    copy(Path::new(LICENSE), &folder.path().join(LICENSE), 0o644)?;
    for entry in fs::read_dir(format!("{SDK}/omniglot_sdk"))? {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().context("a file has a name")?;
            copy(&path, &folder.path().join("omniglot_sdk").join(name), 0o644)?;
        }
    }
    let (python, _) = agents::provided("hatchling")?;
    // A link of the environment leads to the interpreter, which finds its packages by the link's path.
    let python = std::path::absolute(python)?;
    let out = fs::canonicalize(out)?;
    let build = format!("{} -I -m hatchling build -d {}", python.display(), out.display());
    let line = Line::new("env -C").arg(folder.path().to_string_lossy());
    quietly(&build.split_whitespace().fold(line, Line::arg))?;
    for file in [wheel(), source()] {
        if !out.join(&file).is_file() {
            bail!("hatchling has not made {file}");
        }
    }
    Ok(())
}
