//! The packages of npm: `@omniglot/cli`, which finds the program of its platform, a package for each program, and
//! `@omniglot/sdk`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::program::Arch;
use super::{LICENSE, THIRD_PARTY, VERSION, copy, copy_readme, quietly};
use crate::agents;
use crate::shell::Line;

const LAUNCHER: &str = "packaging/npm/cli";
const SDK: &str = "sdk/typescript";

type Object = Map<String, Value>;

/// Returns the name of a program's package, without the scope.
pub(super) fn platform(arch: Arch) -> String {
    format!("cli-linux-{}", arch.node_name())
}

/// Returns the file name that npm gives the tarball of a package of ours.
pub(super) fn tarball(package: &str) -> String {
    format!("omniglot-{package}-{VERSION}.tgz")
}

pub(super) fn pack(programs: &[(Arch, PathBuf)], out: &Path) -> anyhow::Result<()> {
    let launcher = read(Path::new(LAUNCHER))?;
    for (arch, program) in programs {
        let folder = TempDir::new()?;
        copy(program, &folder.path().join("bin/omniglot"), 0o755)?;
        copy(&out.join(THIRD_PARTY), &folder.path().join(THIRD_PARTY), 0o644)?;
        let package = json!({
            "name": format!("@omniglot/{}", platform(*arch)),
            "version": VERSION,
            "description": format!("The program of @omniglot/cli for Linux on {}", arch.name()),
            "license": launcher.get("license"),
            "repository": launcher.get("repository"),
            "os": ["linux"],
            "cpu": [arch.node_name()],
            "files": ["bin", LICENSE, THIRD_PARTY],
            // A program cannot be started inside an archive.
            "preferUnplugged": true,
        });
        finish(folder.path(), &package, &platform(*arch), out)?;
    }
    pack_launcher(launcher, programs, out)?;
    pack_sdk(out)
}

fn pack_launcher(mut package: Object, programs: &[(Arch, PathBuf)], out: &Path) -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    copy(&Path::new(LAUNCHER).join("bin/omniglot.js"), &folder.path().join("bin/omniglot.js"), 0o755)?;
    copy(&Path::new(LAUNCHER).join("README.md"), &folder.path().join("README.md"), 0o644)?;
    let platforms =
        programs.iter().map(|(arch, _)| (format!("@omniglot/{}", platform(*arch)), json!(VERSION)));
    package.insert("version".to_owned(), json!(VERSION));
    package.insert("optionalDependencies".to_owned(), Value::Object(platforms.collect()));
    finish(folder.path(), &Value::Object(package), "cli", out)
}

/// Compiles the SDK as its own script does, with the pinned compiler.
fn pack_sdk(out: &Path) -> anyhow::Result<()> {
    let mut package = read(Path::new(SDK))?;
    if package.get("version") != Some(&json!(VERSION)) {
        bail!("{SDK}/package.json has another version than {VERSION}");
    }
    let (node, _) = agents::provided("node")?;
    agents::provided("openapi-typescript")?;
    let compiler = ".agents/openapi-typescript/node_modules/typescript/bin/tsc";
    let folder = TempDir::new()?;
    let dist = folder.path().join("dist");
    for switches in ["", "--removeComments --declaration false"] {
        let words = format!("{} {compiler} -p {SDK} --outDir {} {switches}", node.display(), dist.display());
        quietly(&Line::new(&words))?;
    }
    copy_readme(SDK, folder.path())?;
    // Who installs the package builds nothing.
    package.remove("scripts");
    package.remove("devDependencies");
    finish(folder.path(), &Value::Object(package), "sdk", out)
}

fn read(folder: &Path) -> anyhow::Result<Object> {
    let file = folder.join("package.json");
    serde_json::from_str(&fs::read_to_string(&file)?).with_context(|| file.display().to_string())
}

/// Adds the licence and the description, and has npm make the tarball.
fn finish(folder: &Path, package: &Value, name: &str, out: &Path) -> anyhow::Result<()> {
    copy(Path::new(LICENSE), &folder.join(LICENSE), 0o644)?;
    fs::write(folder.join("package.json"), serde_json::to_string_pretty(package)? + "\n")?;
    let npm = "npm pack --ignore-scripts --loglevel=error --offline --pack-destination";
    quietly(&Line::new(&format!("{npm} {} {}", out.display(), folder.display())))?;
    let file = out.join(tarball(name));
    if file.is_file() { Ok(()) } else { bail!("npm has not made {}", file.display()) }
}
