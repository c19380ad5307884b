//! Packages of Python, each in a virtual environment of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use super::quietly;
use crate::shell::Line;

/// The path below the folder of an environment.
pub(super) const PYTHON: &str = "bin/python";

/// Installs `package==version` at `prefix`.
pub(super) fn install(prefix: &str, packages: &[&str]) -> anyhow::Result<()> {
    quietly(&Line::new(&format!("python3 -m venv --clear {prefix}"))).context(
        "Python 3.10 or newer with its venv module is needed (on Debian: apt install python3-venv)",
    )?;
    let pip = format!("{prefix}/{PYTHON} -m pip install --quiet --disable-pip-version-check --no-input");
    quietly(&packages.iter().fold(Line::new(&pip), |line, package| line.arg(*package)))
}

/// Returns the version of the first package, which the others only support.
pub(super) fn version(folder: &Path, packages: &[&str]) -> anyhow::Result<String> {
    let wanted = packages.first().context("a package")?;
    let (name, version) = wanted.split_once("==").context("an exact version")?;
    // A link of the environment leads to the interpreter, which finds its packages by the link's path.
    let python = fs::canonicalize(folder)?.join(PYTHON);
    let question = format!("import importlib.metadata as m; print(m.version('{name}'))");
    let output = Command::new(&python).args(["-I", "-c", &question]).env_clear().output();
    let output = output.with_context(|| format!("{} does not start", python.display()))?;
    let told = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if told != version {
        bail!("expected version {version}, the environment says {told:?}");
    }
    Ok(told)
}
