//! The items of the stream: what an event says of an item, made of what is known of it.

use omniglot_schema::{CallId, ContentPart, ItemStatus, StatusLabel, UniversalItem, Usage};

use super::Timeline;
use super::bodies::{Content, json_text, with_text};
use super::fates::OpenItem;
use crate::draft::{Body, ItemKey, ToolCall, ToolResult};

impl Timeline {
    pub(super) fn item(
        &self,
        key: &ItemKey,
        open: &OpenItem,
        status: ItemStatus,
        body: Content,
    ) -> UniversalItem {
        let native_of_call = match body {
            Content::Result(_) => self.fates.call(key).and_then(|call| call.native_id.clone()),
            Content::Plain(_) | Content::Call(_) => None,
        };
        UniversalItem {
            item_id: open.id.clone(),
            native_item_id: open.native_id.clone().or(native_of_call),
            parent_id: open.parent.clone(),
            kind: body.kind(),
            role: body.role(),
            status,
            content: self.content(key, body, &open.streamed, status),
        }
    }

    fn content(&self, key: &ItemKey, body: Content, streamed: &str, status: ItemStatus) -> Vec<ContentPart> {
        match body {
            Content::Plain(
                Body::Message { parts, .. } | Body::System { parts } | Body::Unknown { parts },
            ) => with_text(parts, streamed),
            Content::Plain(Body::Reasoning { visibility, .. }) => {
                vec![ContentPart::Reasoning { text: streamed.to_owned(), visibility }]
            }
            Content::Call(ToolCall { name, arguments, title, kind, subject }) => {
                let arguments = match status {
                    ItemStatus::InProgress => arguments,
                    ItemStatus::Completed | ItemStatus::Failed => json_text(&arguments, streamed),
                };
                vec![ContentPart::ToolCall {
                    name,
                    arguments,
                    call_id: self.call_id(key),
                    title,
                    kind,
                    subject,
                }]
            }
            Content::Result(result) => {
                let ToolResult { output, stderr, is_error, exit_code, duration_ms, parts, .. } = result;
                // What was streamed may hold both.
                let is_silent = output.is_empty() && stderr.is_none();
                let output = if is_silent { streamed.to_owned() } else { output };
                let call_id = self.call_id(key);
                let result =
                    ContentPart::ToolResult { call_id, output, stderr, is_error, exit_code, duration_ms };
                std::iter::once(result).chain(parts).collect()
            }
            Content::Plain(Body::Status { label, detail }) => self.status_part(label, detail, None),
            Content::Plain(Body::Step { detail, usage }) => {
                self.status_part(StatusLabel::Step, detail, usage.map(Usage::without_contradictions))
            }
        }
    }

    fn status_part(
        &self,
        label: StatusLabel,
        detail: Option<String>,
        usage: Option<Usage>,
    ) -> Vec<ContentPart> {
        let label = format!("{}.{}", self.identity.agent, label.as_str());
        vec![ContentPart::Status { label, detail, usage }]
    }

    fn call_id(&self, call: &ItemKey) -> CallId {
        self.fates.call(call).map_or_else(|| CallId(format!("call_{}_0", self.seed)), |call| call.id.clone())
    }
}
