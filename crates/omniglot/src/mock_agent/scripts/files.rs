//! Words about files and images: the attachments of the prompt, and a tool that returns an image.

use agent_client_protocol_schema::v1::{
    Content, ContentBlock, EmbeddedResourceResource, ImageContent, ToolCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdateFields, ToolKind,
};
use serde_json::json;

use super::talk::PIXEL;
use crate::mock_agent::turn::{Flow, Turn};

/// Reports the form in which everything beside the text has arrived.
pub(in crate::mock_agent) fn attachments(turn: &mut Turn<'_>, _: u64) -> Flow {
    let told: Vec<String> = turn.blocks.iter().filter_map(told).collect();
    match told.as_slice() {
        [] => turn.say("No attachments."),
        told => turn.say(&format!("Attachments: {}", told.join("; "))),
    }
}

fn told(block: &ContentBlock) -> Option<String> {
    Some(match block {
        ContentBlock::Text(_) => return None,
        ContentBlock::Image(image) => {
            let uri = image.uri.as_deref().map(|uri| format!(" from {uri}")).unwrap_or_default();
            format!("image {} of {} base64 bytes{uri}", image.mime_type, image.data.len())
        }
        ContentBlock::ResourceLink(link) => format!("link {} to {}", link.name, link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                format!("text of {} bytes from {}", text.text.len(), text.uri)
            }
            _ => "binary resource".to_owned(),
        },
        ContentBlock::Audio(_) | _ => "something else".to_owned(),
    })
}

pub(in crate::mock_agent) fn picture_tool(turn: &mut Turn<'_>, _: u64) -> Flow {
    let id = turn.next_call()?;
    let call = ToolCall::new(id.clone(), "Take a picture")
        .name("camera")
        .kind(ToolKind::Other)
        .raw_input(json!({ "size": 1 }));
    turn.start_call(call)?;
    turn.change_call(&id, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))?;
    let picture = ContentBlock::Image(ImageContent::new(PIXEL, "image/png"));
    let content =
        vec![ToolCallContent::from("Smile!".to_owned()), ToolCallContent::Content(Content::new(picture))];
    turn.change_call(&id, ToolCallUpdateFields::new().status(ToolCallStatus::Completed).content(content))
}
