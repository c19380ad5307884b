//! What single ACP agents do beside the protocol, keyed by the name they give themselves.
//!
//! Each entry was seen in a recording; an agent without one is taken at its word.

/// The peculiarities of the agent at the other end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quirks {
    gemini: bool,
}

impl Quirks {
    pub(crate) fn of(agent_name: &str) -> Self {
        Self { gemini: agent_name == "gemini-cli" }
    }

    /// gemini-cli 0.61 gives the tool's name only as `<tool>__<call>` in the call's id.
    pub(crate) fn tool_name(self, call_id: &str) -> Option<String> {
        let (name, _) = call_id.split_once("__").filter(|_| self.gemini)?;
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// gemini-cli 0.61 sends each thought whole in one chunk, with nothing between two of them.
    pub(crate) fn thoughts_are_whole(self) -> bool {
        self.gemini
    }

    /// gemini-cli 0.61 announces a mode change as a chunk of assistant text.
    pub(crate) fn announced_mode(self, text: &str) -> Option<&str> {
        let mode = text.strip_prefix("[MODE_UPDATE] ").filter(|_| self.gemini)?;
        let is_word = !mode.is_empty() && mode.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_word.then_some(mode)
    }
}

/// The names under which agents know our permission modes; the first that is listed is used.
pub(crate) fn mode_aliases(permission_mode: &str) -> &'static [&'static str] {
    match permission_mode {
        "acceptEdits" => &["acceptEdits", "autoEdit", "auto-edit"],
        "plan" => &["plan"],
        "bypass" => &["bypass", "bypassPermissions", "yolo", "full-access", "agent-full-access"],
        _ => &[],
    }
}

/// Our permission mode that an agent's mode stands for; its own name where it has none of ours.
pub(crate) fn permission_mode_of(mode: &str) -> &str {
    let mut ours = ["acceptEdits", "plan", "bypass"].into_iter();
    ours.find(|ours| mode_aliases(ours).contains(&mode)).unwrap_or(mode)
}
