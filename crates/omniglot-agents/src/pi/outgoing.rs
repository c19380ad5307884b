//! Our messages to Pi: commands with an id, and answers to dialogs. Read back when they were really sent.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::contract::Unparsed;
use crate::fault::unparsed;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(flatten)]
    pub(crate) body: Outgoing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Outgoing {
    Prompt {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Where the message goes while a turn runs; without it Pi refuses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<String>,
    },
    Steer {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    FollowUp {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    Abort,
    AbortRetry,
    ClearQueue,
    GetState,
    GetAvailableModels,
    GetCommands,
    SetModel {
        provider: String,
        model_id: String,
    },
    SetThinkingLevel {
        level: String,
    },
    SetSessionName {
        name: String,
    },
    Compact {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    NewSession,
    SwitchSession,
    GetForkMessages,
    /// Goes back to the state before a message of the user.
    Fork {
        #[serde(default)]
        entry_id: String,
    },
    Clone,
    ExtensionUiResponse {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confirmed: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancelled: Option<bool>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Image {
    pub(crate) r#type: String,
    pub(crate) data: String,
    pub(crate) mime_type: String,
}

impl Sent {
    pub(crate) fn parse(frame: &RawValue) -> Option<Self> {
        serde_json::from_str(frame.get()).ok()
    }

    pub(crate) fn line(&self) -> Result<Box<RawValue>, Unparsed> {
        to_raw_value(self).map_err(|error| unparsed("stdin", error.to_string()))
    }
}

impl Outgoing {
    /// The answer to a dialog that nobody will answer.
    pub(crate) fn dismissed() -> Self {
        Self::ExtensionUiResponse { value: None, confirmed: None, cancelled: Some(true) }
    }

    pub(crate) fn value(value: String) -> Self {
        Self::ExtensionUiResponse { value: Some(value), confirmed: None, cancelled: None }
    }

    pub(crate) fn confirmed(confirmed: bool) -> Self {
        Self::ExtensionUiResponse { value: None, confirmed: Some(confirmed), cancelled: None }
    }
}
