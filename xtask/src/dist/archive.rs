//! The archive of a machine's program: `bin/` and `share/` as they are put below a prefix, by install.sh or by hand.
//! The same files give the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use super::program::Arch;
use super::{LICENSE, THIRD_PARTY, VERSION, copy, quietly, sbom};
use crate::shell::Line;

pub(super) fn name(arch: Arch) -> String {
    format!("omniglot-{VERSION}-{}-linux", arch.name())
}

/// Where the scripts of the shells belong below `share/`.
pub(super) const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "bash-completion/completions/omniglot"),
    ("zsh", "zsh/site-functions/_omniglot"),
    ("fish", "fish/vendor_completions.d/omniglot.fish"),
];

/// Makes `share/` with the manual and the completions that this machine's program writes.
pub(super) fn share(programs: &[(Arch, PathBuf)], out: &Path) -> anyhow::Result<TempDir> {
    let own = programs.iter().find(|(arch, _)| arch.name() == std::env::consts::ARCH);
    let (_, program) = own.context("the manual is written by a program that runs on this machine")?;
    let program = fs::canonicalize(program)?;
    let said = quietly(&Line::new(&format!("{} --version", program.display())))?;
    if said.trim() != format!("omniglot {VERSION}") {
        bail!("{} is {}, and not version {VERSION}", program.display(), said.trim());
    }
    let folder = TempDir::new()?;
    let share = folder.path();
    quietly(&Line::new(&format!("{} man {}/man/man1", program.display(), share.display())))?;
    for (shell, file) in COMPLETIONS {
        let script = Line::new(&format!("{} completions {shell}", program.display())).stdout()?;
        let file = share.join(file);
        fs::create_dir_all(file.parent().context("a folder")?)?;
        fs::write(file, script)?;
    }
    let docs = share.join("doc/omniglot");
    for file in [LICENSE, "README.md", "CHANGELOG.md"] {
        copy(Path::new(file), &docs.join(file), 0o644)?;
    }
    for file in [THIRD_PARTY, &sbom::name()] {
        copy(&out.join(file), &docs.join(file), 0o644)?;
    }
    let units = Path::new("packaging/systemd");
    copy(&units.join("omniglot.service"), &share.join("systemd/user/omniglot.service"), 0o644)?;
    copy(&units.join("omniglot-system.service"), &docs.join("omniglot-system.service"), 0o644)?;
    Ok(folder)
}

pub(super) fn write(arch: Arch, program: &Path, share: &Path, out: &Path) -> anyhow::Result<()> {
    let mut files = vec![];
    files_below(share, &mut files)?;
    let top = PathBuf::from(name(arch));
    let mut entries = vec![(top.join("bin/omniglot"), program.to_owned(), 0o755)];
    for file in files {
        entries.push((top.join("share").join(file.strip_prefix(share)?), file, 0o644));
    }
    entries.sort();
    let file = out.join(format!("{}.tar", name(arch)));
    let mut archive = tar::Builder::new(fs::File::create(&file)?);
    for (name, file, mode) in entries {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into()?);
        header.set_mode(mode);
        header.set_mtime(0);
        archive.append_data(&mut header, name, &bytes[..])?;
    }
    archive.into_inner()?.sync_all()?;
    // A chore is built without optimisation, in which compressing takes minutes.
    quietly(&Line::new(&format!("gzip -9 --no-name {}", file.display())))?;
    Ok(())
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files_below(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
