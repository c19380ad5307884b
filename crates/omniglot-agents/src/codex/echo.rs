//! Codex repeats a user's message as an item: the echo of one that was sent here adds nothing but its id.
//!
//! A steering message stands in the turn when it is sent. Its echo comes when the model gets it, and completes it.

use omniglot_timeline::ItemKey;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{UserInput, UserMessage};

/// The echoes that are still to come in this turn.
#[derive(Debug, Default)]
pub(crate) struct Echoes {
    due: Vec<Due>,
}

/// The sent message that a user item of Codex repeats.
#[derive(Debug)]
pub(crate) enum Echo {
    /// The message that began the turn.
    Opening,
    /// One that was said to a running turn, and its item.
    Steering(ItemKey),
}

impl Echo {
    /// Returns the item of the message; the Timeline knows that of the opening one.
    pub(crate) fn item(self) -> Option<ItemKey> {
        match self {
            Self::Opening => None,
            Self::Steering(item) => Some(item),
        }
    }
}

#[derive(Debug)]
struct Due {
    echo: Echo,
    form: Form,
}

/// How an echo is known.
#[derive(Debug)]
enum Form {
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
    /// A request that says something to the model went out; tells whether that will come back.
    pub(crate) fn sent(&mut self, echo: Echo, method: &str, params: &RawValue) -> bool {
        let form = match method {
            "turn/start" | "turn/steer" => serde_json::from_str(params.get()).ok().map(Said::form),
            "review/start" => Some(Form::Review),
            _ => None,
        };
        let comes_back = form.is_some();
        self.due.extend(form.map(|form| Due { echo, form }));
        comes_back
    }

    /// Which of them this is; it has come then.
    pub(crate) fn take(&mut self, message: &UserMessage) -> Option<Echo> {
        let found = self.due.iter().position(|due| due.form.comes_as(message))?;
        Some(self.due.remove(found).echo)
    }

    /// Forgets the messages that the turn did not take: no later turn will.
    pub(crate) fn turn_ended(&mut self) {
        self.due.clear();
    }
}

impl Said {
    fn form(self) -> Form {
        self.client_user_message_id.map_or(Form::Words(self.input), Form::Named)
    }
}

impl Form {
    fn comes_as(&self, message: &UserMessage) -> bool {
        match self {
            Self::Named(name) => message.client_id.as_ref() == Some(name),
            Self::Words(words) => message.client_id.is_none() && *words == message.content,
            Self::Review => message.client_id.is_none(),
        }
    }
}
