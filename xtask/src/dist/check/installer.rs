//! install.sh: from a folder and from an address, again over itself, and when it must not change anything.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};

use super::Packages;
use super::home::{Home, expect, fail, succeed};
use crate::dist::archive;
use crate::dist::program::Arch;
use crate::dist::{SUMS, sha256};

pub(super) fn check(packages: &Packages) -> anyhow::Result<String> {
    from_a_folder(packages)?;
    from_an_address(packages)?;
    refusals(packages)?;
    Ok("from a folder and over HTTP; a wrong sum, a cut archive and other machines are refused".to_owned())
}

fn script(home: &Home, packages: &Packages) -> Command {
    let mut command = home.command("sh");
    command.arg(packages.folder.join("install.sh"));
    command
}

fn from_a_folder(packages: &Packages) -> anyhow::Result<()> {
    let home = Home::new()?;
    let said = succeed(script(&home, packages).arg("--from").arg(&packages.folder))?;
    let program = home.path().join(".local/bin/omniglot");
    expect(&said, &["is installed", "not on your PATH", "export PATH="])?;
    home.try_first_command(home.command(&program))?;
    for file in
        ["man/man1/omniglot.1", "systemd/user/omniglot.service", "bash-completion/completions/omniglot"]
    {
        fs::metadata(home.path().join(".local/share").join(file)).with_context(|| file.to_owned())?;
    }
    // Over a program that runs, whose file cannot be written to.
    let daemon = home.daemon(&program)?;
    let path = format!("{}:/usr/bin:/bin", home.path().join(".local/bin").display());
    // Without --from it is the folder of the script.
    let said = succeed(script(&home, packages).env("PATH", path))?;
    if said.contains("not on your PATH") {
        bail!("the folder is on the PATH:\n{said}");
    }
    drop(daemon);
    nothing_is_left(&home.path().join(".local/bin"))
}

fn from_an_address(packages: &Packages) -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = Server::start(&home, &packages.folder)?;
    let prefix = home.path().join("prefix");
    let sum = sha256(&fs::read(archive_file(&packages.folder))?);
    let install = |sum: &str| {
        let mut command = script(&home, packages);
        command.args(["--from", &server.url, "--sha256", sum, "--prefix"]).arg(&prefix);
        command
    };
    expect(&fail(&mut install(&"0".repeat(64)))?, &["--sha256", "nothing was changed"])?;
    if prefix.exists() {
        bail!("a sum that is not trusted has changed something");
    }
    succeed(&mut install(&sum))?;
    let unit = fs::read_to_string(prefix.join("share/systemd/user/omniglot.service"))?;
    let program = prefix.join("bin/omniglot");
    expect(&unit, &[&format!("ExecStart={} serve", program.display())])?;
    succeed(home.command(&program).arg("--version"))?;
    Ok(())
}

fn refusals(packages: &Packages) -> anyhow::Result<()> {
    let home = Home::new()?;
    let program = home.path().join(".local/bin/omniglot");
    fs::create_dir_all(program.parent().context("a folder")?)?;
    fs::write(&program, "the old one")?;
    let release = home.path().join("release");
    fs::create_dir(&release)?;
    let archive = archive_file(&release);
    let fresh = || -> anyhow::Result<()> {
        fs::copy(archive_file(&packages.folder), &archive)?;
        fs::copy(packages.folder.join(SUMS), release.join(SUMS))?;
        Ok(())
    };
    let refused = |machine: Option<&str>, words: &[&str]| -> anyhow::Result<()> {
        let mut command = script(&home, packages);
        if let Some(machine) = machine {
            command.env("PATH", format!("{}:/usr/bin:/bin", pretended(&home, machine)?.display()));
        }
        let before = listing(&home.path().join(".local"))?;
        expect(&fail(command.arg("--from").arg(&release))?, words)?;
        if listing(&home.path().join(".local"))? != before || fs::read_to_string(&program)? != "the old one" {
            bail!("a refusal has changed something");
        }
        Ok(())
    };
    fresh()?;
    let sums = fs::read_to_string(release.join(SUMS))?;
    let tampered = sums.replace(&sha256(&fs::read(&archive)?), &"0".repeat(64));
    fs::write(release.join(SUMS), tampered)?;
    refused(None, &["SHA256SUMS", "nothing was changed"])?;
    fresh()?;
    let bytes = fs::read(&archive)?;
    fs::write(&archive, bytes.get(..bytes.len() / 2).unwrap_or_default())?;
    refused(None, &["damaged", "nothing was changed"])?;
    fs::remove_file(&archive)?;
    refused(None, &["cannot be had from"])?;
    fresh()?;
    refused(Some("Darwin arm64"), &["Linux only"])?;
    refused(Some("Linux riscv64"), &["no package for riscv64"])?;
    fs::write(release.join(SUMS), "")?;
    refused(None, &["has no package for x86_64"])
}

fn archive_file(folder: &Path) -> PathBuf {
    folder.join(format!("{}.tar.gz", archive::name(Arch::X86_64)))
}

/// Makes a folder with a `uname` that tells of another machine.
fn pretended(home: &Home, machine: &str) -> anyhow::Result<PathBuf> {
    let (system, arch) = machine.split_once(' ').context("two words")?;
    let folder = home.path().join("pretended");
    fs::create_dir_all(&folder)?;
    let file = folder.join("uname");
    fs::write(&file, format!("#!/bin/sh\n[ \"$1\" = -s ] && echo {system} || echo {arch}\n"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

fn listing(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            paths.extend(listing(&path)?);
        }
        paths.push(path);
    }
    paths.sort();
    Ok(paths)
}

fn nothing_is_left(folder: &Path) -> anyhow::Result<()> {
    match listing(folder)?.len() {
        1 => Ok(()),
        _ => bail!("files are left: {:?}", listing(folder)?),
    }
}

/// A web server of a folder, on loopback; it ends with its value.
struct Server {
    url: String,
    process: Child,
}

impl Server {
    fn start(home: &Home, folder: &Path) -> anyhow::Result<Self> {
        let program = "import http.server, sys\n\
            from functools import partial\n\
            handler = partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])\n\
            server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)\n\
            print(server.server_port, flush=True)\n\
            server.serve_forever()";
        let mut command = home.command("python3");
        command.args(["-c", program]).arg(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().context("python3")?;
        let mut port = String::new();
        BufReader::new(process.stdout.take().context("its stdout")?).read_line(&mut port)?;
        Ok(Self { url: format!("http://127.0.0.1:{}", port.trim()), process })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
