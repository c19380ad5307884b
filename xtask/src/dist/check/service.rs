//! The units of systemd: verified by systemd itself, with the program where they name it.

use std::fs;
use std::path::Path;

use anyhow::bail;

use super::Packages;
use super::files::unpacked;
use super::home::{Home, on_path, succeed};

pub(super) fn check(packages: &Packages) -> anyhow::Result<String> {
    if on_path("systemd-analyze").is_none() {
        return Ok("NOT CHECKED: systemd-analyze is not on this machine".to_owned());
    }
    let home = Home::new()?;
    let release = unpacked(packages, &home)?;
    let program = release.join("bin/omniglot");
    let user = release.join("share/systemd/user/omniglot.service");
    let system = release.join("share/doc/omniglot/omniglot-system.service");
    verify(&home, &user, "%h/.local/bin/omniglot", &program, "--user")?;
    verify(&home, &system, "/usr/local/bin/omniglot", &program, "--system")?;
    Ok("both units, by systemd-analyze verify".to_owned())
}

/// Has systemd read a unit whose program is here. A warning fails, too.
fn verify(home: &Home, unit: &Path, named: &str, program: &Path, manager: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(unit)?;
    if !text.contains(&format!("ExecStart={named} serve")) {
        bail!("{} starts another program than {named}", unit.display());
    }
    let copy = home.path().join("omniglot.service");
    fs::write(&copy, text.replace(named, &program.display().to_string()))?;
    let runtime = home.path().join("run");
    fs::create_dir_all(&runtime)?;
    let mut command = home.command("systemd-analyze");
    command.env("XDG_RUNTIME_DIR", runtime).args([manager, "verify", "--man=no"]).arg(&copy);
    let said = succeed(&mut command)?;
    let about_ours = said.lines().filter(|line| line.contains("omniglot")).collect::<Vec<_>>().join("\n");
    if about_ours.is_empty() { Ok(()) } else { bail!("{about_ours}") }
}
