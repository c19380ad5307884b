//! Sources of skills for tests: folders, and repositories made by git.

use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_schema::{SkillSource, SkillsConfig};
use tempfile::TempDir;

/// A folder in which a test puts skills.
pub struct SkillFolder {
    dir: TempDir,
}

impl Default for SkillFolder {
    fn default() -> Self {
        Self { dir: TempDir::new().expect("a temporary directory") }
    }
}

impl SkillFolder {
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Adds a skill below `skills/`, and returns its folder.
    pub fn add(&self, name: &str, description: &str) -> PathBuf {
        let folder = self.path().join("skills").join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\nDo what is said above.\n");
        std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
        folder
    }

    /// Makes a repository of the folder as it is, or a further commit.
    pub fn commit(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=x"]);
    }

    pub fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
        let status = Command::new("git").args(who).args(args).current_dir(self.path()).status();
        assert!(status.expect("git starts").success(), "git {args:?}");
    }

    pub fn as_local(&self) -> SkillSource {
        source("local", self.path().to_str().expect("UTF-8"))
    }

    pub fn as_git(&self) -> SkillSource {
        source("git", &format!("file://{}", self.path().display()))
    }
}

pub fn source(r#type: &str, source: &str) -> SkillSource {
    SkillSource { r#type: r#type.into(), source: source.into(), skills: None, r#ref: None, subpath: None }
}

pub fn from(sources: impl IntoIterator<Item = SkillSource>) -> Option<SkillsConfig> {
    Some(SkillsConfig { sources: sources.into_iter().collect() })
}
