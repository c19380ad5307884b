//! Each kind of item that is a call: its name and arguments, and what came of it.

use omniglot_schema::{ContentPart, FileAction, ToolKind};
use omniglot_timeline::{Outcome, inline_image};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::about::{About, file_read};
use crate::codex::diff::file_ref;
use crate::codex::input::picture;
use crate::codex::tool_kinds;
use crate::codex::wire::{
    CallStatus, CollabAgentToolCall, CommandExecution, DynamicToolCall, FileChange, FunctionCallOutput,
    ImageGeneration, ImageView, McpToolCall, Sleep, SubAgentActivity, WebSearch,
};

/// A call as it is announced.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// JSON text.
    pub(crate) arguments: String,
    pub(crate) about: About,
    /// It runs already, and does not wait for a permission.
    pub(crate) runs: bool,
    pub(crate) is_command: bool,
    pub(crate) process: Option<String>,
    /// The MCP server whose tool it is.
    pub(crate) server: Option<String>,
    /// `file_ref` parts of what it would change.
    pub(crate) files: Vec<ContentPart>,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) output: String,
    pub(crate) exit_code: Option<i64>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) parts: Vec<ContentPart>,
}

impl Done {
    pub(crate) fn of(status: CallStatus, output: String) -> Self {
        let outcome = match status {
            CallStatus::Completed | CallStatus::InProgress => Outcome::Completed,
            CallStatus::Failed | CallStatus::Declined => Outcome::Failed,
        };
        let output =
            if status == CallStatus::Declined && output.is_empty() { "declined".to_owned() } else { output };
        Self { outcome, output, exit_code: None, duration_ms: None, parts: vec![] }
    }

    pub(crate) fn whole(output: String) -> Self {
        Self::of(CallStatus::Completed, output)
    }
}

pub(crate) fn call(name: impl Into<String>, arguments: &impl Serialize, about: About) -> Call {
    let arguments = serde_json::to_string(arguments).unwrap_or_else(|_| "{}".to_owned());
    Call {
        name: name.into(),
        arguments,
        about,
        runs: true,
        is_command: false,
        process: None,
        server: None,
        files: vec![],
    }
}

/// A call of which nothing but its name tells what it is about.
pub(crate) fn named(name: &str, arguments: &impl Serialize) -> Call {
    call(name, arguments, About::of(tool_kinds::kind(name)))
}

pub(crate) fn command(item: CommandExecution) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        command: &'a str,
        cwd: &'a str,
    }
    let arguments = Arguments { command: &item.command, cwd: &item.cwd };
    let call = Call {
        // One that waits for its permission has no process yet.
        runs: item.process_id.is_some(),
        is_command: true,
        process: item.process_id.clone(),
        ..call("shell", &arguments, tool_kinds::command(&item))
    };
    let has_succeeded = item.status == CallStatus::Completed && item.exit_code == Some(0);
    let parts = if has_succeeded { tool_kinds::files_read(&item) } else { vec![] };
    let done = Done {
        exit_code: item.exit_code,
        duration_ms: item.duration_ms,
        parts,
        ..Done::of(item.status, item.aggregated_output.unwrap_or_default())
    };
    (call, done)
}

pub(crate) fn file_change(item: &FileChange) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        changes: &'a [crate::codex::wire::FileUpdate],
    }
    let files: Vec<ContentPart> = item.changes.iter().map(file_ref).collect();
    let mut done = Done::of(item.status, String::new());
    if done.outcome == Outcome::Completed {
        // An edit that failed or was refused did not change the file.
        done.parts.clone_from(&files);
    }
    let arguments = Arguments { changes: &item.changes };
    let call = Call { runs: false, files, ..call("apply_patch", &arguments, tool_kinds::file_change(item)) };
    (call, done)
}

pub(crate) fn mcp(item: McpToolCall) -> (Call, Done) {
    let name = format!("mcp__{}__{}", item.server, item.tool);
    let about = tool_kinds::mcp(&item.server);
    let call = Call { runs: false, server: Some(item.server), ..call(name, &item.arguments, about) };
    let mut done = Done::of(item.status, String::new());
    done.duration_ms = item.duration_ms;
    if let Some(result) = item.result {
        done.add_all(result.content);
        done.parts.extend(result.structured_content.filter(|json| !json.is_null()).map(json_part));
    }
    if let Some(error) = item.error {
        done.output = error.message;
    }
    (call, done)
}

pub(crate) fn dynamic(item: DynamicToolCall) -> (Call, Done) {
    let name = item.namespace.map_or_else(|| item.tool.clone(), |space| format!("{space}.{}", item.tool));
    let mut done = Done::of(item.status, String::new());
    done.duration_ms = item.duration_ms;
    done.add_all(item.content_items.unwrap_or_default());
    (call(name, &item.arguments, About::of(ToolKind::Other)), done)
}

pub(crate) fn function_output(item: FunctionCallOutput) -> (Call, Done) {
    let name = item.namespace.map_or_else(|| item.name.clone(), |space| format!("{space}.{}", item.name));
    let mut done = Done::whole(String::new());
    match item.output {
        Value::String(text) => done.output = text,
        Value::Array(content) => done.add_all(content),
        json @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            done.parts.push(json_part(json));
        }
    }
    let arguments = Value::Object(serde_json::Map::new());
    (call(name, &arguments, About::of(ToolKind::Other)), done)
}

pub(crate) fn collab(item: &CollabAgentToolCall) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_effort: Option<&'a str>,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        agents: &'a [String],
    }
    // One that was not asked for is known only when the agent has been started.
    let model = item.model.as_deref().filter(|model| !model.is_empty());
    let agents = item.receiver_thread_ids.as_slice();
    let (prompt, reasoning_effort) = (item.prompt.as_deref(), item.reasoning_effort.as_deref());
    let told = item.agents_states.values().map(|agent| agent.message.as_deref().unwrap_or(&agent.status));
    let output = told.collect::<Vec<_>>().join("\n");
    let mut done = Done::of(item.status, output);
    if let Some(model) = model {
        done.parts.push(json_part(serde_json::json!({ "agents": agents, "model": model })));
    }
    let arguments = Arguments { prompt, model, reasoning_effort, agents };
    (call(item.tool.clone(), &arguments, tool_kinds::collab(item)), done)
}

pub(crate) fn subagent(item: &SubAgentActivity) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        agent: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_effort: Option<&'a str>,
    }
    let (model, reasoning_effort) = (item.model.as_deref(), item.reasoning_effort.as_deref());
    let arguments = Arguments { agent: &item.agent_path, model, reasoning_effort };
    let call = named("spawnAgent", &arguments);
    (call, Done::whole(item.kind.clone()))
}

pub(crate) fn web_search(item: &WebSearch) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        query: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<&'a Value>,
    }
    let arguments = Arguments { query: &item.query, action: item.action.as_ref() };
    let mut done = Done::whole(String::new());
    done.parts.extend(item.results.clone().filter(|json| !json.is_null()).map(json_part));
    (call("web_search", &arguments, tool_kinds::web_search(item)), done)
}

pub(crate) fn image_view(item: ImageView) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        path: &'a str,
    }
    let call = call("view_image", &Arguments { path: &item.path }, tool_kinds::image_view(&item.path));
    let mut done = Done::whole(String::new());
    done.parts.push(file_read(item.path));
    (call, done)
}

pub(crate) fn image_generation(item: ImageGeneration) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<&'a str>,
    }
    let prompt = item.revised_prompt.as_deref();
    let call = call("image_generation", &Arguments { prompt }, tool_kinds::image_generation(prompt));
    let status = if item.status == "failed" { CallStatus::Failed } else { CallStatus::Completed };
    let mut done = Done::of(status, String::new());
    let inline = item.result.filter(|data| !data.is_empty()).map(|data| inline_image("image/png", &data));
    let saved = item.saved_path.map(|path| ContentPart::file(path, FileAction::Write, None));
    done.parts.extend(inline.into_iter().chain(saved));
    (call, done)
}

pub(crate) fn sleep(item: &Sleep) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments {
        duration_ms: u64,
    }
    let arguments = Arguments { duration_ms: item.duration_ms };
    (named("sleep", &arguments), Done::whole(String::new()))
}

/// A block of a tool's answer, in the spellings of MCP and of Codex.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    r#type: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    #[serde(alias = "image_url")]
    image_url: Option<String>,
}

impl Done {
    fn add_all(&mut self, blocks: Vec<Value>) {
        for block in blocks {
            self.add(block);
        }
    }

    /// Adds a content block; one that is neither text nor picture stays as it is.
    fn add(&mut self, raw: Value) {
        let Ok(block) = Block::deserialize(&raw) else { return self.parts.push(json_part(raw)) };
        let Block { r#type, text, data, mime_type, image_url } = block;
        match (r#type.as_str(), text, data, image_url) {
            ("text" | "inputText" | "input_text", Some(text), ..) => {
                if !self.output.is_empty() {
                    self.output.push('\n');
                }
                self.output.push_str(&text);
            }
            ("image", _, Some(data), _) => {
                self.parts.push(inline_image(mime_type.as_deref().unwrap_or("image/png"), &data));
            }
            ("inputImage" | "input_image", .., Some(url)) => self.parts.extend(picture(&url)),
            _ => self.parts.push(json_part(raw)),
        }
    }
}

fn json_part(json: Value) -> ContentPart {
    ContentPart::Json { json }
}
