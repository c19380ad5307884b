//! The MCP servers and skills that are configured for the sessions of a directory.

use omniglot_schema::{McpServerConfig, SkillsConfig};
use reqwest::Method;

use crate::client::{Client, accepted, read};
use crate::error::ClientError;
use crate::transport::Call;

impl Client {
    /// Returns the MCP server that is configured for a directory by this name.
    pub async fn mcp_config(&self, directory: &str, name: &str) -> Result<McpServerConfig, ClientError> {
        read(self.mcp(Method::GET, directory, name).send().await?).await
    }

    /// Gives an MCP server to every session that is created in the directory from now on.
    pub async fn set_mcp_config(
        &self,
        directory: &str,
        name: &str,
        server: &McpServerConfig,
    ) -> Result<(), ClientError> {
        accepted(self.mcp(Method::PUT, directory, name).json(server).send().await?).await.map(drop)
    }

    pub async fn delete_mcp_config(&self, directory: &str, name: &str) -> Result<(), ClientError> {
        accepted(self.mcp(Method::DELETE, directory, name).send().await?).await.map(drop)
    }

    /// Returns the sources of skills that are configured for a directory by this name.
    pub async fn skills_config(&self, directory: &str, name: &str) -> Result<SkillsConfig, ClientError> {
        read(self.skills(Method::GET, directory, name).send().await?).await
    }

    /// Gives the skills of these sources to every session that is created in the directory from now on.
    pub async fn set_skills_config(
        &self,
        directory: &str,
        name: &str,
        skills: &SkillsConfig,
    ) -> Result<(), ClientError> {
        accepted(self.skills(Method::PUT, directory, name).json(skills).send().await?).await.map(drop)
    }

    pub async fn delete_skills_config(&self, directory: &str, name: &str) -> Result<(), ClientError> {
        accepted(self.skills(Method::DELETE, directory, name).send().await?).await.map(drop)
    }

    fn mcp(&self, method: Method, directory: &str, name: &str) -> Call {
        let query = [("directory", Some(directory.to_owned())), ("mcpName", Some(name.to_owned()))];
        self.request(method, &["v1", "config", "mcp"], &query)
    }

    fn skills(&self, method: Method, directory: &str, name: &str) -> Call {
        let query = [("directory", Some(directory.to_owned())), ("skillName", Some(name.to_owned()))];
        self.request(method, &["v1", "config", "skills"], &query)
    }
}
