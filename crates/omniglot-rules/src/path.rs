//! Paths of calls and globs of rules. A path counts by what it resolves to; one that cannot be resolved is never
//! allowed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::tool_call::Machine;

/// A path of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    /// As it is written, made absolute, without `.` and `..`.
    pub(crate) written: PathBuf,
    /// With every link resolved.
    pub(crate) resolved: Option<PathBuf>,
}

impl Located {
    /// Finds the path that a text names, seen from a directory.
    pub(crate) fn find(text: &str, from: &Path, machine: &Machine<'_>) -> Self {
        let text = text.strip_prefix("file://").unwrap_or(text);
        let absolute = match (text.strip_prefix('~'), machine.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => from.join(text),
        };
        let readable = !text.is_empty() && !text.contains(|c: char| c.is_control());
        let resolved = readable.then(|| (machine.resolve)(&absolute)).flatten();
        Self { written: normal(&absolute), resolved }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Path> {
        self.resolved.iter().map(PathBuf::as_path).chain([self.written.as_path()])
    }

    /// Whether the path is this one or below it.
    pub(crate) fn is_within(&self, root: &Path) -> bool {
        self.all().any(|path| path.starts_with(root))
    }

    /// Whether this one is below the path.
    pub(crate) fn is_above(&self, root: &Path) -> bool {
        self.all().any(|path| path != root && root.starts_with(path))
    }
}

/// Removes `.` and `..` by the text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// A glob of a rule, bound to a directory.
pub(crate) struct BoundGlob {
    matchers: Vec<GlobMatcher>,
    /// The folders before the first sign of a pattern, as written and resolved.
    pub(crate) roots: Vec<PathBuf>,
}

impl BoundGlob {
    /// Binds a pattern that was checked. A strict one has its folder resolved or fits nothing.
    pub(crate) fn bind(pattern: &str, machine: &Machine<'_>, strict: bool) -> Self {
        let (base, pattern) = match (pattern.strip_prefix("~/"), machine.home) {
            (Some(rest), Some(home)) => (home, rest),
            _ if pattern.starts_with('/') => (Path::new("/"), pattern.trim_start_matches('/')),
            _ => (machine.directory, pattern.trim_start_matches("./")),
        };
        let fixed: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(SIGNS)).collect();
        let fixed_length = fixed.len();
        let rest: Vec<&str> = pattern.split('/').skip(fixed_length).collect();
        let written = base.join(fixed.join("/"));
        let resolved = (machine.resolve)(&written);
        let mut roots: Vec<PathBuf> = resolved.into_iter().collect();
        if !strict && !roots.contains(&written) {
            roots.push(written);
        }
        let matcher = |root: &PathBuf| {
            let mut text = globset::escape(root.to_str()?);
            for part in &rest {
                text = format!("{}/{part}", text.trim_end_matches('/'));
            }
            build(&text).ok()
        };
        Self { matchers: roots.iter().filter_map(matcher).collect(), roots }
    }

    pub(crate) fn fits(&self, path: &Path) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(path))
    }

    /// Whether the pattern is about this path or a folder that it is in, however it is reached.
    pub(crate) fn fits_any(&self, located: &Located) -> bool {
        let below = |path: &Path| path.ancestors().any(|folder| self.fits(folder));
        located.all().any(|path| below(path) || self.fits(&path.join("x")))
    }
}

const SIGNS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

thread_local! {
    /// Globs that were compiled: the same few are asked for with every call.
    static COMPILED: RefCell<HashMap<String, GlobMatcher>> = RefCell::default();
}

const MAX_COMPILED: usize = 256;

fn build(text: &str) -> Result<GlobMatcher, globset::Error> {
    if let Some(known) = COMPILED.with_borrow(|compiled| compiled.get(text).cloned()) {
        return Ok(known);
    }
    let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()?;
    let matcher = glob.compile_matcher();
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.len() >= MAX_COMPILED {
            compiled.clear();
        }
        compiled.insert(text.to_owned(), matcher.clone());
    });
    Ok(matcher)
}

/// Returns what is wrong with the glob of a rule.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    let parts = || pattern.split(['/', '{', '}', ',']);
    if pattern.is_empty() || pattern.contains(|c: char| c.is_control()) {
        return Err("is empty or has control characters".to_owned());
    }
    if parts().any(|part| part == "..") {
        return Err("leaves its directory by `..`; write the path that is meant".to_owned());
    }
    if pattern.starts_with('~') && !pattern.starts_with("~/") {
        return Err("begins with the home of another user; write the path that is meant".to_owned());
    }
    build(pattern).map(|_| ()).map_err(|error| format!("is no glob: {}", error.kind()))
}
