//! Parts of items as ACP content, with the bytes of blobs where they were given.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink, TextContent,
    TextResourceContents,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_schema::{ContentPart, EventData, ItemId, Listed, SessionState, UniversalEvent};
use serde::de::DeserializeOwned;

use omniglot_schema::uri;

/// The content of blobs, by the path that events name them with. Fetched beforehand, since a projector is pure.
#[derive(Debug, Default)]
pub struct Blobs(HashMap<String, Vec<u8>>);

impl Blobs {
    /// The paths of the blobs that an event's projection wants. Most events want none.
    pub fn named_by(event: &UniversalEvent) -> Vec<&str> {
        match &event.data {
            EventData::ItemCompleted(data) => data.item.content.iter().filter_map(image_path).collect(),
            EventData::SessionUpdated(patch) => [
                list_path(patch.todos.as_ref()),
                list_path(patch.commands.as_ref()),
                list_path(patch.modes.as_ref()),
                list_path(patch.models.as_ref()),
            ]
            .into_iter()
            .flatten()
            .collect(),
            _ => vec![],
        }
    }

    /// The same for the state of a session that is opened.
    pub fn named_by_state(state: &SessionState) -> Vec<&str> {
        let modes = state.modes.as_ref().and_then(Listed::path);
        let models = state.models.as_ref().and_then(Listed::path);
        modes.into_iter().chain(models).collect()
    }

    pub fn insert(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.0.insert(path.into(), bytes);
    }

    /// Puts the list in place, if its blob is here.
    pub fn fill<T: DeserializeOwned>(&self, list: &mut Listed<T>) {
        let bytes = list.path().and_then(|path| self.0.get(path));
        if let Some(entries) = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()) {
            *list = Listed::Inline(entries);
        }
    }

    /// Puts the lists of a state in place, as far as their blobs are here.
    pub fn fill_state(&self, state: &mut SessionState) {
        state.modes.iter_mut().for_each(|list| self.fill(list));
        state.models.iter_mut().for_each(|list| self.fill(list));
    }
}

impl FromIterator<(String, Vec<u8>)> for Blobs {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(blobs: I) -> Self {
        Self(blobs.into_iter().collect())
    }
}

fn image_path(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Image { path, .. } => Some(path),
        _ => None,
    }
}

fn list_path<T>(list: Option<&Option<Listed<T>>>) -> Option<&str> {
    list?.as_ref()?.path()
}

/// `None` for a part that is told in another way.
pub(super) fn block(item: &ItemId, part: &ContentPart, blobs: &Blobs) -> Option<ContentBlock> {
    match part {
        ContentPart::Text { text } | ContentPart::Reasoning { text, .. } => {
            Some(ContentBlock::Text(TextContent::new(text.clone())))
        }
        ContentPart::Json { json } => Some(structured(item, json)),
        ContentPart::Image { path, mime } => Some(image(path, mime.as_deref(), blobs)),
        ContentPart::FileRef { path, .. } => {
            Some(ContentBlock::ResourceLink(ResourceLink::new(uri::name_of(path), uri::of_path(path))))
        }
        ContentPart::ToolCall { .. } | ContentPart::ToolResult { .. } | ContentPart::Status { .. } => None,
    }
}

fn structured(item: &ItemId, json: &serde_json::Value) -> ContentBlock {
    let text = TextResourceContents::new(json.to_string(), format!("omniglot:{item}"))
        .mime_type("application/json".to_owned());
    ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(text)))
}

/// ACP wants the bytes of a picture; without them it is a link.
fn image(path: &str, mime: Option<&str>, blobs: &Blobs) -> ContentBlock {
    let mime = mime.map(str::to_owned);
    match blobs.0.get(path) {
        Some(bytes) => {
            let mime = mime.unwrap_or_else(|| "image/png".to_owned());
            ContentBlock::Image(ImageContent::new(STANDARD.encode(bytes), mime).uri(path))
        }
        None => {
            ContentBlock::ResourceLink(ResourceLink::new(uri::name_of(path), uri_of(path)).mime_type(mime))
        }
    }
}

/// A blob is served by this daemon; everything else is a file.
fn uri_of(path: &str) -> String {
    if path.starts_with("/v1/sessions/") { path.to_owned() } else { uri::of_path(path) }
}
