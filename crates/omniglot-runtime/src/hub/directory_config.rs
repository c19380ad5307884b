//! The MCP servers and skills that are configured for a directory: sessions that are created there get them beside
//! their own.
//!
//! They are kept in the log and never read from the directory itself: a project that somebody has cloned must not
//! start programs.

use std::path::Path;

use omniglot_schema::{CreateSessionRequest, McpServerConfig, McpServers, SkillsConfig};
use omniglot_store::ConfigKey;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Hub;
use super::create::existing_directory;
use crate::agent::mcp;
use crate::agent::skills::Source;
use crate::error::RuntimeError;

const LONGEST_NAME: usize = 128;

/// Something that can be configured for a directory, by name.
pub trait DirectoryConfig: Serialize + DeserializeOwned {
    /// The word for it in the log.
    const KIND: &'static str;
    /// The word for it to people.
    const CALLED: &'static str;

    /// Refuses what could never work there.
    fn check(&self, name: &str, directory: &Path) -> Result<(), String>;
}

impl DirectoryConfig for McpServerConfig {
    const KIND: &'static str = "mcp";
    const CALLED: &'static str = "MCP server";

    fn check(&self, name: &str, _: &Path) -> Result<(), String> {
        mcp::check(name, self)
    }
}

impl DirectoryConfig for SkillsConfig {
    const KIND: &'static str = "skills";
    const CALLED: &'static str = "set of skills";

    fn check(&self, _: &str, directory: &Path) -> Result<(), String> {
        self.sources.iter().try_for_each(|source| Source::parse(source, directory).map(drop))
    }
}

impl Hub {
    /// Returns what is configured by this name.
    pub async fn directory_config<T: DirectoryConfig>(
        &self,
        directory: &str,
        name: &str,
    ) -> Result<T, RuntimeError> {
        let all = self.configured::<T>(&key(directory)).await?;
        let found = all.into_iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).ok_or_else(|| RuntimeError::ConfigNotFound {
            what: T::CALLED,
            name: name.to_owned(),
            directory: directory.to_owned(),
        })
    }

    /// Configures something for the sessions that will be created in a directory.
    pub async fn set_directory_config<T: DirectoryConfig>(
        &self,
        directory: &str,
        name: &str,
        value: &T,
    ) -> Result<(), RuntimeError> {
        let path = existing_directory(directory)?;
        check_name(name)?;
        value.check(name, &path).map_err(RuntimeError::InvalidRequest)?;
        let text = serde_json::to_string(value)
            .map_err(|error| RuntimeError::InvalidRequest(format!("the configuration: {error}")))?;
        let key = ConfigKey {
            directory: path.to_string_lossy().into_owned(),
            kind: T::KIND,
            name: name.to_owned(),
        };
        self.committed(self.inner.store.configure_directory(key, Some(text))).await
    }

    /// Removes what is configured by this name, if anything is.
    pub async fn delete_directory_config<T: DirectoryConfig>(
        &self,
        directory: &str,
        name: &str,
    ) -> Result<(), RuntimeError> {
        let key = ConfigKey { directory: key(directory), kind: T::KIND, name: name.to_owned() };
        self.committed(self.inner.store.configure_directory(key, None)).await
    }

    async fn configured<T: DirectoryConfig>(&self, key: &str) -> Result<Vec<(String, T)>, RuntimeError> {
        let rows = self.inner.store.directory_config(key, T::KIND).await?;
        let read = |(name, text): (String, String)| match serde_json::from_str(&text) {
            Ok(value) => Some((name, value)),
            Err(error) => {
                tracing::error!(directory = key, name, %error, "a configuration is not understood");
                None
            }
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Adds what is configured for the directory of a new session. Its own servers count more than those of the same
    /// name, and its own skills are looked at first.
    pub(super) async fn with_directory_config(
        &self,
        mut request: CreateSessionRequest,
    ) -> Result<CreateSessionRequest, RuntimeError> {
        let Some(directory) = request.directory.clone() else { return Ok(request) };
        let servers: McpServers = self.configured(&directory).await?.into_iter().collect();
        if !servers.is_empty() {
            let own = request.mcp.get_or_insert_default();
            for (name, server) in servers {
                own.entry(name).or_insert(server);
            }
        }
        let skills = self.configured::<SkillsConfig>(&directory).await?;
        let sources: Vec<_> = skills.into_iter().flat_map(|(_, skills)| skills.sources).collect();
        if !sources.is_empty() {
            let own = request.skills.get_or_insert_with(|| SkillsConfig { sources: vec![] });
            own.sources.extend(sources);
        }
        Ok(request)
    }
}

/// The name of a directory in the log, also of one that is gone.
fn key(directory: &str) -> String {
    existing_directory(directory)
        .map_or_else(|_| directory.to_owned(), |path| path.to_string_lossy().into_owned())
}

fn check_name(name: &str) -> Result<(), RuntimeError> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
        return Err(RuntimeError::InvalidRequest(format!(
            "a name has 1 to {LONGEST_NAME} bytes and no control characters"
        )));
    }
    Ok(())
}
