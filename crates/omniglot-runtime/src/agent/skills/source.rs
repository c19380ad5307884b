//! The description of a source of skills, checked before anything is fetched.

use std::path::{Component, Path, PathBuf};

use omniglot_schema::{SkillSource, uri};

/// A source that can be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(super) location: Location,
    /// The names of the wanted skills; all without it.
    pub(super) wanted: Option<Vec<String>>,
    pub(super) subpath: PathBuf,
    /// The source as it is named to people, without credentials.
    pub(super) shown: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    Git { url: String, reference: Option<String> },
    Local(PathBuf),
}

const LONGEST: usize = 2048;
const LONGEST_REF: usize = 255;

impl Source {
    /// A relative path of a local source begins in `directory`.
    pub(crate) fn parse(source: &SkillSource, directory: &Path) -> Result<Self, String> {
        let shown = source.clone().redacted().source;
        let bad = |why: String| format!("the skills of {shown:?}: {why}");
        if source.source.is_empty()
            || source.source.len() > LONGEST
            || source.source.contains(char::is_control)
        {
            return Err(bad("`source` is empty, too long, or has control characters".to_owned()));
        }
        let location = location(source, directory).map_err(bad)?;
        let subpath = subpath(source.subpath.as_deref()).map_err(bad)?;
        if source.skills.as_ref().is_some_and(|names| names.is_empty()) {
            return Err(bad("`skills` is empty; leave it out to get all of them".to_owned()));
        }
        Ok(Self { location, wanted: source.skills.clone(), subpath, shown })
    }

    /// Returns the folder of this machine that the source reads.
    pub(crate) fn local_path(&self) -> Option<PathBuf> {
        match &self.location {
            Location::Local(path) => Some(path.clone()),
            Location::Git { url, .. } => uri::to_path(url).map(PathBuf::from),
        }
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
}

fn location(source: &SkillSource, directory: &Path) -> Result<Location, String> {
    let reference = reference(source.r#ref.as_deref())?;
    match source.r#type.as_str() {
        "github" => Ok(Location::Git { url: github(&source.source)?, reference }),
        "git" => Ok(Location::Git { url: git(&source.source)?, reference }),
        "local" if reference.is_some() => Err("a local folder has no `ref`; use the type `git`".to_owned()),
        "local" => Ok(Location::Local(directory.join(&source.source))),
        other => Err(format!("no type {other:?}; known are `github`, `git` and `local`")),
    }
}

fn github(source: &str) -> Result<String, String> {
    let path = source.strip_prefix("https://github.com/").unwrap_or(source);
    let path = path.strip_suffix('/').unwrap_or(path);
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_name = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(plain)
    };
    match path.split_once('/') {
        Some((owner, name)) if is_name(owner) && is_name(name) => {
            Ok(format!("https://github.com/{owner}/{name}.git"))
        }
        _ => Err("a source of type `github` is `OWNER/REPOSITORY`".to_owned()),
    }
}

/// A path without a scheme is one of this machine.
fn git(source: &str) -> Result<String, String> {
    let host_and_path = source.split_once(':').filter(|(host, _)| host.contains('@') && !host.contains('/'));
    if source.starts_with('/') {
        return Ok(uri::of_path(source));
    }
    if let Some(path) = source.strip_prefix("file://").filter(|path| path.starts_with('/')) {
        // Git decodes it and knows neither query nor fragment. Encoded anew it names one path to all who read it.
        let path = uri::decoded(path).filter(|path| !path.contains(char::is_control));
        return path
            .map(|path| uri::of_path(&path))
            .ok_or_else(|| "its file:// URL names no path".to_owned());
    }
    let is_known = ["https://", "ssh://"].iter().any(|scheme| source.starts_with(scheme));
    if is_known || (host_and_path.is_some() && !source.starts_with('-')) {
        return Ok(source.to_owned());
    }
    Err("a repository is fetched by https://, ssh://, USER@HOST:PATH or file://".to_owned())
}

/// Only a plain name: a word of git that names several things at once, or a location to write to, is none.
fn reference(reference: Option<&str>) -> Result<Option<String>, String> {
    let Some(name) = reference else { return Ok(None) };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '@' | '#');
    let is_name = !name.is_empty()
        && name.len() <= LONGEST_REF
        && !name.starts_with(['-', '+', '/'])
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(plain);
    match is_name {
        true => Ok(Some(name.to_owned())),
        false => Err(format!("`ref` {name:?} is no name of a branch, a tag or a commit")),
    }
}

fn subpath(subpath: Option<&str>) -> Result<PathBuf, String> {
    let path = Path::new(subpath.unwrap_or_default());
    let is_below = |part: Component<'_>| match part {
        Component::Normal(name) => name != ".git",
        Component::CurDir => true,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => false,
    };
    match path.components().all(is_below) && !path.to_string_lossy().contains('\0') {
        true => Ok(path.to_owned()),
        false => Err("`subpath` leads out of the source".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Source, String> {
        Source::parse(&serde_json::from_str(json).unwrap(), Path::new("/w"))
    }

    fn url(json: &str) -> String {
        match parse(json).unwrap().location {
            Location::Git { url, .. } => url,
            Location::Local(path) => path.display().to_string(),
        }
    }

    #[test]
    fn sources_are_known_by_their_type() {
        assert_eq!(url(r#"{"type":"github","source":"a/b"}"#), "https://github.com/a/b.git");
        assert_eq!(
            url(r#"{"type":"github","source":"https://github.com/a/b.git"}"#),
            "https://github.com/a/b.git"
        );
        assert_eq!(url(r#"{"type":"git","source":"ssh://h/p"}"#), "ssh://h/p");
        assert_eq!(url(r#"{"type":"git","source":"git@h:p"}"#), "git@h:p");
        assert_eq!(url(r#"{"type":"git","source":"/r"}"#), "file:///r");
        assert_eq!(url(r#"{"type":"local","source":"s"}"#), "/w/s");
        let path = |source: &str| {
            let json = serde_json::json!({"type": "git", "source": source}).to_string();
            (url(&json), parse(&json).unwrap().local_path().unwrap())
        };
        assert_eq!(path("/r/100%41#?"), ("file:///r/100%2541%23%3F".to_owned(), "/r/100%41#?".into()));
        assert_eq!(path("file:///r/a%20b#c?d"), ("file:///r/a%20b%23c%3Fd".to_owned(), "/r/a b#c?d".into()));
        let reads = |json: &str| parse(json).unwrap().local_path().is_some();
        assert!(reads(r#"{"type":"git","source":"/r"}"#) && reads(r#"{"type":"local","source":"/r"}"#));
        assert!(!reads(r#"{"type":"git","source":"https://h/p"}"#));
    }

    #[test]
    fn what_git_would_take_for_something_else_is_refused() {
        for json in [
            r#"{"type":"git","source":"--upload-pack=x"}"#,
            r#"{"type":"git","source":"ext::sh -c x"}"#,
            r#"{"type":"git","source":"http://h/p"}"#,
            r#"{"type":"git","source":"-x@h:p"}"#,
            r#"{"type":"git","source":"file://host/p"}"#,
            r#"{"type":"git","source":"file:///%ff"}"#,
            r#"{"type":"git","source":"file:///a%00b"}"#,
            r#"{"type":"git","source":""}"#,
            r#"{"type":"github","source":"a"}"#,
            r#"{"type":"github","source":"a/b/c"}"#,
            r#"{"type":"github","source":"../b"}"#,
            r#"{"type":"svn","source":"a"}"#,
            r#"{"type":"local","source":"a","ref":"main"}"#,
            r#"{"type":"git","source":"/r","ref":"-f"}"#,
            r#"{"type":"git","source":"/r","ref":"a:b"}"#,
            r#"{"type":"git","source":"/r","ref":"a..b"}"#,
            r#"{"type":"git","source":"/r","ref":""}"#,
            r#"{"type":"git","source":"/r","subpath":"../x"}"#,
            r#"{"type":"git","source":"/r","subpath":"/x"}"#,
            r#"{"type":"git","source":"/r","subpath":"a/../../x"}"#,
            r#"{"type":"git","source":"/r","subpath":".git/hooks"}"#,
            r#"{"type":"git","source":"/r","skills":[]}"#,
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let why = parse(r#"{"type":"git","source":"https://me:hush-1234@h/p","ref":"-f"}"#).unwrap_err();
        assert!(!why.contains("hush") && why.contains("***"), "{why}");
    }
}
