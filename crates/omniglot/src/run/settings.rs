//! The settings of a run beside its model: reads the files that they name.

use std::path::Path;

use omniglot_schema::{
    CreateSessionRequest, McpServers, MessageAttachment, Rule, SessionPatch, SystemPrompt,
};
use serde_json::{Map, Value};

use crate::cli::RunSettings;
use crate::rules_command;
use crate::usage::UsageError;

/// Settings that a session gets when it is made, or later.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    variant: Option<String>,
    mode: Option<String>,
    title: Option<String>,
    mcp: Option<McpServers>,
    system_prompt: Option<SystemPrompt>,
    rules: Vec<Rule>,
}

impl Settings {
    pub(crate) fn read(args: &RunSettings) -> Result<Self, UsageError> {
        let mcp = args.mcp.as_deref().map(servers).transpose()?;
        let replace = args.system_prompt.clone().map(SystemPrompt::Replace);
        let append = args.append_system_prompt.clone().map(SystemPrompt::Append);
        Ok(Self {
            variant: args.variant.clone(),
            mode: args.mode.clone(),
            title: args.title.clone(),
            mcp,
            system_prompt: replace.or(append),
            rules: args.rules.as_deref().map(rules_command::read).transpose()?.unwrap_or_default(),
        })
    }

    /// Adds them to the request for a new session.
    pub(crate) fn of_new(&self, request: CreateSessionRequest) -> CreateSessionRequest {
        CreateSessionRequest {
            variant: self.variant.clone(),
            agent_mode: self.mode.clone(),
            title: self.title.clone(),
            mcp: self.mcp.clone(),
            system_prompt: self.system_prompt.clone(),
            rules: self.rules.clone(),
            ..request
        }
    }

    /// Adds them to the change of a session that exists, whose MCP servers and instructions stay.
    pub(crate) fn of_existing(&self, patch: SessionPatch) -> Result<SessionPatch, UsageError> {
        if self.mcp.is_some() {
            return Err(UsageError::new("the session exists, and its MCP servers stay; leave out --mcp"));
        }
        if !self.rules.is_empty() {
            return Err(UsageError::new("the session exists, and its rules stay; leave out --rules"));
        }
        if self.system_prompt.is_some() {
            let detail = "the session exists, and its instructions stay; leave out the system prompt";
            return Err(UsageError::new(detail));
        }
        Ok(SessionPatch {
            variant: self.variant.clone(),
            agent_mode: self.mode.clone(),
            title: self.title.clone(),
            ..patch
        })
    }
}

/// Returns the files of the prompt by their full paths.
pub(crate) fn attachments(args: &RunSettings) -> Result<Vec<MessageAttachment>, UsageError> {
    let attachment = |file: &Path| {
        let refuse = |why: &str| UsageError::new(format!("--file {}: {why}", file.display()));
        let full = file.canonicalize().map_err(|error| refuse(&error.to_string()))?;
        if !full.is_file() {
            return Err(refuse("not a file"));
        }
        let path = full.into_os_string().into_string().map_err(|_| refuse("its name is not UTF-8"))?;
        Ok(MessageAttachment { path, mime: None, filename: None })
    };
    args.files.iter().map(|file| attachment(file)).collect()
}

fn servers(file: &Path) -> Result<McpServers, UsageError> {
    let refuse = |why: String| UsageError::new(format!("--mcp {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    parse(&text).map_err(refuse)
}

/// Reads the servers by name. Other programs leave out the type, which the members tell.
fn parse(text: &str) -> Result<McpServers, String> {
    let whole: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let servers = match whole.get("mcpServers") {
        Some(Value::Object(servers)) => servers.clone(),
        Some(_) => return Err("mcpServers is not an object".to_owned()),
        None => whole,
    };
    let server = |(name, mut server): (String, Value)| {
        if let Some(members) = server.as_object_mut()
            && !members.contains_key("type")
        {
            let kind = if members.contains_key("url") { "http" } else { "stdio" };
            members.insert("type".to_owned(), kind.into());
        }
        let read = serde_json::from_value(server).map_err(|error| format!("{name}: {error}"))?;
        Ok((name, read))
    };
    servers.into_iter().map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_other_programs_write_them() {
        let bare = parse(r#"{ "docs": { "command": "docs", "args": ["--stdio"], "env": { "A": "b" } } }"#);
        let below = parse(r#"{ "mcpServers": { "docs": { "url": "https://docs.example/mcp" } } }"#);
        assert_eq!(bare.unwrap().len() + below.unwrap().len(), 2);
        assert!(parse(r#"{ "docs": { "commnd": "x" } }"#).unwrap_err().starts_with("docs: "));
        assert!(parse("[]").is_err());
    }
}
