//! The rules that bind one session, in their layers.

use std::path::PathBuf;

use omniglot_schema::Rule;

/// The origin of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Built in: no rule lifts it.
    Floor,
    /// `omniglot.toml`.
    Daemon,
    /// The trusted copy of a project's file.
    Project,
    /// Given when the session was created.
    Session,
}

impl Layer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Daemon => "omniglot.toml",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

/// Files and folders of the daemon that no call may touch, with every link resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Floor(pub Vec<PathBuf>);

/// The checked rules of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub floor: Floor,
    pub rules: Vec<(Layer, Rule)>,
}

impl Policy {
    pub fn new(floor: Floor) -> Self {
        Self { floor, rules: vec![] }
    }

    /// Adds the rules of a layer, which [`check`](crate::check) has let through.
    pub fn with(mut self, layer: Layer, rules: &[Rule]) -> Self {
        self.rules.extend(rules.iter().map(|rule| (layer, rule.clone())));
        self
    }
}
