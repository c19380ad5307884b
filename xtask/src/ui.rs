//! `cargo xtask ui`: the screen in the browser, built from ui/src into ui/dist, which is kept in the repository so
//! that nobody needs Node to build the daemon. `cargo xtask test` builds it again and compares every byte.
//!
//! The packages are those of ui/package-lock.json, below .agents/ui; the compressed files are made here, since each
//! version of zlib writes other bytes.

mod files;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::agents;
use crate::shell::Line;
use files::{Files, compressed_size, finished};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Make the pictures of docs/ui/ as well, in a real browser.
    #[arg(long)]
    screenshots: bool,
}

const SOURCE: &str = "ui";
const DIST: &str = "ui/dist";
pub(crate) const PACKAGES: &str = ".agents/ui";
const COMPILER: &str = "typescript/bin/tsc";
const BUNDLER: &str = "esbuild/bin/esbuild";
/// Everything that a browser loads, in gzip.
const LARGEST: usize = 80_000;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let files = build()?;
    write(&files)?;
    println!("{DIST}: {} files, {} bytes in gzip of at most {LARGEST}", files.len(), compressed_size(&files));
    if args.screenshots { screenshots() } else { Ok(()) }
}

/// Fails when the repository has other files than a build makes.
pub(crate) fn check() -> anyhow::Result<()> {
    let (wanted, found) = (build()?, read()?);
    let differs = |name: &&String| wanted.get(*name) != found.get(*name);
    let names: Vec<_> = wanted.keys().chain(found.keys()).filter(differs).map(String::as_str).collect();
    if names.is_empty() {
        return Ok(());
    }
    bail!("{DIST} is not what {SOURCE}/src gives; `cargo xtask ui` writes it anew\n  {}", names.join("\n  "))
}

fn build() -> anyhow::Result<Files> {
    let (node, _) = agents::provided("node")?;
    let node = fs::canonicalize(node)?;
    install()?;
    let modules = fs::canonicalize(format!("{PACKAGES}/node_modules"))?;
    let (node, modules) = (node.display(), modules.display());
    quietly(&Line::new(&format!("{node} {modules}/{COMPILER} --noEmit -p {SOURCE}")))?;
    let out = Path::new("target/ui");
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let bundle = "--bundle --minify --format=esm --target=es2022 --charset=utf8 --legal-comments=none";
    let entries = format!("app={SOURCE}/src/main.tsx app={SOURCE}/src/style.css");
    let output = format!("--outdir={} --log-level=warning", out.display());
    quietly(&Line::new(&format!("{node} {modules}/{BUNDLER} {entries} {bundle} {output}")))?;
    let files = finished(&Path::new(SOURCE).join("src"), out)?;
    match compressed_size(&files) {
        size if size > LARGEST => bail!("the screen has {size} bytes in gzip; it may have {LARGEST}"),
        _ => Ok(files),
    }
}

/// Installs the packages that the lock file names, unless they are there.
pub(crate) fn install() -> anyhow::Result<()> {
    let lock = fs::read(format!("{SOURCE}/package-lock.json")).context("ui/package-lock.json")?;
    let installed = format!("{PACKAGES}/installed.json");
    // Whoever runs npm in ui/ empties the folder that the link leads to.
    let is_there = |program: &&str| Path::new(PACKAGES).join("node_modules").join(program).exists();
    if fs::read(&installed).ok().as_ref() != Some(&lock) || ![COMPILER, BUNDLER].iter().all(is_there) {
        fs::create_dir_all(PACKAGES)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(format!("{SOURCE}/{file}"), format!("{PACKAGES}/{file}")).context(file)?;
        }
        let npm = "npm ci --no-audit --no-fund --ignore-scripts --loglevel=error";
        // npm compares a folder that it reaches by a link with another name.
        quietly(&Line::new(&format!("{npm} --prefix {}", fs::canonicalize(PACKAGES)?.display())))?;
        // Last, so that a broken installation is made again.
        fs::write(&installed, &lock)?;
    }
    link()
}

/// Lets the compiler and the bundler find the packages from the sources.
fn link() -> anyhow::Result<()> {
    let place = format!("{SOURCE}/node_modules");
    let told = |folder: &str| fs::read(format!("{folder}/.package-lock.json")).ok();
    let theirs = format!("{PACKAGES}/node_modules");
    if told(&place).is_some_and(|lock| Some(lock) == told(&theirs)) {
        return Ok(());
    }
    match fs::symlink_metadata(&place) {
        Ok(found) if found.is_symlink() => fs::remove_file(&place)?,
        Ok(_) => bail!("{place} has other packages than ui/package-lock.json names; remove it"),
        Err(_) => {}
    }
    std::os::unix::fs::symlink(format!("../{theirs}"), &place).context(place)
}

fn write(files: &Files) -> anyhow::Result<()> {
    fs::create_dir_all(DIST)?;
    for name in read()?.keys().filter(|name| !files.contains_key(*name)) {
        fs::remove_file(Path::new(DIST).join(name))?;
    }
    for (name, bytes) in files {
        fs::write(Path::new(DIST).join(name), bytes).with_context(|| name.clone())?;
    }
    Ok(())
}

fn read() -> anyhow::Result<Files> {
    let mut files = BTreeMap::new();
    let Ok(entries) = fs::read_dir(DIST) else { return Ok(files) };
    for entry in entries {
        let entry = entry?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
    }
    Ok(files)
}

/// The test that takes the pictures writes them only when it is asked.
fn screenshots() -> anyhow::Result<()> {
    let folder = std::env::current_dir()?.join("docs/ui");
    fs::create_dir_all(&folder)?;
    Line::new("cargo test --workspace --test ui -- --exact pictures::the_pictures_of_the_manual_can_be_taken")
        .env("OMNIGLOT_UI_PICTURES", &folder.display().to_string())
        .run()
}

fn quietly(line: &Line) -> anyhow::Result<()> {
    let (success, output) = line.capture()?;
    if !success {
        bail!("{}\n{output}", line.typed());
    }
    Ok(())
}
