//! Copies folders of skills within limits. A link is followed inside the source, and refused where it leads out.

use std::fs;
use std::io;
use std::path::Path;

use crate::digest::sha256;

/// The most bytes of one repository, and of all skills of a session.
pub(super) const MAX_BYTES: u64 = 100 * 1024 * 1024;
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 32;

/// Copies folders of one source; what was copied counts together.
pub(super) struct Copier<'a> {
    /// The source itself, without links in its path.
    pub(super) root: &'a Path,
    pub(super) budget: &'a mut Budget,
}

#[derive(Debug, Default)]
pub(super) struct Budget {
    bytes: u64,
    entries: usize,
}

impl Copier<'_> {
    pub(super) fn folder(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        self.below(from, to, 0)
    }

    fn below(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("{} is too deep", self.named(from)));
        }
        fs::create_dir_all(to).map_err(|error| self.failed(to, &error))?;
        for entry in fs::read_dir(from).map_err(|error| self.failed(from, &error))? {
            let entry = entry.map_err(|error| self.failed(from, &error))?;
            if entry.file_name() == ".git" {
                continue;
            }
            self.budget.entries += 1;
            if self.budget.entries > MAX_ENTRIES {
                return Err(format!("there are more than {MAX_ENTRIES} files"));
            }
            self.entry(&entry.path(), &to.join(entry.file_name()), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), String> {
        let about = fs::symlink_metadata(from).map_err(|error| self.failed(from, &error))?;
        if about.is_symlink() {
            let real =
                fs::canonicalize(from).map_err(|_| format!("the link {} leads nowhere", self.named(from)))?;
            if !real.starts_with(self.root) || real.starts_with(self.root.join(".git")) {
                return Err(format!("the link {} leads out of it", self.named(from)));
            }
            return self.entry(&real, to, depth + 1);
        }
        if about.is_dir() {
            return self.below(from, to, depth + 1);
        }
        if !about.is_file() {
            return Err(format!("{} is neither a file nor a folder", self.named(from)));
        }
        self.budget.bytes += about.len();
        if self.budget.bytes > MAX_BYTES {
            return Err(format!("the skills are larger than {} MiB", MAX_BYTES / 1024 / 1024));
        }
        fs::copy(from, to).map(drop).map_err(|error| self.failed(from, &error))
    }

    /// Names a path as it stands in the source.
    fn named(&self, path: &Path) -> String {
        path.strip_prefix(self.root).unwrap_or(path).display().to_string()
    }

    fn failed(&self, path: &Path, error: &io::Error) -> String {
        format!("{}: {error}", self.named(path))
    }
}

/// Returns the bytes of all files below a folder; what vanishes meanwhile does not count.
pub(super) fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => size_of(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Returns a hash of the names and contents below a folder without links.
pub(super) fn digest_of(folder: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    digest_lines(folder, folder, &mut lines)?;
    lines.sort();
    Ok(sha256(lines.join("\n").as_bytes()))
}

fn digest_lines(root: &Path, folder: &Path, lines: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            digest_lines(root, &path, lines)?;
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            lines.push(format!("{name:?} {}", sha256(&fs::read(&path)?)));
        }
    }
    Ok(())
}
