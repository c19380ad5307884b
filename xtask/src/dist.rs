//! `cargo xtask dist`: the packages that are published, below target/dist. `cargo xtask dist --check` installs each
//! from its files and uses it.
//!
//! The sources of the packages that are no code are in packaging/. Nothing is published here.

mod archive;
mod check;
mod components;
mod licenses;
mod npm;
mod program;
mod python;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use crate::shell::Line;
use program::Arch;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pack this program for x86_64 instead of building one. It need not be static, also for `--check`.
    #[arg(long, value_name = "PROGRAM")]
    binary: Option<PathBuf>,
    /// Pack a program for arm64, too; it is compiled here and cannot be tried.
    #[arg(long)]
    aarch64: bool,
    /// Build nothing: install each package of target/dist from its files, without network, and use it.
    #[arg(long)]
    check: bool,
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENSE: &str = "LICENSE";
const SUMS: &str = "SHA256SUMS";
const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// Returns the folder of the packages.
fn folder() -> PathBuf {
    Path::new("target").join("dist")
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.check {
        return check::run(args.binary.is_some());
    }
    let programs = programs(args)?;
    let out = folder();
    empty(&out)?;
    let parts = components::of_the_program()?;
    fs::write(out.join(sbom::name()), sbom::document(&parts)?)?;
    fs::write(out.join(THIRD_PARTY), licenses::document(&parts)?)?;
    let share = archive::share(&programs, &out)?;
    for (arch, program) in &programs {
        archive::write(*arch, program, share.path(), &out)?;
    }
    npm::pack(&programs, &out)?;
    python::pack(&out)?;
    for (file, mode) in [("install.sh", 0o755), ("Dockerfile", 0o644)] {
        copy(&Path::new("packaging").join(file), &out.join(file), mode)?;
    }
    let sums = sums(&out)?;
    fs::write(out.join(SUMS), &sums)?;
    println!("{}\n{sums}", out.display());
    println!("`cargo xtask dist --check` installs and uses them");
    Ok(())
}

/// Returns the programs to pack, the one of this machine first.
fn programs(args: &Args) -> anyhow::Result<Vec<(Arch, PathBuf)>> {
    let own = match &args.binary {
        Some(program) => program.clone(),
        None => program::build(Arch::X86_64)?,
    };
    let mut programs = vec![(Arch::X86_64, own)];
    if args.aarch64 {
        programs.push((Arch::Aarch64, program::build(Arch::Aarch64)?));
    }
    for (arch, program) in &programs {
        let found = program::inspect(program)?;
        if found.machine != arch.machine() {
            bail!("{} is not for {}", program.display(), arch.name());
        }
        match (found.is_static, &args.binary) {
            (true, _) => {}
            (false, Some(_)) => println!("note: {} is not static", program.display()),
            (false, None) => bail!("{} is not static", program.display()),
        }
    }
    Ok(programs)
}

/// Returns the sums of all files in a folder, as `sha256sum` writes them.
fn sums(folder: &Path) -> anyhow::Result<String> {
    let mut lines = vec![];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != SUMS && entry.file_type()?.is_file() {
            lines.push((name, sha256(&fs::read(entry.path())?)));
        }
    }
    lines.sort();
    Ok(lines.into_iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a folder that has nothing in it.
fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

/// Copies a file, with the folders above it, and gives it a mode.
fn copy(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

/// Copies the README of an SDK; what it links to in the repository is not in a package.
fn copy_readme(folder: &str, to: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(Path::new(folder).join("README.md"))?;
    let repository = concat!("](", env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    Ok(fs::write(to.join("README.md"), text.replace("](../../", repository))?)
}

/// Runs a line without a word; returns its output, which is the error when it fails.
fn quietly(line: &Line) -> anyhow::Result<String> {
    let (success, output) = line.capture()?;
    if !success {
        bail!("{}\n{output}", line.typed());
    }
    Ok(output)
}
