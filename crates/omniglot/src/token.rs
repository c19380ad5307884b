//! The daemon's token: its sources, and how a client finds it.
//!
//! The server compares it. A [`Secret`] never prints itself.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use omniglot_runtime::NAMED_TOKEN_PREFIX;
use omniglot_store::{lock_holder, private, private_file};

use crate::cli::TokenArgs;
use crate::env;
use crate::usage::UsageError;

/// The name of the token file within the private directory.
const FILE_NAME: &str = "token";
pub(crate) const VARIABLE: &str = "OMNIGLOT_TOKEN";
const BYTES: usize = 16;
/// The fewest characters of a token that clients elsewhere may try to guess.
const SHORTEST: usize = 16;

/// A token that may be sent as a header, and is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The token of a daemon and a description of its source.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) secret: Option<Secret>,
    pub(crate) described: String,
    /// Says where to look, to somebody who has shown no token: no path of this machine.
    pub(crate) hint: &'static str,
    /// The full path of the file that holds it.
    pub(crate) file: Option<PathBuf>,
}

/// Who has wanted a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Somebody starts it, and may give it a token of their own.
    Explicitly,
    /// A command needs one. The variable is then the token that this command shows, like any other client.
    ByClient,
}

/// Returns the token that a daemon shall require; creates and stores one if none is given.
///
/// Only the owner of the data directory's lock may call it, so that two starts never make two tokens.
pub(crate) fn for_daemon(
    args: &TokenArgs,
    configured: Option<&Path>,
    dir: &Path,
    wanted: Wanted,
) -> anyhow::Result<Source> {
    refuse_named(args, wanted)?;
    if args.no_token {
        return Ok(Source {
            secret: None,
            described: "no token".into(),
            hint: "no token is needed",
            file: None,
        });
    }
    if let Some(text) = &args.token {
        let secret = Secret::parse(text).map_err(|e| UsageError::new(format!("--token: {e}")))?;
        return Ok(Source::unfiled(secret, "--token"));
    }
    if let Some(path) = &args.token_file {
        let secret =
            read_given(path).map_err(|e| UsageError::new(format!("--token-file {}: {e}", path.display())))?;
        return Source::filed(secret, path);
    }
    if let (Wanted::Explicitly, Some(secret)) = (wanted, from_environment()?) {
        return Ok(Source::unfiled(secret, VARIABLE));
    }
    if let Some(path) = configured {
        let secret =
            read_given(path).map_err(|e| UsageError::new(format!("token_file {}: {e}", path.display())))?;
        return Source::filed(secret, path);
    }
    let (secret, path) = kept(&private(dir))?;
    Source::filed(secret, &path)
}

/// Refuses to start a daemon whose own token would be a named one, which may end and may have little scope.
pub(crate) fn refuse_named(args: &TokenArgs, wanted: Wanted) -> anyhow::Result<()> {
    let is_named = |text: &str| text.trim().starts_with(NAMED_TOKEN_PREFIX);
    let variable = match wanted {
        Wanted::Explicitly if args.token_file.is_none() && !args.no_token => from_environment()?,
        Wanted::Explicitly | Wanted::ByClient => None,
    };
    let source = match (&args.token, variable) {
        (Some(text), _) if is_named(text) => "--token",
        (None, Some(secret)) if is_named(&secret.0) => VARIABLE,
        _ => return Ok(()),
    };
    Err(UsageError::new(format!(
        "{source} is a token that `omniglot tokens` has made, and no daemon's own; start the daemon without it"
    ))
    .into())
}

impl Source {
    fn unfiled(secret: Secret, whence: &str) -> Self {
        let hint = "the token is the one that the daemon was started with";
        Self { secret: Some(secret), described: format!("token from {whence}"), hint, file: None }
    }

    /// Refuses a token that can be guessed where others can try; on this machine alone it is told.
    pub(crate) fn check_length(&self, listens_here_only: bool) -> Result<(), UsageError> {
        let Some(length) =
            self.secret.as_ref().map(|secret| secret.0.len()).filter(|length| *length < SHORTEST)
        else {
            return Ok(());
        };
        let advice = format!(
            "the token has {length} characters and can be guessed; use {SHORTEST} random ones or more, or none of your \
             own: the daemon makes one"
        );
        if listens_here_only {
            tracing::warn!("{advice}");
            return Ok(());
        }
        Err(UsageError::new(advice))
    }

    fn filed(secret: Secret, path: &Path) -> anyhow::Result<Self> {
        let described = format!("token in {}", path.display());
        let hint = "`omniglot config show` names the file with the token";
        Ok(Self { secret: Some(secret), described, hint, file: Some(std::path::absolute(path)?) })
    }
}

/// Returns the token for the daemon that owns `dir`, if one can be found: in the file that this daemon names;
/// `configured` is the file that the configuration names.
pub(crate) fn for_client(dir: &Path, configured: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let holder = lock_holder(dir);
    // With an address beside it, the variable is the token of that daemon.
    let is_for_another = env::of_environment(env::URL)
        .is_some_and(|url| holder.as_ref().is_none_or(|holder| holder.url != url.trim_end_matches('/')));
    if let Some(secret) = from_environment()?.filter(|_| !is_for_another) {
        return Ok(Some(secret));
    }
    let announced = holder.and_then(|holder| holder.token_file);
    let configured = announced.or_else(|| configured.map(Path::to_owned));
    let path = configured.unwrap_or_else(|| private_file(dir, FILE_NAME));
    match read(&path) {
        Ok(secret) => Ok(Some(secret)),
        Err(TokenError::Io(e)) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

impl Secret {
    /// Returns the token itself, for code that must send or compare it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        // A header carries no other bytes unchanged.
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(TokenError::Unprintable);
        }
        Ok(Self(text.to_owned()))
    }

    fn random() -> Result<Self, TokenError> {
        Ok(Self(random_hex::<BYTES>()?))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[derive(Debug, thiserror::Error)]
enum TokenError {
    #[error("the token is empty")]
    Empty,
    #[error("the token has characters other than visible ASCII ones")]
    Unprintable,
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(crate) fn from_environment() -> anyhow::Result<Option<Secret>> {
    match std::env::var(VARIABLE) {
        // Many tools set an empty variable for "unset".
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => Ok(Some(Secret::parse(&text).map_err(|e| UsageError::new(format!("{VARIABLE}: {e}")))?)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(UsageError::new(format!("{VARIABLE} is not UTF-8")).into())
        }
    }
}

/// Returns as many random bytes, in hex.
pub(crate) fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the token in the private directory, created on first use.
fn kept(dir: &Path) -> anyhow::Result<(Secret, PathBuf)> {
    let path = dir.join(FILE_NAME);
    let secret = match read(&path) {
        Ok(secret) => {
            make_private(&path).with_context(|| format!("{} is not private", path.display()))?;
            secret
        }
        Err(TokenError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {
            let secret = Secret::random()?;
            write_new(&path, &secret).with_context(|| format!("{} cannot be written", path.display()))?;
            secret
        }
        Err(error) => {
            return Err(error).with_context(|| format!("{}; remove it to get a new one", path.display()));
        }
    };
    Ok((secret, path))
}

/// Reads a file that somebody else has made, so that its permissions are left to them.
fn read_given(path: &Path) -> Result<Secret, TokenError> {
    let secret = read(path)?;
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.display();
        tracing::warn!(
            "others can read the token in {path} (mode {mode:o}); `chmod 600 {path}` keeps them out"
        );
    }
    Ok(secret)
}

fn read(path: &Path) -> Result<Secret, TokenError> {
    Secret::parse(&fs::read_to_string(path)?)
}

fn make_private(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others could read the token; it is private now");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Writes to another file and renames it, so that no reader ever sees half of it.
fn write_new(path: &Path, secret: &Secret) -> io::Result<()> {
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    writeln!(file, "{}", secret.0)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_token_is_private_and_reused() {
        let dir = tempfile::tempdir().unwrap();
        let (first, path) = kept(dir.path()).unwrap();
        assert_eq!(first.0.len(), 32);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (second, _) = kept(dir.path()).unwrap();
        assert!(first == second);
    }

    #[test]
    fn a_kept_token_that_others_can_read_becomes_private() {
        let dir = tempfile::tempdir().unwrap();
        let (_, path) = kept(dir.path()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        kept(dir.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused_where_others_can_try() {
        let source = |text: &str| Source::unfiled(Secret::parse(text).unwrap(), "somewhere");
        assert!(source("x").check_length(true).is_ok());
        let refused = source("fifteen-letters").check_length(false).unwrap_err().to_string();
        assert!(refused.contains("15 characters"), "{refused}");
        assert!(source("sixteen-letters!").check_length(false).is_ok());
    }

    #[test]
    fn a_token_is_never_shown() {
        let source = Source::unfiled(Secret::parse("hush").unwrap(), "somewhere");
        assert!(!format!("{source:?}").contains("hush"));
    }

    #[test]
    fn a_token_that_no_header_carries_is_refused() {
        assert!(matches!(Secret::parse(" \n"), Err(TokenError::Empty)));
        assert!(matches!(Secret::parse("a b"), Err(TokenError::Unprintable)));
        assert_eq!(Secret::parse("abc\n").unwrap().reveal(), "abc");
    }
}
