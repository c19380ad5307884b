//! Single frames and commands, and the traps of the CLI: one test each, named after it.

mod account;
mod background;
mod edits;
mod launch;
mod model;
mod requests;
mod team;
mod traps;

use omniglot_schema::{MessageId, PermissionReply};
use serde_json::value::RawValue;

use super::Claude;
use crate::contract::{Carryover, Command, Input, Open, Prompt, RequestKey, Translator};
use crate::replay::show::show_output;

/// A session under test: whatever the adapter sends is taken as sent, as the runtime does.
#[derive(Default)]
struct Harness {
    claude: Claude,
    lines: Vec<String>,
}

impl Harness {
    /// An open session with nothing special about it.
    fn ready() -> Self {
        let mut harness = Self::default();
        harness.step(Input::Started {
            argv: &["claude".into(), "--session-id".into(), "s".into(), "--model".into(), "m".into()],
            carryover: &Carryover::default(),
        });
        harness.command(&Command::Open(Open { cwd: "/w".into(), ..Open::default() }));
        harness.hear(INITIALIZED);
        harness.lines.clear();
        harness
    }

    /// An open session that works on a prompt.
    fn prompted() -> Self {
        let mut harness = Self::ready();
        harness.command(&prompt("hi"));
        harness.hear(INIT);
        harness.lines.clear();
        harness
    }

    fn command(&mut self, command: &Command) -> &mut Self {
        self.step(Input::Command(command))
    }

    fn hear(&mut self, frame: &str) -> &mut Self {
        self.step(Input::Frame(raw(frame).as_ref()))
    }

    /// Events of the main thread's stream.
    fn stream(&mut self, events: &[&str]) -> &mut Self {
        for event in events {
            self.hear(&format!(r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":null}}"#));
        }
        self
    }

    fn says(&mut self, id: &str, block: &str) -> &mut Self {
        self.hear(&format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{block}]}},"parent_tool_use_id":null}}"#
        ))
    }

    fn result(&mut self, fields: &str) -> &mut Self {
        self.hear(&format!(r#"{{"type":"result","subtype":"success","is_error":false{fields}}}"#))
    }

    fn step(&mut self, input: Input<'_>) -> &mut Self {
        let mut out = Vec::new();
        self.claude.handle(input, &mut out);
        for output in out {
            self.lines.push(show_output(&output));
            let Some(sent) = output.shown() else { continue };
            let mut out = Vec::new();
            self.claude.handle(Input::Sent(sent), &mut out);
            self.lines.extend(out.iter().map(show_output));
        }
        self
    }

    /// Returns the adapter's outputs since the last call, without those that it dropped.
    fn said(&mut self) -> String {
        let lines = std::mem::take(&mut self.lines);
        let told = lines.iter().filter(|line| !line.starts_with("dropped "));
        told.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

fn raw(frame: &str) -> Box<RawValue> {
    RawValue::from_string(frame.to_owned()).unwrap()
}

fn prompt(text: &str) -> Command {
    let message_id = Some(MessageId("msg_0123456789abcdef0123456789abcdef".into()));
    Command::Prompt(Prompt { message_id, text: text.into(), attachments: vec![] })
}

fn reply(key: &str, reply: PermissionReply, message: Option<&str>) -> Command {
    Command::ReplyPermission { key: RequestKey(key.into()), reply, message: message.map(str::to_owned) }
}

const INITIALIZED: &str = r#"{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-1","response":{"commands":[],"models":[{"value":"default","supportedEffortLevels":["low","high"]},{"value":"haiku"}],"account":{"apiKeySource":"ANTHROPIC_API_KEY"},"claude_code_version":"2.1.325"}}}"#;
const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","permissionMode":"default","claude_code_version":"2.1.325"}"#;
