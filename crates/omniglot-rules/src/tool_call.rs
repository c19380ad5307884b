//! A call of an agent as rules see it, and the machine it would run on.

use std::path::{Path, PathBuf};

use omniglot_schema::{Labels, ToolKind, ToolSubject};

/// Returns the target of an absolute path with every link resolved, also where its last parts do not exist; `None` for
/// one that cannot be told.
pub type Resolve<'a> = dyn Fn(&Path) -> Option<PathBuf> + 'a;

/// The directory and the names by which a call's paths get their meaning.
pub struct Machine<'a> {
    /// The directory of the session, absolute.
    pub directory: &'a Path,
    /// The user's home directory, for rules and paths that begin with `~/`.
    pub home: Option<&'a Path>,
    pub resolve: &'a Resolve<'a>,
}

/// A call that the daemon is asked about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call<'a> {
    pub agent: &'a str,
    pub kind: Option<ToolKind>,
    /// The agent's name of the tool.
    pub tool: Option<&'a str>,
    pub server: Option<&'a str>,
    /// The command line, as a shell would take it.
    pub command: Option<&'a str>,
    /// The directory of the command, where it is not the session's.
    pub cwd: Option<&'a str>,
    pub paths: Vec<&'a str>,
    pub url: Option<&'a str>,
    pub labels: Option<&'a Labels>,
}

impl<'a> Call<'a> {
    /// Takes what the call is about from its subject.
    pub fn about(self, subject: &'a ToolSubject) -> Self {
        Self {
            server: subject.server.as_deref(),
            command: subject.command.as_deref(),
            cwd: subject.cwd.as_deref(),
            paths: subject.paths.iter().map(|path| path.path.as_str()).collect(),
            url: subject.url.as_deref(),
            ..self
        }
    }

    /// Whether the call may be of this kind, as far as anybody knows.
    pub(crate) fn may_be(&self, kind: ToolKind) -> bool {
        match self.kind {
            Some(known) if known == kind => true,
            None | Some(ToolKind::Other) => match kind {
                ToolKind::Execute => self.command.is_some(),
                ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => !self.paths.is_empty(),
                ToolKind::Fetch => self.url.is_some(),
                ToolKind::Mcp => self.server.is_some(),
                _ => false,
            },
            Some(_) => kind == ToolKind::Execute && self.command.is_some(),
        }
    }
}
