//! Lines of type `system`: what the CLI notes about itself.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::super::wire::system::CompactMetadata;
use crate::contract::{Unparsed, decode};

#[derive(Debug)]
pub(in super::super) enum SystemLine {
    Compacted(Compaction),
    Informational(String),
    Bookkeeping,
    Unknown { subtype: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in super::super) struct Compaction {
    trigger: Option<String>,
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
}

impl From<Compaction> for CompactMetadata {
    fn from(Compaction { trigger, pre_tokens, post_tokens }: Compaction) -> Self {
        Self { trigger, pre_tokens, post_tokens }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SystemFields {
    subtype: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    compact_metadata: Compaction,
}

impl SystemLine {
    pub(super) fn parse(frame: &RawValue) -> Result<Self, Unparsed> {
        let SystemFields { subtype, content, compact_metadata } = decode("system", frame)?;
        Ok(match (subtype.as_str(), content) {
            ("compact_boundary", _) => Self::Compacted(compact_metadata),
            ("informational", Some(words)) => Self::Informational(words),
            ("turn_duration" | "stop_hook_summary", _) => Self::Bookkeeping,
            _ => Self::Unknown { subtype },
        })
    }
}
