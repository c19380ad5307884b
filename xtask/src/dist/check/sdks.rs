//! Both SDKs: installed from their packages, and the example of their README run against a daemon of the archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::Packages;
use super::files::unpacked;
use super::home::{Home, expect, succeed};
use crate::agents;
use crate::dist::npm::tarball;
use crate::dist::python::{source, wheel};
use crate::dist::quietly;
use crate::shell::Line;

/// The packages that the wheel depends on.
const WHEELS: &str = "target/dist-check/wheels";

/// Downloads what the wheel needs of others, unless it is there.
pub(super) fn fetch() -> anyhow::Result<()> {
    agents::provided("node")?;
    let (python, _) = agents::provided("hatchling")?;
    let marker = Path::new(WHEELS).join("complete");
    if !marker.exists() {
        let pip = format!("{} -m pip download --quiet --disable-pip-version-check", python.display());
        // Hatchling builds the source package.
        quietly(&Line::new(&format!("{pip} --dest {WHEELS} httpx==0.28.1 hatchling==1.33.0")))?;
        fs::write(marker, "")?;
    }
    Ok(())
}

/// Returns the first program in this language of a README.
fn example(readme: &str, language: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(readme)?;
    let block = text.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
    Ok(block.with_context(|| format!("{readme} has no program"))?.to_owned())
}

/// Runs an example with a daemon; it allows what the agent asks for, and waits for the end of the turn.
fn play(packages: &Packages, home: &Home, program: &mut Command) -> anyhow::Result<()> {
    let release = unpacked(packages, home)?;
    let daemon = home.daemon(&release.join("bin/omniglot"))?;
    expect(&succeed(daemon.tell(program)?)?, &["allowed: ", "end_turn"])
}

pub(super) fn check_node(packages: &Packages) -> anyhow::Result<String> {
    let home = Home::new()?;
    let file = packages.folder.join(tarball("sdk"));
    succeed(
        home.command("npm").args(["install", "--offline", "--loglevel=error", "--prefix", "."]).arg(file),
    )?;
    fs::write(home.path().join("example.mts"), example("sdk/typescript/README.md", "ts")?)?;
    let (node, _) = agents::provided("node")?;
    let node = fs::canonicalize(node)?;
    play(packages, &home, home.command(node).arg("example.mts"))?;
    Ok("the README's program, with the installed package".to_owned())
}

pub(super) fn check_python(packages: &Packages) -> anyhow::Result<String> {
    for package in [wheel(), source()] {
        let home = Home::new()?;
        let python = installed(packages, &home, &package).with_context(|| package.clone())?;
        fs::write(home.path().join("example.py"), example("sdk/python/README.md", "python")?)?;
        play(packages, &home, home.command(python).arg("example.py")).with_context(|| package)?;
    }
    Ok("the README's program, with the wheel and with the source package".to_owned())
}

/// Installs a package into a virtual environment of the home; returns its Python.
fn installed(packages: &Packages, home: &Home, package: &str) -> anyhow::Result<PathBuf> {
    succeed(home.command("python3").args(["-m", "venv", "venv"]))?;
    let python = home.path().join("venv/bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--find-links"];
    let wheels = fs::canonicalize(WHEELS)?;
    succeed(home.command(&python).args(pip).arg(wheels).arg(packages.folder.join(package)))?;
    Ok(python)
}
