//! Our requests to the server, typed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SandboxPolicy;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize<'a> {
    pub(crate) client_info: ClientInfo<'a>,
    pub(crate) capabilities: Capabilities<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ClientInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) version: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capabilities<'a> {
    pub(crate) experimental_api: bool,
    pub(crate) opt_out_notification_methods: &'a [&'a str],
}

/// `thread/start`, `thread/resume` and `thread/fork`, which share their settings.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OpenThread {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread_id: Option<String>,
    /// Without it, the whole history comes with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exclude_turns: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval_policy: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<String>,
    /// Instead of its own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_instructions: Option<String>,
    /// Beside its own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) developer_instructions: Option<String>,
    /// The settings that override the user's configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<serde_json::Map<String, Value>>,
    /// The last turn that a copy has; it has all otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_turn_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadThread {
    pub(crate) thread_id: String,
    pub(crate) include_turns: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelListParams {
    pub(crate) limit: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillRoots {
    pub(crate) extra_roots: Vec<std::path::PathBuf>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountParams {
    pub(crate) refresh_token: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForThread<'a> {
    pub(crate) thread_id: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetName {
    pub(crate) thread_id: String,
    pub(crate) name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Terminate<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) process_id: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Interrupt<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) turn_id: &'a str,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StartTurn {
    pub(crate) thread_id: String,
    /// Our id of the message; its echo carries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_user_message_id: Option<String>,
    pub(crate) input: Vec<UserInput>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Steer {
    pub(crate) thread_id: String,
    pub(crate) expected_turn_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_user_message_id: Option<String>,
    pub(crate) input: Vec<UserInput>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StartReview {
    pub(crate) thread_id: String,
    pub(crate) target: ReviewTarget,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum ReviewTarget {
    UncommittedChanges,
    BaseBranch { branch: String },
    Commit { sha: String },
    Custom { instructions: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum UserInput {
    Text {
        text: String,
    },
    Image {
        #[serde(default)]
        url: String,
    },
    LocalImage {
        path: String,
    },
    Mention {
        name: String,
        path: String,
    },
    Skill {
        name: String,
        path: String,
    },
    Audio {
        #[serde(default)]
        url: String,
    },
    LocalAudio {
        path: String,
    },
    #[serde(other)]
    Unknown,
}

/// `thread/settings/update`: what is absent stays as it is.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateSettings<'a> {
    pub(crate) thread_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval_policy: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox_policy: Option<SandboxPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collaboration_mode: Option<SetCollaboration<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SetCollaboration<'a> {
    pub(crate) mode: &'a str,
    pub(crate) settings: CollaborationSettings<'a>,
}

/// Spelled with underscores, unlike everything around it; all three keys must be there.
#[derive(Debug, Serialize)]
pub(crate) struct CollaborationSettings<'a> {
    pub(crate) model: &'a str,
    pub(crate) reasoning_effort: Option<&'a str>,
    pub(crate) developer_instructions: Option<&'a str>,
}
