//! Installs a version of an agent with npm: into a folder of its own, which takes its final name when the program
//! has told the version that was asked for. Until then nothing is changed.
//!
//! No script of a package is run. Some packages have one that puts the program for this machine in the place of
//! another; that program is used where it lies.

mod npm;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omniglot_agents::LaunchSpec;
use omniglot_agents::launch::Install;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use semver::Version;

use crate::agent::catalog::Entry;
use crate::agent::installed::{self, InstalledVersions, PROGRAMS};
use crate::agent::run_command::run;
use crate::agent::version::names_version;
use crate::error::RuntimeError;
use crate::process::{Launch, Supervisor};

/// The beginning of the name of a folder that is being filled.
const PART: &str = ".part-";

/// How long a program may take to tell its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(60);

/// The lines of another program that an error repeats.
const LAST_LINES: usize = 12;

/// Installs versions of one agent. Its user holds the lock of the agent.
#[derive(Debug)]
pub(crate) struct Installer<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) versions: &'a InstalledVersions,
    pub(crate) supervisor: &'a Supervisor,
}

impl Installer<'_> {
    /// Returns the newest version that is published.
    pub(crate) async fn newest(&self) -> Result<Version, RuntimeError> {
        let package = self.package(None)?;
        fs::create_dir_all(self.versions.folder()).map_err(|error| self.not_written(&error))?;
        let asked = self.npm(&["view", package, "version", "--json"], self.versions.folder()).await?;
        let word = asked.text.lines().rev().find_map(|line| serde_json::from_str::<String>(line).ok());
        let version = word.and_then(|word| installed::parse(&word).ok());
        version
            .ok_or_else(|| self.failed(format!("npm names no version of {package}: {}", asked.text.trim())))
    }

    /// Installs a version, in the place of one that is there.
    pub(crate) async fn install(&self, version: &Version) -> Result<(), RuntimeError> {
        let package = self.package(Some(version))?;
        let part = Part::create(self.versions.folder()).map_err(|error| self.not_written(&error))?;
        tracing::info!(agent = self.entry.name, package, %version, "installs");
        let wanted = format!("{package}@{version}");
        let flags = ["install", "--ignore-scripts", "--include=optional", "--no-save", "--no-package-lock"];
        let words: Vec<&str> = flags.into_iter().chain(["--prefix", ".", &*wanted]).collect();
        self.npm(&words, &part.path).await?;
        let program = self.working_program(&part.path, package, version).await?;
        part.complete(&program, self.versions.program_name(), &self.versions.folder_of(version))
            .map_err(|error| self.not_written(&error))
    }

    /// Returns the package of this version, which had another name once.
    fn package(&self, version: Option<&Version>) -> Result<&'static str, RuntimeError> {
        let is_before = |since: &str| {
            version.is_some_and(|version| Version::parse(since).is_ok_and(|since| *version < since))
        };
        match self.entry.install() {
            Install::Npm(package) => Ok(package),
            Install::NpmRenamed { since, before, .. } if is_before(since) => Ok(before),
            Install::NpmRenamed { package, .. } => Ok(package),
            other @ (Install::Page(_) | Install::Unknown) => Err(RuntimeError::InvalidRequest(format!(
                "the daemon cannot install agent {}: it is no package of npm; {}",
                self.entry.name,
                other.advice("it yourself")
            ))),
        }
    }

    /// Returns the program below `folder` that works and has the version. Its path is relative to the folder.
    async fn working_program(
        &self,
        folder: &Path,
        package: &str,
        version: &Version,
    ) -> Result<PathBuf, RuntimeError> {
        let mut why = "its package has no program of this name".to_owned();
        for program in candidates(folder, package, self.versions.program_name()) {
            let spec = LaunchSpec {
                program: folder.join(&program).to_string_lossy().into_owned(),
                args: vec!["--version".to_owned()],
                env: self.entry.launch.env.clone(),
            };
            let launch = Launch::new(spec, folder.to_owned());
            why = match run(self.supervisor, &launch, VERSION_TIMEOUT).await {
                Ok(told) if told.succeeded() && names_version(&told.text, &version.to_string()) => {
                    return Ok(program);
                }
                Ok(told) => format!("it says: {}", told.last_lines(LAST_LINES)),
                Err(error) => error.to_string(),
            };
        }
        Err(self
            .failed(format!("{} does not work as version {version}: {why}", self.versions.program_name())))
    }

    fn failed(&self, message: String) -> RuntimeError {
        RuntimeError::InstallFailed { agent: self.entry.name.clone(), message, hint: None }
    }

    fn not_written(&self, error: &io::Error) -> RuntimeError {
        self.failed(format!("{}: {error}", self.versions.folder().display()))
    }
}

/// Returns the places where the program may be, relative to the folder: where npm has linked it, and in the packages
/// for this machine, which are optional dependencies.
fn candidates(folder: &Path, package: &str, program: &str) -> Vec<PathBuf> {
    let modules = Path::new("node_modules");
    let manifest = fs::read(folder.join(modules).join(package).join("package.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap_or_default();
    let optional = manifest.get("optionalDependencies").and_then(serde_json::Value::as_object);
    let names = optional.into_iter().flat_map(|names| names.keys());
    let for_machine = names.flat_map(|name| [modules.join(name), modules.join(name).join("bin")]);
    let folders = std::iter::once(modules.join(".bin")).chain(for_machine);
    folders.map(|place| place.join(program)).filter(|path| folder.join(path).is_file()).collect()
}

/// A folder that is being filled. When this is dropped, the folder is removed.
#[derive(Debug)]
struct Part {
    path: PathBuf,
}

impl Part {
    fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{PART}{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    /// Links the program and gives the folder its final name. A folder of that name becomes the part, and goes.
    fn complete(self, program: &Path, name: &str, target: &Path) -> io::Result<()> {
        let links = self.path.join(PROGRAMS);
        fs::create_dir_all(&links)?;
        symlink(Path::new("..").join(program), links.join(name))?;
        // The name must not be there before the files are.
        rustix::fs::syncfs(File::open(&self.path)?)?;
        if target.symlink_metadata().is_ok() {
            return Ok(renameat_with(CWD, &self.path, CWD, target, RenameFlags::EXCHANGE)?);
        }
        fs::rename(&self.path, target)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes what a killed daemon has left of an installation.
pub(crate) fn sweep(data_dir: &Path) {
    let agents = fs::read_dir(installed::root(data_dir)).into_iter().flatten().flatten();
    for entry in agents.flat_map(|agent| fs::read_dir(agent.path())).flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PART) {
            remove(&entry.path());
        }
    }
}

fn remove(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "a part of an installation was not removed");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
