//! The files of one process, and the socket of its helpers: made before it starts, gone with it.
//!
//! They are written anew for each process, into a directory that only the daemon's user may enter, so nothing that
//! an agent does to them lasts.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use omniglot_agents::prepare::{LaunchFile, LaunchFileContent, Machine, Preparation, Prepared};
use omniglot_agents::{LaunchSpec, Open, Refusal, RefusalKind};
use tokio::net::UnixListener;

use crate::agent::catalog::Entry;
use crate::process::Supervisor;

/// The beginning of the name of each such directory below the run directory.
const PREFIX: &str = "start-";
/// A larger file is nobody's settings.
const LARGEST_SETTINGS: u64 = 1024 * 1024;
/// A longer path cannot be the address of a socket.
const LONGEST_SOCKET_PATH: usize = 100;

/// When this is dropped, the files are removed.
#[derive(Debug)]
pub(crate) struct PreparedFiles {
    dir: PathBuf,
    socket: PathBuf,
    listener: Option<UnixListener>,
}

impl PreparedFiles {
    /// Writes the files that a process of this agent needs, if it needs any, and completes its command.
    pub(crate) fn write(
        entry: &Entry,
        supervisor: &Supervisor,
        open: &Open,
        spec: &mut LaunchSpec,
    ) -> Result<Option<Self>, Refusal> {
        let Some(prepare) = entry.adapter.prepare else { return Ok(None) };
        let name = uuid::Uuid::new_v4().simple().to_string();
        let dir = supervisor.run_dir.join(format!("{PREFIX}{name}"));
        let socket = socket_path(&dir, &name);
        let start = Preparation {
            open,
            dir: &dir,
            own_program: &supervisor.guard,
            socket: &socket,
            machine: &Surroundings { entry },
        };
        let prepared = prepare(spec, &start)?;
        if prepared == Prepared::default() {
            return Ok(None);
        }
        let mut files = Self { dir, socket, listener: None };
        files.create(&prepared).map_err(|error| {
            let message =
                format!("the files of the agent in {} were not written: {error}", files.dir.display());
            Refusal { kind: RefusalKind::Unavailable, message, hint: None }
        })?;
        Ok(Some(files))
    }

    fn create(&mut self, prepared: &Prepared) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        for LaunchFile { name, content } in &prepared.files {
            let path = self.dir.join(name);
            match content {
                LaunchFileContent::Text(text) => write_private(&path, text)?,
                LaunchFileContent::Link(to) => symlink(to, &path)?,
            }
        }
        if prepared.hears_helpers {
            self.listener = Some(UnixListener::bind(&self.socket)?);
            fs::set_permissions(&self.socket, fs::Permissions::from_mode(0o600))?;
        }
        Ok(())
    }

    /// Returns the socket at which helpers are heard, once.
    pub(crate) fn take_listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }
}

impl Drop for PreparedFiles {
    fn drop(&mut self) {
        if !self.socket.starts_with(&self.dir) {
            drop(fs::remove_file(&self.socket));
        }
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            tracing::debug!(%error, dir = %self.dir.display(), "the files of a process were not removed");
        }
    }
}

/// Removes the files of processes whose daemon was killed.
pub(crate) fn sweep(run_dir: &Path) {
    let Ok(entries) = fs::read_dir(run_dir) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, dir = %entry.path().display(), "the files of a process were not removed");
        }
    }
}

fn socket_path(dir: &Path, name: &str) -> PathBuf {
    let near = dir.join("helpers");
    if near.as_os_str().len() <= LONGEST_SOCKET_PATH {
        return near;
    }
    std::env::temp_dir().join(format!("omniglot-{name}"))
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the length of a file, if it exists. A link of a project may lead to a device that never ends.
fn file_length(path: &Path) -> Result<Option<u64>, String> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(Some(about.len())),
        Ok(_) => Err("it is not a regular file".to_owned()),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The machine as the process will see it.
struct Surroundings<'a> {
    entry: &'a Entry,
}

impl Machine for Surroundings<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.entry.variable(name)
    }

    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        let Some(length) = file_length(path)? else { return Ok(None) };
        if length > LARGEST_SETTINGS {
            return Err(format!("it is larger than {LARGEST_SETTINGS} bytes"));
        }
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn find_line(&self, path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Option<String>, String> {
        if file_length(path)?.is_none() {
            return Ok(None);
        }
        let file = fs::File::open(path).map_err(|error| error.to_string())?;
        for line in io::BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| error.to_string())?;
            let line = String::from_utf8_lossy(&line);
            if wanted(&line) {
                return Ok(Some(line.into_owned()));
            }
        }
        Ok(None)
    }

    fn exists(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::catalog::Catalog;
    use crate::config::Config;

    #[test]
    fn settings_are_read_only_where_they_are_a_file_of_some_size() {
        let dir = tempfile::tempdir().unwrap();
        let registry = omniglot_agents::Registry::default();
        let catalog = Catalog::new(&Config::default(), &registry, Path::new("omniglot"), dir.path());
        let machine = Surroundings { entry: catalog.get("amp").unwrap() };
        let path = |name: &str| dir.path().join(name);
        assert_eq!(machine.read(&path("none")), Ok(None));
        fs::write(path("strange"), b"// \xff\n{}").unwrap();
        assert!(machine.read(&path("strange")).unwrap().unwrap().ends_with("{}"));
        assert_eq!(machine.read(&path("strange/below")), Ok(None));
        symlink("/dev/zero", path("endless")).unwrap();
        assert!(machine.read(&path("endless")).is_err());
        fs::File::create(path("large")).unwrap().set_len(LARGEST_SETTINGS + 1).unwrap();
        assert!(machine.read(&path("large")).is_err());
        let second = |line: &str| line.starts_with('{');
        assert_eq!(machine.find_line(&path("strange"), &second), Ok(Some("{}".to_owned())));
        assert_eq!(machine.find_line(&path("none"), &second), Ok(None));
        assert!(machine.find_line(&path("endless"), &second).is_err());
        assert!(machine.exists(&path("endless")) && !machine.exists(&path("none")));
    }
}
