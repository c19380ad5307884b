//! Files that stand where others are to be restored.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Targets;

/// Returns the files in the way that no snapshot has: replaced, they would be lost. Nor is a file removed that was
/// there before the turn and only became visible, because the turn changed what is ignored.
pub(super) fn unsaved(
    top: &Path,
    changed: &Targets,
    began: SystemTime,
    is_saved: impl Fn(&[u8]) -> bool,
) -> Vec<Vec<u8>> {
    let removed = changed.iter().filter(|(_, target)| target.is_none()).map(|(path, _)| path);
    let mut found: Vec<_> = removed.filter(|path| is_older(&on_disk(top, path), began)).cloned().collect();
    for path in changed.iter().filter_map(|(path, target)| target.as_ref().map(|_| path)) {
        let is_other = |parent: &&[u8]| {
            fs::symlink_metadata(on_disk(top, parent)).is_ok_and(|metadata| !metadata.is_dir())
        };
        match parents(path).find(is_other) {
            // Behind a link there is nothing of ours.
            Some(parent) if is_saved(parent) => {}
            Some(parent) => found.push(parent.to_owned()),
            None => look(top, path, &is_saved, &mut found),
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether nobody has made, renamed or written the file since.
fn is_older(path: &Path, moment: SystemTime) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let (seconds, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    let changed = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
    SystemTime::UNIX_EPOCH + changed < moment
}

/// Whether a file at `path` and the restored ones cannot both be there.
pub(super) fn excludes(changed: &Targets, path: &[u8]) -> bool {
    let is_written = |path: &[u8]| changed.get(path).is_some_and(Option::is_some);
    let below = [path, b"/"].concat();
    let mut inner = changed.range(below.clone()..).take_while(|(other, _)| other.starts_with(&below));
    parents(path).any(is_written) || inner.any(|(_, target)| target.is_some())
}

/// Looks at everything that is at this path.
fn look(top: &Path, path: &[u8], is_saved: &impl Fn(&[u8]) -> bool, found: &mut Vec<Vec<u8>>) {
    let place = on_disk(top, path);
    let Ok(metadata) = fs::symlink_metadata(&place) else { return };
    if !metadata.is_dir() {
        if !is_saved(path) {
            found.push(path.to_owned());
        }
        return;
    }
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        look(top, &[path, b"/", entry.file_name().as_bytes()].concat(), is_saved, found);
    }
}

/// The folders above a path, without the topmost.
fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(place, _)| path.get(..place))
}

fn on_disk(top: &Path, path: &[u8]) -> std::path::PathBuf {
    top.join(OsStr::from_bytes(path))
}
