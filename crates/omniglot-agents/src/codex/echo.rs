//! What a person said comes back from Codex as an item: the echo of what was sent here is no news.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{UserInput, UserMessage};

/// The echoes that are still to come in this turn.
#[derive(Debug, Default)]
pub(crate) struct Echoes {
    due: Vec<Due>,
}

#[derive(Debug)]
enum Due {
    /// Of what has a name.
    Named(String),
    Words(Vec<UserInput>),
    /// Of the request for a review, which Codex puts in its own words.
    Review,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    #[serde(default)]
    client_user_message_id: Option<String>,
    #[serde(default)]
    input: Vec<UserInput>,
}

impl Echoes {
    /// A request that says something to the model went out.
    pub(crate) fn sent(&mut self, method: &str, params: &RawValue) {
        self.due.extend(match method {
            "turn/start" | "turn/steer" => serde_json::from_str(params.get()).ok().map(Said::due),
            "review/start" => Some(Due::Review),
            _ => None,
        });
    }

    /// Whether this is one of them, which then has come.
    pub(crate) fn is_echo(&mut self, message: &UserMessage) -> bool {
        let found = self.due.iter().position(|due| due.comes_as(message));
        found.map(|at| self.due.remove(at)).is_some()
    }

    /// What was not taken into a turn never is.
    pub(crate) fn turn_ended(&mut self) {
        self.due.clear();
    }
}

impl Said {
    fn due(self) -> Due {
        self.client_user_message_id.map_or(Due::Words(self.input), Due::Named)
    }
}

impl Due {
    fn comes_as(&self, message: &UserMessage) -> bool {
        match self {
            Self::Named(name) => message.client_id.as_ref() == Some(name),
            Self::Words(words) => message.client_id.is_none() && *words == message.content,
            Self::Review => message.client_id.is_none(),
        }
    }
}
