//! The files that differ from the index, as git lists them: which of them are kept, and which are left out.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::SnapshotError;
use crate::error::MAX_SNAPSHOT_FILES;

/// Larger files are left out.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// Paths below the work tree, for `git update-index`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Those to read again; one that is gone is removed.
    pub(super) update: Vec<Vec<u8>>,
    /// Those in the index that are left out from now on.
    pub(super) remove: Vec<Vec<u8>>,
}

impl Changes {
    /// Reads `git ls-files -z -t --others --modified --deleted`; `kept` files are in the index already.
    pub(super) fn read(listing: &[u8], top: &Path, kept: usize) -> Result<Self, SnapshotError> {
        let mut listed: BTreeMap<&[u8], bool> = BTreeMap::new();
        for entry in listing.split(|byte| *byte == 0) {
            let Some((tag, path)) = entry.split_first_chunk::<2>() else { continue };
            // A folder is another repository, whose files are its own.
            if !path.ends_with(b"/") {
                *listed.entry(path).or_default() |= tag != b"? ";
            }
        }
        let (mut changes, mut folders, mut new) = (Self::default(), HashMap::new(), 0);
        for (path, is_tracked) in listed {
            match (state_of(path, top, &mut folders), is_tracked) {
                (FileState::Keep, _) | (FileState::Gone, true) => changes.update.push(path.to_owned()),
                (FileState::LeaveOut, true) => changes.remove.push(path.to_owned()),
                (FileState::LeaveOut | FileState::Gone, false) => continue,
            }
            new += usize::from(!is_tracked);
        }
        match kept + new > MAX_SNAPSHOT_FILES {
            true => Err(SnapshotError::TooManyFiles),
            false => Ok(changes),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.update.is_empty() && self.remove.is_empty()
    }
}

enum FileState {
    Keep,
    Gone,
    LeaveOut,
}

fn state_of(path: &[u8], top: &Path, folders: &mut HashMap<PathBuf, bool>) -> FileState {
    let path = Path::new(OsStr::from_bytes(path));
    if !path.parent().is_none_or(|folder| is_real_folder(folder, top, folders)) {
        // Behind a link there is somebody else's file.
        return FileState::LeaveOut;
    }
    let path = top.join(path);
    let Ok(metadata) = fs::symlink_metadata(&path) else { return FileState::Gone };
    let is_small = metadata.is_file() && metadata.len() <= MAX_BYTES;
    match metadata.is_symlink() || (is_small && access(&path, Access::READ_OK).is_ok()) {
        true => FileState::Keep,
        false => FileState::LeaveOut,
    }
}

/// Whether no part of the folder's path is a link or a file.
fn is_real_folder(folder: &Path, top: &Path, known: &mut HashMap<PathBuf, bool>) -> bool {
    if folder.as_os_str().is_empty() {
        return true;
    }
    if let Some(is_real) = known.get(folder) {
        return *is_real;
    }
    let parent = folder.parent().unwrap_or(Path::new(""));
    let is_real = is_real_folder(parent, top, known)
        && fs::symlink_metadata(top.join(folder)).map_or(true, |metadata| metadata.is_dir());
    known.insert(folder.to_owned(), is_real);
    is_real
}

/// Joins paths for the standard input of git.
pub(super) fn nul_separated(paths: &[Vec<u8>]) -> Vec<u8> {
    paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}
