//! `cargo xtask dist --check`: each package of target/dist is installed from its files and used, as a stranger would.
//!
//! Packages of others that they need (Python's httpx, Debian's base system) are fetched first; then the checks run in
//! a network of their own that has nothing but loopback. Where the machine does not permit that, they say so, and npm
//! and pip are told to stay offline.

mod files;
mod home;
mod image;
mod installer;
mod npm;
mod sdks;
mod service;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::folder;
use crate::shell::Line;

/// Tells the checks that the network is cut off, or why it is not.
const NETWORK: &str = "OMNIGLOT_DIST_NETWORK";

pub(super) struct Packages {
    folder: PathBuf,
    /// Whether a program that is not static is accepted.
    any_program: bool,
}

struct Step {
    name: &'static str,
    run: fn(&Packages) -> anyhow::Result<String>,
}

const STEPS: &[Step] = &[
    Step { name: "files", run: files::check },
    Step { name: "sbom", run: files::check_sbom },
    Step { name: "install.sh", run: installer::check },
    Step { name: "npm", run: npm::check },
    Step { name: "npx", run: npm::check_npx },
    Step { name: "npm sdk", run: sdks::check_node },
    Step { name: "wheel", run: sdks::check_python },
    Step { name: "systemd", run: service::check },
    Step { name: "image", run: image::check },
];

pub(super) fn run(any_program: bool) -> anyhow::Result<()> {
    let folder = std::fs::canonicalize(folder()).context("no packages; `cargo xtask dist` makes them")?;
    match std::env::var(NETWORK) {
        Ok(network) => steps(&Packages { folder, any_program }, &network),
        Err(_) => {
            sdks::fetch()?;
            image::fetch(&folder)?;
            cut_off(any_program)
        }
    }
}

/// Starts the checks in a network of their own.
fn cut_off(any_program: bool) -> anyhow::Result<()> {
    let rights = if home::is_root() { "" } else { "--map-root-user" };
    let unshare = format!("unshare {rights} --net");
    let possible = Line::new(&format!("{unshare} ip link set lo up")).capture();
    let own = std::env::current_exe()?.display().to_string();
    let line = match possible {
        Ok((true, _)) => Line::new(&unshare)
            .arg("sh")
            .arg("-c")
            .arg("ip link set lo up && exec \"$@\"")
            .arg("sh")
            .arg(own)
            .env(NETWORK, "cut off"),
        Ok((false, why)) => Line::new("env").arg(own).env(NETWORK, &format!("not cut off: {}", why.trim())),
        Err(why) => Line::new("env").arg(own).env(NETWORK, &format!("not cut off: {why:#}")),
    };
    let line = line.arg("dist").arg("--check");
    if any_program { line.arg("--binary").arg("any").run() } else { line.run() }
}

fn steps(packages: &Packages, network: &str) -> anyhow::Result<()> {
    println!("{}; the network is {network}", packages.folder.display());
    for (n, step) in STEPS.iter().enumerate() {
        print!("[{}/{}] {:<10} ", n + 1, STEPS.len(), step.name);
        std::io::stdout().flush()?;
        let began = Instant::now();
        match (step.run)(packages) {
            Ok(note) => println!("ok    {:>5.1} s  {note}", began.elapsed().as_secs_f64()),
            Err(error) => {
                println!("FAILED\n");
                bail!("{}: {error:#}", step.name);
            }
        }
    }
    Ok(())
}
