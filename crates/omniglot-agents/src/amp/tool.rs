//! Calls of tools and their results. A result is a text; that of Amp's own tools holds JSON.

use std::collections::HashMap;

use omniglot_schema::{ContentPart, FileAction, ToolKind, uri};
use omniglot_timeline::{CallEnd, CallStart, ItemKey, Outcome, ToolResult, inline_image};
use serde::Deserialize;

use super::wire::{self, CallResult};
use super::{Amp, tool_kinds};
use crate::about::{About, arguments};
use crate::contract::{Draft, Output};
use crate::diff;

#[derive(Debug, Default)]
pub(crate) struct Tools {
    calls: HashMap<String, Call>,
    /// The order in which they came.
    order: Vec<String>,
}

/// A call that has no result yet.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: ItemKey,
    pub(crate) name: String,
    /// JSON text.
    pub(crate) arguments: String,
    /// The delegate has asked for it.
    pub(crate) asked: bool,
    /// The file that it writes as it was before, if that is known.
    pub(crate) before: Before,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    #[default]
    Unknown,
    Missing,
    Content(String),
}

/// The result of a tool of Amp's own.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OwnResult {
    output: Option<String>,
    exit_code: Option<i64>,
    stop_reason: Option<String>,
    /// Of a file that was read: numbered lines, or an image in base64.
    content: Option<String>,
    image_info: Option<ImageInfo>,
    /// In a fence.
    diff: Option<String>,
    files: Vec<PatchedFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageInfo {
    mime_type: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PatchedFile {
    uri: String,
    diff: String,
}

/// A part of the result of an MCP tool.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum McpPart {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Edit {
    path: String,
    old_str: String,
    new_str: String,
    content: String,
}

impl Call {
    pub(crate) fn about(&self, cwd: Option<&str>) -> About {
        tool_kinds::about(&self.name, &self.arguments).in_session_of(cwd)
    }

    /// Returns the file that the call writes whole.
    pub(crate) fn written_file(&self) -> Option<String> {
        let edit: Edit = arguments(&self.arguments);
        (self.name == "create_file" && !edit.path.is_empty()).then_some(edit.path)
    }

    /// Returns the change that the call would make, as far as its arguments tell.
    pub(crate) fn intended(&self) -> Vec<ContentPart> {
        let edit: Edit = arguments(&self.arguments);
        match self.name.as_str() {
            "edit_file" if !edit.path.is_empty() => {
                vec![patched(edit.path.clone(), diff::unified(&edit.path, &edit.old_str, &edit.new_str))]
            }
            "create_file" if !edit.path.is_empty() => vec![self.written(&edit)],
            _ => vec![],
        }
    }

    fn written(&self, edit: &Edit) -> ContentPart {
        let whole = |old| Some(diff::of_files(&edit.path, old, &edit.content));
        let diff = match &self.before {
            Before::Unknown => None,
            Before::Missing => whole(None),
            Before::Content(old) => whole(Some(old.as_str())),
        };
        ContentPart::file(edit.path.clone(), FileAction::Write, diff)
    }
}

impl Tools {
    pub(crate) fn get(&self, id: &str) -> Option<&Call> {
        self.calls.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.get_mut(id)
    }

    /// Returns the id of the oldest call like this one that the delegate has not asked for.
    pub(crate) fn unasked(&self, name: &str, input: &serde_json::Value) -> Option<&String> {
        let same = |id: &&String| {
            self.calls.get(*id).is_some_and(|call| {
                !call.asked
                    && call.name == name
                    && serde_json::from_str::<serde_json::Value>(&call.arguments)
                        .is_ok_and(|args| args == *input)
            })
        };
        self.order.iter().find(same)
    }
}

impl Amp {
    pub(crate) fn called(&mut self, call: &wire::Call<'_>, out: &mut Vec<Output>) {
        let key = ItemKey(format!("call:{}", call.id));
        let made = Call {
            key: key.clone(),
            name: call.name.clone(),
            arguments: call.input.get().to_owned(),
            asked: false,
            before: Before::Unknown,
        };
        let about = made.about(self.session.cwd.as_deref());
        let tool_call = about.call(made.name.clone(), made.arguments.clone());
        let start =
            CallStart { key: key.clone(), native_id: Some(call.id.clone()), parent: None, call: tool_call };
        out.push(Draft::CallStarted(start).into());
        out.push(Draft::CallReady { key, call: None }.into());
        self.tools.order.push(call.id.clone());
        self.tools.calls.insert(call.id.clone(), made);
        self.call_told(&call.name, call.input.get(), &call.id, out);
    }

    pub(crate) fn call_ended(&mut self, end: CallResult, out: &mut Vec<Output>) {
        let call = self.tools.calls.remove(&end.tool_use_id);
        self.tools.order.retain(|id| *id != end.tool_use_id);
        let key = call
            .as_ref()
            .map_or_else(|| ItemKey(format!("call:{}", end.tool_use_id)), |call| call.key.clone());
        let about = call.as_ref().map(|call| call.about(self.session.cwd.as_deref()));
        let outcome = if end.is_error { Outcome::Failed } else { Outcome::Completed };
        let result = result_of(call.as_ref(), about, end);
        out.push(Draft::CallEnded(CallEnd { key, outcome, result }).into());
    }
}

fn result_of(call: Option<&Call>, about: Option<About>, end: CallResult) -> ToolResult {
    if end.is_error {
        return ToolResult { output: end.content, is_error: Some(true), ..ToolResult::default() };
    }
    let kind = about.as_ref().map(|about| about.kind);
    if kind == Some(ToolKind::Mcp)
        && let Ok(parts) = serde_json::from_str::<Vec<McpPart>>(&end.content)
    {
        return of_mcp(parts);
    }
    let own: OwnResult = arguments(&end.content);
    let mut parts = match (call, own.diff) {
        (Some(call), Some(fenced)) => {
            let path = call.about(None).subject.paths.into_iter().next().map(|file| file.path);
            path.map(|path| patched(path, unfenced(&fenced))).into_iter().collect()
        }
        _ => own.files.into_iter().map(of_patch).collect::<Vec<_>>(),
    };
    if let Some(call) = call.filter(|call| call.written_file().is_some()) {
        parts.extend(call.intended());
    }
    parts.extend(about.into_iter().flat_map(About::files_read));
    let stopped = own.stop_reason.map(|reason| format!("\n[{reason}]")).unwrap_or_default();
    let output = match (kind, own.output, own.content, own.image_info) {
        (Some(ToolKind::Execute), Some(output), ..) => output + &stopped,
        (Some(ToolKind::Read), _, Some(image), Some(info)) => {
            parts.push(inline_image(&info.mime_type, &image));
            String::new()
        }
        (Some(ToolKind::Read), _, Some(content), None) => content,
        _ => end.content,
    };
    ToolResult { output, is_error: Some(false), exit_code: own.exit_code, parts, ..ToolResult::default() }
}

fn of_mcp(parts: Vec<McpPart>) -> ToolResult {
    let (mut texts, mut others) = (vec![], vec![]);
    for part in parts {
        match part {
            McpPart::Text { text } => texts.push(text),
            McpPart::Image { data, mime } => others.push(inline_image(&mime, &data)),
            McpPart::Other => {}
        }
    }
    ToolResult { output: texts.join("\n"), is_error: Some(false), parts: others, ..ToolResult::default() }
}

fn of_patch(file: PatchedFile) -> ContentPart {
    let path = uri::to_path(&file.uri).unwrap_or(file.uri);
    // Two lines before the diff name the file once more.
    let diff = file.diff.find("--- ").and_then(|at| file.diff.get(at..)).unwrap_or(&file.diff);
    patched(path, diff.to_owned())
}

fn patched(path: String, diff: String) -> ContentPart {
    ContentPart::file(path, FileAction::Patch, Some(diff))
}

fn unfenced(diff: &str) -> String {
    let inner = diff.strip_prefix("```diff\n").unwrap_or(diff);
    inner.strip_suffix("```").unwrap_or(inner).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patched_file_is_named_by_its_path_and_not_by_its_uri() {
        let path = |uri: &str| {
            let part = of_patch(PatchedFile { uri: uri.to_owned(), diff: String::new() });
            let ContentPart::FileRef { path, .. } = part else { panic!("{part:?}") };
            path
        };
        assert_eq!(path("file:///w/read%20me%23.md"), "/w/read me#.md");
        assert_eq!(path("/w/100%25"), "/w/100%25");
    }
}
