//! The files that a process needs before it starts, and the helpers that it may start itself, as data.
//!
//! An adapter says which files they are; the runtime writes them anew for each process, below its private
//! directory, and removes them with it. A helper is Omniglot's own program under another name: the agent starts
//! it, and it asks the daemon through a socket. A helper only asks; nothing that it sends answers anything.

use std::path::{Path, PathBuf};

use crate::contract::{Open, Refusal};
use crate::launch::LaunchSpec;

/// Completes the command of one process, and returns what it needs.
pub type Prepare = fn(&mut LaunchSpec, &Preparation<'_>) -> Result<Prepared, Refusal>;

/// The circumstances of a start.
pub struct Preparation<'a> {
    pub open: &'a Open,
    /// The directory of the files of this process.
    pub dir: &'a Path,
    /// Omniglot's own program, for links that start it as a helper.
    pub own_program: &'a Path,
    /// The socket at which helpers are heard, with [`Prepared::hears_helpers`].
    pub socket: &'a Path,
    pub machine: &'a dyn Machine,
}

/// The agent's own settings on this machine.
pub trait Machine {
    /// Returns a variable that the agent would have.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the content of a file, if it exists, or why it cannot be read.
    fn read(&self, path: &Path) -> Result<Option<String>, String>;

    /// Returns the first line of a file that `wanted` accepts, or why it cannot be read. The file may be long.
    fn find_line(&self, path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Option<String>, String>;

    fn exists(&self, path: &Path) -> bool;
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    pub files: Vec<LaunchFile>,
    pub hears_helpers: bool,
}

/// A file in the directory of a process.
#[derive(Debug, PartialEq, Eq)]
pub struct LaunchFile {
    pub name: &'static str,
    pub content: LaunchFileContent,
}

#[derive(Debug, PartialEq, Eq)]
pub enum LaunchFileContent {
    Text(String),
    /// A symbolic link to this path.
    Link(PathBuf),
}

impl LaunchFile {
    pub fn text(name: &'static str, text: String) -> Self {
        Self { name, content: LaunchFileContent::Text(text) }
    }

    pub fn link(name: &'static str, to: &Path) -> Self {
        Self { name, content: LaunchFileContent::Link(to.to_owned()) }
    }
}
