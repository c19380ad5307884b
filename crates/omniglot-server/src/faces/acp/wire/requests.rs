//! Converts clients' requests into our own: new sessions and prompts.
//!
//! Lists are read entry by entry: the schema's own types drop unknown entries, and a server or an image that
//! silently vanishes is worse than an error.

mod mcp;
mod options;

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, Meta, ResourceLink, SessionId, TextResourceContents,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_schema::{CreateSessionRequest, McpServers, MessageAttachment, MessageRequest};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::meta::{self, BadKey};
use omniglot_schema::uri;
use options::Options;

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error(transparent)]
    Key(#[from] BadKey),
    #[error("{list}[{place}]: {why}")]
    Entry { list: &'static str, place: usize, why: String },
    #[error("{0}")]
    Unsupported(&'static str),
    #[error(
        "no agent is chosen: name one with `?agent=`, `_meta[\"sandbox-agent/agent\"]` or `default_agent`"
    )]
    NoAgent,
}

/// The parameters of `session/new`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSession {
    pub cwd: String,
    #[serde(default)]
    mcp_servers: Vec<Box<RawValue>>,
    #[serde(default)]
    additional_directories: Vec<String>,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

impl NewSession {
    /// `agent` is that of the connection, for a request that names none.
    pub fn into_request(self, agent: Option<&str>) -> Result<CreateSessionRequest, Unfit> {
        if !self.additional_directories.is_empty() {
            return Err(Unfit::Unsupported("additional directories are not supported"));
        }
        let notes = self.meta.as_ref();
        let options = Options::read(notes)?;
        let named: Option<String> = meta::read(notes, meta::AGENT)?;
        let agent = named.or_else(|| agent.map(str::to_owned)).ok_or(Unfit::NoAgent)?;
        let servers: McpServers =
            entries("mcpServers", &self.mcp_servers, mcp::server)?.into_iter().collect();
        Ok(CreateSessionRequest {
            agent_mode: meta::read(notes, meta::AGENT_MODE)?,
            permission_mode: meta::read(notes, meta::PERMISSION_MODE)?,
            model: meta::read(notes, meta::MODEL)?.or(options.model),
            system_prompt: options.system_prompt,
            allowed_tools: options.allowed_tools,
            max_turns: options.max_turns,
            variant: meta::read(notes, meta::VARIANT)?,
            agent_version: meta::read(notes, meta::AGENT_VERSION)?,
            title: meta::read(notes, meta::TITLE)?,
            skills: meta::read(notes, meta::SKILLS)?,
            mcp: (!servers.is_empty()).then_some(servers),
            directory: Some(self.cwd),
            ..CreateSessionRequest::new(agent)
        })
    }
}

/// The parameters of `session/prompt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    pub session_id: SessionId,
    prompt: Vec<Box<RawValue>>,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

/// A prompt as a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its attachments are the files that the prompt links to; the caller checks whether they exist.
    pub request: MessageRequest,
    /// Inline content of the prompt, to be written to a file that an attachment can name.
    pub inline: Vec<InlineFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineFile {
    pub name: String,
    pub mime: Option<String>,
    pub bytes: Vec<u8>,
}

impl Prompt {
    pub fn into_message(self) -> Result<Message, Unfit> {
        let turn: Option<String> = meta::read(self.meta.as_ref(), meta::TURN_ID)?;
        let request = MessageRequest {
            message: String::new(),
            attachments: vec![],
            delivery: None,
            client_ids: turn.into_iter().collect(),
            metadata: meta::read(self.meta.as_ref(), meta::METADATA)?,
        };
        let mut message = Message { request, inline: vec![] };
        for (place, block) in self.prompt.iter().enumerate() {
            let unfit = |why: String| Unfit::Entry { list: "prompt", place, why };
            let block: ContentBlock = parse(block).map_err(unfit)?;
            message.add(block).map_err(unfit)?;
        }
        Ok(message)
    }
}

impl Message {
    fn add(&mut self, block: ContentBlock) -> Result<(), String> {
        match block {
            ContentBlock::Text(text) => self.say(&text.text),
            ContentBlock::ResourceLink(link) => self.link(&link),
            ContentBlock::Image(image) => {
                let name = image.uri.as_deref().map_or("image", uri::name_of);
                self.attach(name, Some(image.mime_type.clone()), &image.data)?;
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => self.quote(&text),
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    self.attach(uri::name_of(&blob.uri), blob.mime_type.clone(), &blob.blob)?;
                }
                _ => return Err("a resource is text or a blob".to_owned()),
            },
            ContentBlock::Audio(_) => return Err("no agent takes audio".to_owned()),
            _ => return Err("this kind of content is not supported".to_owned()),
        }
        Ok(())
    }

    fn say(&mut self, text: &str) {
        self.request.message.push_str(text);
    }

    /// Writes the link into the text, at the client's position for it; a file is attached as well.
    fn link(&mut self, link: &ResourceLink) {
        self.say(&format!("[@{}]({})", link.name, link.uri));
        if let Some(path) = uri::to_path(&link.uri) {
            let filename = Some(link.name.clone());
            self.request.attachments.push(MessageAttachment { path, mime: link.mime_type.clone(), filename });
        }
    }

    /// Quotes a text that the client has read for the agent, perhaps from an unsaved buffer.
    fn quote(&mut self, resource: &TextResourceContents) {
        let TextResourceContents { text, uri, .. } = resource;
        self.say(&format!("\n<context ref=\"{uri}\">\n{text}\n</context>\n"));
    }

    fn attach(&mut self, name: &str, mime: Option<String>, base64: &str) -> Result<(), String> {
        let bytes = STANDARD.decode(base64).map_err(|error| format!("its data is not base64: {error}"))?;
        self.inline.push(InlineFile { name: name.to_owned(), mime, bytes });
        Ok(())
    }
}

fn entries<T>(
    list: &'static str,
    entries: &[Box<RawValue>],
    read: impl Fn(&RawValue) -> Result<T, String>,
) -> Result<Vec<T>, Unfit> {
    let read = |(place, entry)| read(entry).map_err(|why| Unfit::Entry { list, place, why });
    entries.iter().map(|entry| &**entry).enumerate().map(read).collect()
}

fn parse<'a, T: Deserialize<'a>>(entry: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(entry.get()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
