//! The control protocol, both ways: requests of the CLI, requests of ours, and the answers to each.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::contract::{Unparsed, decode};
use crate::fault::unparsed;

/// A request of the CLI.
#[derive(Debug, Deserialize)]
pub(crate) struct ControlRequest<'a> {
    pub(crate) request_id: String,
    #[serde(borrow)]
    request: &'a RawValue,
}

#[derive(Debug)]
pub(crate) enum RequestBody<'a> {
    CanUseTool(Box<CanUseTool>),
    Elicitation(Elicit<'a>),
    /// We register no hooks, so none can want more than that the work goes on.
    HookCallback(HookCallback),
    Unknown {
        subtype: String,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct CanUseTool {
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) display_name: Option<String>,
    pub(crate) input: Map<String, Value>,
    #[serde(default)]
    pub(crate) tool_use_id: Option<String>,
    /// Verbatim, because they are sent back.
    #[serde(default)]
    pub(crate) permission_suggestions: Option<Vec<PermissionUpdate>>,
}

/// A change of the CLI's own rules. Kinds that we do not know are passed on as they came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PermissionUpdate {
    pub(crate) r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<Vec<Rule>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) behavior: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) destination: Option<String>,
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rule {
    pub(crate) tool_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rule_content: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Elicit<'a> {
    #[serde(default)]
    pub(crate) mcp_server_name: Option<String>,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) mode: Option<String>,
    #[serde(default)]
    pub(crate) url: Option<String>,
    #[serde(default, borrow)]
    pub(crate) requested_schema: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HookCallback {
    #[serde(default)]
    pub(crate) input: HookInput,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HookInput {
    pub(crate) hook_event_name: Option<String>,
}

#[derive(Deserialize)]
struct Subtype {
    subtype: String,
}

impl<'a> ControlRequest<'a> {
    pub(crate) fn ask(&self) -> Result<RequestBody<'a>, Unparsed> {
        let Subtype { subtype } = decode("control_request", self.request)?;
        let location = format!("control_request.{subtype}");
        Ok(match subtype.as_str() {
            "can_use_tool" => RequestBody::CanUseTool(decode(&location, self.request)?),
            "elicitation" => RequestBody::Elicitation(decode(&location, self.request)?),
            "hook_callback" => RequestBody::HookCallback(decode(&location, self.request)?),
            _ => RequestBody::Unknown { subtype },
        })
    }
}

/// An answer, in either direction.
#[derive(Debug, Deserialize)]
pub(crate) struct ControlResponse<'a> {
    #[serde(borrow)]
    response: Response<'a>,
}

#[derive(Debug, Deserialize)]
struct Response<'a> {
    request_id: String,
    subtype: String,
    #[serde(default, borrow)]
    response: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<String>,
}

impl<'a> ControlResponse<'a> {
    pub(crate) fn request_id(&self) -> &str {
        &self.response.request_id
    }

    /// The body, or the words of the refusal.
    pub(crate) fn result(&self) -> Result<Option<&'a RawValue>, String> {
        match self.response.subtype.as_str() {
            "error" => Err(self.response.error.clone().unwrap_or_default()),
            _ => Ok(self.response.response),
        }
    }
}

/// A message to the CLI, as far as drafts follow from it.
#[derive(Debug)]
pub(crate) enum Outgoing<'a> {
    Prompt(UserPrompt<'a>),
    Request {
        id: String,
        request: Request,
    },
    Answer(ControlResponse<'a>),
    /// Nothing follows from it.
    Other,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UserPrompt<'a> {
    #[serde(borrow)]
    pub(crate) message: super::UserContent<'a>,
    #[serde(default)]
    pub(crate) uuid: Option<String>,
}

/// Our requests whose answers matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(crate) enum Request {
    #[serde(rename_all = "camelCase")]
    Initialize {
        /// Also tell what subagents write, not only what they do.
        #[serde(default)]
        forward_subagent_text: bool,
    },
    Interrupt,
    SetModel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    SetPermissionMode {
        mode: String,
    },
    ApplyFlagSettings {
        settings: FlagSettings,
    },
    /// Servers in the CLI's own form; their secrets are not shown to anybody else.
    McpSetServers {
        servers: IndexMap<String, Value>,
    },
    CancelAsyncMessage {
        message_uuid: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FlagSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort_level: Option<String>,
}

#[derive(Deserialize)]
struct OutgoingRequest {
    request_id: String,
    request: Request,
}

#[derive(Deserialize)]
struct Kind {
    r#type: String,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        let Kind { r#type } = decode("stdin", frame)?;
        Ok(match r#type.as_str() {
            "user" => Self::Prompt(decode("stdin.user", frame)?),
            "control_request" => {
                let OutgoingRequest { request_id, request } = decode("stdin.control_request", frame)?;
                Self::Request { id: request_id, request }
            }
            "control_response" => Self::Answer(decode("stdin.control_response", frame)?),
            _ => Self::Other,
        })
    }
}

/// Our answer to `can_use_tool`, as it is read back.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) behavior: String,
    /// Without it the CLI refuses the tool.
    #[serde(default)]
    pub(crate) updated_input: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) updated_permissions: Vec<PermissionUpdate>,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Allow<'a> {
    pub(crate) behavior: &'static str,
    pub(crate) updated_input: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) updated_permissions: Vec<PermissionUpdate>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Deny<'a> {
    pub(crate) behavior: &'static str,
    pub(crate) message: &'a str,
    /// Ends the turn; the message is not used then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) interrupt: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ElicitAnswer {
    pub(crate) action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<crate::form::Content>,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    r#type: &'static str,
    request_id: &'a str,
    request: &'a T,
}

pub(crate) fn control_request(id: &str, request: &Request) -> Result<Box<RawValue>, Unparsed> {
    render(&Envelope { r#type: "control_request", request_id: id, request })
}

#[derive(Serialize)]
struct AnswerEnvelope<'a, T> {
    r#type: &'static str,
    response: AnswerBody<'a, T>,
}

#[derive(Serialize)]
struct AnswerBody<'a, T> {
    subtype: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

pub(crate) fn success<T: Serialize>(id: &str, body: T) -> Result<Box<RawValue>, Unparsed> {
    let response = AnswerBody { subtype: "success", request_id: id, response: Some(body), error: None };
    render(&AnswerEnvelope { r#type: "control_response", response })
}

pub(crate) fn failure(id: &str, error: &str) -> Result<Box<RawValue>, Unparsed> {
    let response = AnswerBody::<()> { subtype: "error", request_id: id, response: None, error: Some(error) };
    render(&AnswerEnvelope { r#type: "control_response", response })
}

fn render<T: Serialize>(message: &T) -> Result<Box<RawValue>, Unparsed> {
    to_raw_value(message).map_err(|error| unparsed("stdin", error.to_string()))
}
