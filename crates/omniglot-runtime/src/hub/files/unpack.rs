//! Unpacking an archive: tar, also compressed with gzip, which its first bytes tell.
//!
//! Everything is unpacked into a temporary directory first, and moved when all of the archive was read and nothing is in
//! the way. So an archive that is refused changes nothing.

mod meter;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use rustix::fs::{Mode, fchmod, fstat};
use tar::{Archive, Entry, EntryType};

use super::{FilePlace, is_too_long};
use crate::confined::{CopyError, FileInfo, OpenError, Temporaries, TemporaryDirectory, copy};
use meter::{Meter, Metered};

const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The most bytes of headers before one entry: long names and other extensions are held in memory.
const HEADERS: u64 = 256 * 1024;

/// The bounds of an archive.
#[derive(Debug, Clone, Copy)]
pub struct UnpackLimits {
    /// Those beyond are left out.
    pub entries: usize,
    /// The length of the archive once it is decompressed.
    pub bytes: u64,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self { entries: 10_000, bytes: 1 << 30 }
    }
}

/// The entries of an archive that are now in place.
#[derive(Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Below the root, in the order of the archive.
    pub paths: Vec<PathBuf>,
    /// Whether the archive has more entries.
    pub truncated: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("the archive is refused: {0}")]
    Refused(String),
    #[error("the archive has more than {0} bytes when it is unpacked")]
    TooLarge(u64),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("not all entries could be put in place: {cause}")]
    Incomplete { written: Vec<PathBuf>, cause: OpenError },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

impl FilePlace {
    /// Unpacks an archive into the directory of this place, which is made if it is missing.
    pub fn unpack(
        &self,
        archive: &mut dyn Read,
        limits: UnpackLimits,
        temporaries: &Temporaries,
    ) -> Result<Unpacked, UnpackError> {
        let temporary = self.root.temporary_directory(&self.path, temporaries)?;
        let meter = Rc::new(Meter::new(limits.bytes));
        let depth = self.absolute().as_os_str().len();
        let mut unpacking =
            Unpacking { temporary, depth, meter: meter.clone(), entries: vec![], truncated: false };
        if let Err(error) = unpacking.read(archive, limits.entries) {
            return Err(if meter.is_exceeded() { UnpackError::TooLarge(limits.bytes) } else { error });
        }
        self.check_targets(&unpacking.entries)?;
        let paths = self.put_in_place(&unpacking)?;
        Ok(Unpacked { paths, truncated: unpacking.truncated })
    }

    /// Refuses a file in the place of a directory, and the other way around.
    fn check_targets(&self, entries: &[(PathBuf, Kind)]) -> Result<(), OpenError> {
        for (path, kind) in entries {
            let target = self.path.join(path);
            let is_dir = match self.root.info(&target) {
                Ok(FileInfo { is_dir, .. }) => is_dir,
                Err(OpenError::NotFound(_)) => continue,
                Err(OpenError::NotAFile(path) | OpenError::NotADirectory(path)) => {
                    return Err(OpenError::Exists(path));
                }
                Err(error) => return Err(error),
            };
            if is_dir != (*kind == Kind::Directory) {
                return Err(OpenError::Exists(target));
            }
        }
        Ok(())
    }

    fn put_in_place(&self, unpacking: &Unpacking) -> Result<Vec<PathBuf>, UnpackError> {
        let mut written = vec![];
        if self.path != Path::new("") {
            self.root.make_directory(&self.path)?;
        }
        for (path, kind) in &unpacking.entries {
            let target = self.path.join(path);
            let done = match kind {
                Kind::Directory => self.root.make_directory(&target),
                Kind::File => self.put_file(unpacking, path, &target),
            };
            if let Err(cause) = done {
                return Err(UnpackError::Incomplete { written, cause });
            }
            written.push(target);
        }
        Ok(written)
    }

    fn put_file(&self, unpacking: &Unpacking, path: &Path, target: &Path) -> Result<(), OpenError> {
        if let Some(parent) = target.parent().filter(|parent| *parent != Path::new("")) {
            self.root.make_directory(parent)?;
        }
        unpacking.temporary.root.rename(path, &self.root, target, true)
    }
}

/// An archive that is being read into a temporary directory.
struct Unpacking {
    temporary: TemporaryDirectory,
    /// The length of the path of the destination.
    depth: usize,
    meter: Rc<Meter>,
    /// Each path once.
    entries: Vec<(PathBuf, Kind)>,
    truncated: bool,
}

impl Unpacking {
    fn read(&mut self, archive: &mut dyn Read, most: usize) -> Result<(), UnpackError> {
        let mut first = vec![];
        archive.take(GZIP.len() as u64).read_to_end(&mut first).map_err(unreadable)?;
        if first.is_empty() {
            return Err(UnpackError::Refused("it is empty".into()));
        }
        let is_gzip = first == GZIP;
        let bytes = BufReader::new(Cursor::new(first).chain(archive));
        let plain: Box<dyn Read + '_> =
            if is_gzip { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
        let mut archive = Archive::new(Metered { inner: plain, meter: self.meter.clone() });
        self.read_entries(&mut archive, most)?;
        if !self.truncated {
            // The end of the compressed bytes has their checksum.
            self.meter.allow(u64::MAX);
            io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
        }
        Ok(())
    }

    fn read_entries<R: Read>(&mut self, archive: &mut Archive<R>, most: usize) -> Result<(), UnpackError> {
        let mut seen = BTreeSet::new();
        let mut count = 0;
        let mut entries = archive.entries().map_err(unreadable)?;
        loop {
            self.meter.allow(HEADERS);
            let Some(entry) = entries.next() else { return Ok(()) };
            let mut entry = entry.map_err(unreadable)?;
            if entry.header().entry_type() == EntryType::XGlobalHeader {
                continue;
            }
            count += 1;
            if count > most {
                self.truncated = true;
                return Ok(());
            }
            self.meter.allow(u64::MAX);
            let (path, kind) = described(&entry)?;
            if is_too_long(self.depth, &path) {
                return Err(UnpackError::Refused("it has a name that is too long".into()));
            }
            if path == Path::new("") {
                continue;
            }
            match kind {
                Kind::Directory => self.temporary.root.make_directory(&path).map_err(clashing)?,
                Kind::File => self.write(&path, &mut entry)?,
            }
            if seen.insert(path.clone()) {
                self.entries.push((path, kind));
            }
        }
    }

    fn write<R: Read>(&self, path: &Path, entry: &mut Entry<'_, R>) -> Result<(), UnpackError> {
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        let size = entry.size();
        if size > self.meter.left() {
            self.meter.exceed();
            return Err(UnpackError::Refused("it is too large".into()));
        }
        let mut file = self.temporary.root.write(path).map_err(clashing)?;
        // An entry may be there twice; the last one counts.
        file.set_len(0).map_err(failed)?;
        let written = copy(entry, &mut file).map_err(|error| match error {
            CopyError::Read(error) => unreadable(error),
            CopyError::Write(error) => failed(error).into(),
        })?;
        if written != size {
            return Err(UnpackError::Refused(format!("it ends within {}", path.display())));
        }
        if entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0) {
            // Whoever may read it may run it; the rest is up to the process, as for any new file.
            let mode = fstat(&file).map_err(|errno| failed(errno.into()))?.st_mode & 0o777;
            let runnable = Mode::from_raw_mode(mode | ((mode & 0o444) >> 2));
            fchmod(&file, runnable).map_err(|errno| failed(errno.into()))?;
        }
        Ok(())
    }
}

/// Returns the path and the kind of an entry that may be unpacked.
fn described<R: Read>(entry: &Entry<'_, R>) -> Result<(PathBuf, Kind), UnpackError> {
    let bytes = entry.path_bytes();
    let name = std::str::from_utf8(&bytes).map_err(|_| {
        UnpackError::Refused(format!("the name {:?} is not UTF-8", String::from_utf8_lossy(&bytes)))
    })?;
    let refuse = |why: &str| Err(UnpackError::Refused(format!("{name:?} {why}")));
    let kind = match entry.header().entry_type() {
        EntryType::Directory => Kind::Directory,
        // The oldest archives have no other sign of a directory.
        EntryType::Regular | EntryType::Continuous if name.ends_with('/') => Kind::Directory,
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Link | EntryType::Symlink => return refuse("is a link"),
        EntryType::Char | EntryType::Block | EntryType::Fifo => return refuse("is a device or a pipe"),
        _ => return refuse("is neither a file nor a directory"),
    };
    if name.contains('\0') {
        return refuse("has a NUL");
    }
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => return refuse("leads out by `..`"),
            Component::RootDir | Component::Prefix(_) => return refuse("is an absolute path"),
        }
    }
    if kind == Kind::File && path == Path::new("") { refuse("is no name") } else { Ok((path, kind)) }
}

fn unreadable(error: io::Error) -> UnpackError {
    UnpackError::Refused(format!("it is no whole tar archive, nor one compressed with gzip ({error})"))
}

/// An entry that stands in the way of another one of the same archive.
fn clashing(error: OpenError) -> UnpackError {
    match error {
        OpenError::Exists(path) | OpenError::NotAFile(path) | OpenError::NotADirectory(path) => {
            UnpackError::Refused(format!("{:?} is a file and a directory", path.display()))
        }
        error => error.into(),
    }
}
