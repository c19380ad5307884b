//! `@omniglot/cli`: installed from its tarballs, and by `npx` from a registry on loopback, as it will be published.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::Packages;
use super::home::{FIRST_PROMPT, Home, expect, fail, succeed};
use crate::dist::VERSION;
use crate::dist::npm::{platform, tarball};
use crate::dist::program::Arch;

/// Serves the tarballs that it is given: `node registry.mjs TARBALL…` prints its port.
const REGISTRY: &str = include_str!("registry.mjs");

pub(super) fn check(packages: &Packages) -> anyhow::Result<String> {
    let home = Home::new()?;
    let prefix = home.path().join("prefix");
    let own = tarball(&platform(Arch::X86_64));
    let install = |files: &[&str]| {
        let mut command = home.command("npm");
        command.args(["install", "--offline", "--global", "--loglevel=error", "--prefix"]).arg(&prefix);
        command.args(files.iter().map(|file| packages.folder.join(file)));
        command
    };
    let launcher = tarball("cli");
    succeed(&mut install(&[&launcher]))?;
    let program = prefix.join("bin/omniglot");
    let advice = format!("npm install @omniglot/cli-linux-x64@{VERSION}");
    expect(&fail(home.command(&program).arg("--version"))?, &["is not installed", &advice])?;
    succeed(&mut install(&[&own, &launcher]))?;
    expect(&succeed(home.command(&program).arg("--version"))?, &[VERSION])?;
    home.try_first_command(home.command(&program))?;
    exit_code(&home, home.command(&program))?;
    signal(&home, home.command(&program))?;
    other_platform(&home, &prefix.join("lib/node_modules/@omniglot/cli/bin/omniglot.js"))?;
    Ok("installed from the tarballs; other platforms are told which there are".to_owned())
}

/// A command that cannot be meant like this exits with 2, also through the launcher.
fn exit_code(home: &Home, mut program: Command) -> anyhow::Result<()> {
    let status = program.arg("no-such-command").current_dir(home.path()).output()?.status;
    if status.code() == Some(2) { Ok(()) } else { bail!("the launcher ended with {status}") }
}

/// A signal to the launcher stops the program behind it, which says by its exit code that it has stopped in order.
fn signal(home: &Home, mut program: Command) -> anyhow::Result<()> {
    program.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut launcher = program.spawn()?;
    let mut line = String::new();
    let mut stdout = BufReader::new(launcher.stdout.take().context("its stdout")?);
    stdout.read_line(&mut line)?;
    if !line.contains("listening on") {
        launcher.kill()?;
        bail!("the daemon does not begin with its address: {line}");
    }
    succeed(home.command("kill").args(["-TERM", &launcher.id().to_string()]))?;
    // The daemon has the same pipe: its end is the end of both.
    std::io::copy(&mut stdout, &mut std::io::sink())?;
    let status = launcher.wait()?;
    if status.success() { Ok(()) } else { bail!("after SIGTERM the launcher ended with {status}") }
}

fn other_platform(home: &Home, launcher: &std::path::Path) -> anyhow::Result<()> {
    let pretend = "Object.defineProperty(process, 'platform', { value: 'darwin' }); require(process.argv[1])";
    let said = fail(home.command("node").args(["-e", pretend]).arg(launcher))?;
    expect(&said, &["there is no package for darwin-", "only for: linux-x64"])
}

pub(super) fn check_npx(packages: &Packages) -> anyhow::Result<String> {
    let home = Home::new()?;
    let script = home.path().join("registry.mjs");
    fs::write(&script, REGISTRY)?;
    let mut registry = home.command("node");
    registry.arg(&script).stdout(Stdio::piped());
    let names = ["cli".to_owned(), platform(Arch::X86_64), "sdk".to_owned()];
    registry.args(names.iter().map(|name| packages.folder.join(tarball(name))));
    let mut registry = registry.spawn().context("node")?;
    let mut port = String::new();
    BufReader::new(registry.stdout.take().context("its stdout")?).read_line(&mut port)?;
    let mut npx = home.command("npx");
    npx.env("npm_config_registry", format!("http://127.0.0.1:{}/", port.trim()));
    npx.args(["--yes", "@omniglot/cli", "run", "--agent", "mock", "--scratch", FIRST_PROMPT]);
    let said = succeed(&mut npx);
    registry.kill()?;
    registry.wait()?;
    expect(&said?, &["── end_turn"])?;
    Ok("npx @omniglot/cli run, from a registry on loopback".to_owned())
}
