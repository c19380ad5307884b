//! The versions of an agent that the daemon has installed: a folder for each, below `shared/agents` of the data
//! directory. A folder is complete or not there: `install` fills it elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use omniglot_agents::adapter::Adapter;
use omniglot_store::shared;
use semver::Version;

use crate::error::RuntimeError;

/// The folder of the program within that of its version.
pub(crate) const PROGRAMS: &str = "bin";

/// Longer ones are nobody's version.
const MAX_VERSION_BYTES: usize = 64;

/// The installed versions of one agent.
#[derive(Debug, Clone)]
pub(crate) struct InstalledVersions {
    folder: PathBuf,
    program: &'static str,
}

impl InstalledVersions {
    /// `None` for an agent that is no program of its own.
    pub(crate) fn of(adapter: &Adapter, data_dir: &Path) -> Option<Self> {
        let (program, _) = adapter.start()?.command.split_first()?;
        Some(Self { folder: root(data_dir).join(adapter.id), program })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of the program.
    pub(crate) fn program_name(&self) -> &'static str {
        self.program
    }

    pub(crate) fn folder_of(&self, version: &Version) -> PathBuf {
        self.folder.join(version.to_string())
    }

    /// Returns the program of a version, if that is installed.
    pub(crate) fn program(&self, version: &Version) -> Option<PathBuf> {
        Some(self.folder_of(version).join(PROGRAMS).join(self.program)).filter(|path| path.is_file())
    }

    /// Returns all versions, oldest first.
    pub(crate) fn all(&self) -> Vec<Version> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let version = |entry: fs::DirEntry| parse(entry.file_name().to_str()?).ok();
        let mut versions: Vec<Version> = entries.filter_map(version).collect();
        versions.retain(|version| self.program(version).is_some());
        versions.sort_unstable();
        versions
    }

    /// Returns the newest version with its program.
    pub(crate) fn newest(&self) -> Option<(Version, PathBuf)> {
        let newest = self.all().pop()?;
        let program = self.program(&newest)?;
        Some((newest, program))
    }
}

/// Returns the folder of all installed agents.
pub(crate) fn root(data_dir: &Path) -> PathBuf {
    shared(data_dir).join("agents")
}

/// Reads a version; tags and ranges are refused, and so is build metadata, which registries ignore.
pub(crate) fn parse(text: &str) -> Result<Version, RuntimeError> {
    let version = Version::parse(text).ok().filter(|version| version.build.is_empty());
    version.filter(|_| text.len() <= MAX_VERSION_BYTES).ok_or_else(|| {
        let shown: String = text.chars().take(MAX_VERSION_BYTES).collect();
        RuntimeError::InvalidRequest(format!(
            "`agentVersion` {shown:?} is not a plain version such as 1.2.3 or 1.2.3-rc.1"
        ))
    })
}

#[cfg(test)]
mod tests {
    use omniglot_agents::{claude, pi};

    use super::*;

    #[test]
    fn only_plain_versions_are_taken() {
        for good in ["1.2.3", "0.0.1790142911-g7618fb", "10.0.0-rc.1"] {
            assert_eq!(parse(good).unwrap().to_string(), good);
        }
        let long = format!("1.2.3-{}", "a".repeat(80));
        for bad in ["", "latest", "1.2", "^1.2.3", "v1.2.3", "1.2.3+x", "1.2.3 && x", "1.2.3-../x", &long] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_newest_complete_version_counts() {
        let dir = tempfile::tempdir().unwrap();
        let versions = InstalledVersions::of(&pi::ADAPTER, dir.path()).unwrap();
        assert!(versions.all().is_empty() && versions.newest().is_none());
        for (version, is_complete) in [("0.9.0", true), ("0.10.0", true), ("0.11.0", false), (".part", true)]
        {
            let bin = versions.folder().join(version).join(PROGRAMS);
            fs::create_dir_all(&bin).unwrap();
            if is_complete {
                fs::write(bin.join("pi"), "").unwrap();
            }
        }
        let all: Vec<String> = versions.all().iter().map(ToString::to_string).collect();
        assert_eq!(all, ["0.9.0", "0.10.0"]);
        let (newest, program) = versions.newest().unwrap();
        assert_eq!((newest.to_string().as_str(), program.is_file()), ("0.10.0", true));
        assert!(InstalledVersions::of(&claude::ADAPTER, dir.path()).unwrap().newest().is_none());
    }
}
