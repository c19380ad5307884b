//! The location of sessions, and the configuration beside them.
//!
//! The store and `token` own the content of the directory.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use omniglot_agents::Registry;
use omniglot_runtime::config::{self, Config};

use crate::cli::DataDirArgs;
use crate::env;
use crate::usage::UsageError;

/// The variables that give the location of user data.
#[derive(Debug, Default)]
struct Places {
    omniglot_home: Option<PathBuf>,
    xdg_data_home: Option<PathBuf>,
    home: Option<PathBuf>,
}

/// Returns the path of the data directory, which may not exist.
pub(crate) fn place(argument: Option<&Path>) -> Result<PathBuf, UsageError> {
    choose(argument.map(Path::to_owned), Places::of_environment()).ok_or_else(|| {
        UsageError::new("there is no place for the data; set HOME or OMNIGLOT_HOME, or give --data-dir DIR")
    })
}

/// Refuses a directory that was named and is not there: who looks for something in it has mistyped it.
pub(crate) fn must_exist(args: &DataDirArgs) -> Result<(), UsageError> {
    match args.data_dir.as_deref().filter(|dir| !dir.exists() && env::of_environment(env::URL).is_none()) {
        None => Ok(()),
        Some(dir) => Err(UsageError::new(format!(
            "there is no data directory {}; `omniglot run` and `omniglot daemon start` make one",
            dir.display()
        ))),
    }
}

/// Returns the data directory as an absolute path; creates it if it does not exist.
pub(crate) fn prepare(args: &DataDirArgs) -> anyhow::Result<PathBuf> {
    let chosen = place(args.data_dir.as_deref())?;
    if std::fs::metadata(&chosen).is_ok_and(|found| !found.is_dir()) {
        let message = format!("the data directory {} is not a directory", chosen.display());
        return Err(UsageError::new(message).into());
    }
    // Others must not list sessions, so the directory is private from its creation.
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&chosen);
    made.with_context(|| format!("the data directory {} cannot be made", chosen.display()))?;
    chosen
        .canonicalize()
        .with_context(|| format!("the data directory {} cannot be entered", chosen.display()))
}

/// Warns when others may list the directory: its content is private, but its file names are not.
pub(crate) fn warn_if_open(dir: &Path) -> anyhow::Result<()> {
    let found = std::fs::metadata(dir).with_context(|| dir.display().to_string())?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(
            "others may enter the data directory {} (mode {mode:o}); `chmod 700` keeps them out",
            dir.display()
        );
    }
    Ok(())
}

/// Loads the requested configuration, or the one in the data directory if there is one; variables take
/// precedence.
pub(crate) fn config(args: &DataDirArgs, dir: &Path) -> anyhow::Result<Config> {
    let registry = Registry::default();
    let loaded = match asked_for(args) {
        Some(path) => Config::load(&path, &registry),
        None => Config::load_optional(&dir.join(config::FILE_NAME), &registry),
    };
    Ok(env::apply(loaded.map_err(UsageError::because)?, env::of_environment)?)
}

/// Returns the configuration file that is used if it exists.
pub(crate) fn config_file(args: &DataDirArgs, dir: &Path) -> PathBuf {
    asked_for(args).unwrap_or_else(|| dir.join(config::FILE_NAME))
}

/// Whether the arguments or the environment name a configuration file, which must exist then.
pub(crate) fn is_asked_for(args: &DataDirArgs) -> bool {
    asked_for(args).is_some()
}

/// Returns the configuration file that the arguments or the environment name.
fn asked_for(args: &DataDirArgs) -> Option<PathBuf> {
    let variable = || std::env::var_os(env::CONFIG).filter(|value| !value.is_empty()).map(PathBuf::from);
    args.config.clone().or_else(variable)
}

impl Places {
    fn of_environment() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            omniglot_home: path("OMNIGLOT_HOME"),
            xdg_data_home: path("XDG_DATA_HOME"),
            home: path("HOME"),
        }
    }
}

fn choose(argument: Option<PathBuf>, places: Places) -> Option<PathBuf> {
    argument
        .or(places.omniglot_home)
        // The XDG specification says to ignore a relative path.
        .or(places.xdg_data_home.filter(|dir| dir.is_absolute()).map(|dir| dir.join("omniglot")))
        .or(places.home.map(|home| home.join(".local/share/omniglot")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places { omniglot_home: Some("/o".into()), xdg_data_home: Some("/x".into()), home: Some("/h".into()) }
    }

    #[test]
    fn the_most_explicit_place_wins() {
        assert_eq!(choose(Some("/a".into()), places()), Some("/a".into()));
        assert_eq!(choose(None, places()), Some("/o".into()));
        assert_eq!(choose(None, Places { omniglot_home: None, ..places() }), Some("/x/omniglot".into()));
        let home_only = Places { home: Some("/h".into()), ..Places::default() };
        assert_eq!(choose(None, home_only), Some("/h/.local/share/omniglot".into()));
        assert_eq!(choose(None, Places::default()), None);
    }

    #[test]
    fn a_relative_xdg_data_home_is_ignored() {
        let places = Places { omniglot_home: None, xdg_data_home: Some("x".into()), home: Some("/h".into()) };
        assert_eq!(choose(None, places), Some("/h/.local/share/omniglot".into()));
    }
}
