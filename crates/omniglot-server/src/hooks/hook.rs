//! A hook that is ready to be called: its configuration, with its secret read.

use omniglot_runtime::config::{HookConfig, HookEvents, HookFormat};
use omniglot_runtime::digest::sha256;
use omniglot_schema::{Label, Labels, UniversalEventType};
use reqwest::Url;

use super::signature::SigningKey;

/// A hook cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
#[error("hook {name}: its secret cannot be used: {why}")]
pub struct HookError {
    pub name: String,
    pub why: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) name: String,
    pub(super) url: Url,
    events: Vec<HookEvents>,
    labels: Vec<Label>,
    pub(super) key: Option<SigningKey>,
    pub(super) details: bool,
    pub(super) format: HookFormat,
    pub(super) allow_private: bool,
    pub(super) answer_links: bool,
}

impl Hook {
    pub(super) fn of(config: &HookConfig) -> Result<Self, HookError> {
        let HookConfig { name, url, events, labels, secret, details, format, allow_private, answer_links } =
            config.clone();
        let key = secret.as_ref().map(SigningKey::read).transpose();
        let key = key.map_err(|why| HookError { name: name.clone(), why })?;
        Ok(Self { name, url, events, labels, key, details, format, allow_private, answer_links })
    }

    /// The types of events that it may be called for.
    pub(super) fn types(&self) -> Vec<UniversalEventType> {
        let requests = [UniversalEventType::PermissionRequested, UniversalEventType::QuestionRequested];
        let types = self.events.iter().flat_map(|events| match events {
            HookEvents::NeedsYou => requests.to_vec(),
            HookEvents::Type(kind) => vec![*kind],
        });
        types.collect()
    }

    /// Whether it is called for this type only while a person is needed.
    pub(super) fn needs_open_request(&self, kind: UniversalEventType) -> bool {
        !self.events.contains(&HookEvents::Type(kind))
    }

    pub(super) fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    pub(super) fn wants_session(&self, labels: &Labels) -> bool {
        self.labels.iter().all(|label| label.is_in(labels))
    }

    /// Scheme and host: the path of an address is often its secret.
    pub(crate) fn target(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}", self.url.scheme(), self.url.host_str().unwrap_or_default())
    }

    /// Tells another address of the same name.
    pub(super) fn address_digest(&self) -> String {
        sha256(self.url.as_str().as_bytes())
    }
}
