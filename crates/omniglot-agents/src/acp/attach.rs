//! Files that come with a message, in the richest form that the agent takes.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, PromptCapabilities, ResourceLink,
    TextResourceContents,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use omniglot_schema::uri;

use crate::contract::{Attachment, FileContent};

/// Every agent must take a link; pictures and texts only go to those that say so.
pub(crate) fn block(attachment: &Attachment, takes: &PromptCapabilities, cwd: &Path) -> ContentBlock {
    let file = &attachment.file;
    let path = cwd.join(&file.path);
    let uri = uri::of_path(&path.to_string_lossy());
    match &attachment.content {
        FileContent::Image { mime, bytes } if takes.image => {
            ContentBlock::Image(ImageContent::new(STANDARD.encode(bytes), mime.clone()).uri(uri))
        }
        FileContent::Text(text) if takes.embedded_context => {
            let text = TextResourceContents::new(text.clone(), uri).mime_type(file.mime.clone());
            let resource = EmbeddedResourceResource::TextResourceContents(text);
            ContentBlock::Resource(EmbeddedResource::new(resource))
        }
        FileContent::Image { .. } | FileContent::Text(_) | FileContent::Unread => {
            let name =
                file.filename.clone().or_else(|| Some(path.file_name()?.to_string_lossy().into_owned()));
            let link = ResourceLink::new(name.unwrap_or_else(|| file.path.clone()), uri);
            ContentBlock::ResourceLink(link.mime_type(file.mime.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::MessageAttachment;

    use super::*;

    #[track_caller]
    fn sent(content: FileContent, takes: &PromptCapabilities) -> String {
        let file = MessageAttachment { path: "a b".into(), mime: None, filename: None };
        serde_json::to_string(&block(&Attachment { file, content }, takes, Path::new("/w"))).unwrap()
    }

    fn image() -> FileContent {
        FileContent::Image { mime: "image/png".into(), bytes: vec![0, 1] }
    }

    #[test]
    fn an_agent_that_takes_them_gets_pictures_and_texts_whole() {
        let all = PromptCapabilities::new().image(true).embedded_context(true);
        insta::assert_snapshot!(sent(image(), &all), @r#"{"type":"image","data":"AAE=","mimeType":"image/png","uri":"file:///w/a%20b"}"#);
        insta::assert_snapshot!(sent(FileContent::Text("t".into()), &all), @r#"{"type":"resource","resource":{"text":"t","uri":"file:///w/a%20b"}}"#);
        insta::assert_snapshot!(sent(FileContent::Unread, &all), @r#"{"type":"resource_link","name":"a b","uri":"file:///w/a%20b"}"#);
    }

    #[test]
    fn an_agent_that_says_nothing_gets_links() {
        let link = sent(FileContent::Unread, &PromptCapabilities::new());
        assert_eq!(sent(image(), &PromptCapabilities::new()), link);
        assert_eq!(sent(FileContent::Text("t".into()), &PromptCapabilities::new()), link);
    }
}
