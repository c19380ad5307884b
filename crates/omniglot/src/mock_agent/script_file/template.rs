//! A message of a script with placeholders for values of the conversation: `${session}`, `${id}` and so on.
//!
//! Filled in as text, so that every other byte is sent as the script has it. `play` knows the values, `check`
//! whether they can be known in time.

use agent_client_protocol_schema::v1::RequestId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Fault;

#[derive(Debug)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// The id of a request that the message makes.
    pub(super) request: Option<RequestId>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// A whole JSON string: an id that is a number becomes a number.
    Whole(Name),
    /// A part of a longer string.
    Inside(Name),
}

/// The name of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Session,
    Cwd,
    Id,
    Prompt,
    PromptId,
}

impl Name {
    const ALL: [Self; 5] = [Self::Session, Self::Cwd, Self::Id, Self::Prompt, Self::PromptId];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Session => "${session}",
            Self::Cwd => "${cwd}",
            Self::Id => "${id}",
            Self::Prompt => "${prompt}",
            Self::PromptId => "${prompt_id}",
        }
    }
}

/// The values that are known by now.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) session: Option<String>,
    pub(super) cwd: Option<String>,
    /// The id of the request that the last `wait` took.
    pub(super) id: Option<RequestId>,
    pub(super) prompt: Option<String>,
    pub(super) prompt_id: Option<RequestId>,
}

impl Values {
    /// Returns the value as JSON.
    fn json(&self, name: Name) -> Option<String> {
        match name {
            Name::Session => encode(self.session.as_ref()?),
            Name::Cwd => encode(self.cwd.as_ref()?),
            Name::Id => encode(self.id.as_ref()?),
            Name::Prompt => encode(self.prompt.as_ref()?),
            Name::PromptId => encode(self.prompt_id.as_ref()?),
        }
    }
}

fn encode(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// The members that identify a message.
#[derive(Deserialize)]
pub(super) struct Head {
    jsonrpc: Option<String>,
    pub(super) id: Option<RequestId>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

impl Template {
    pub(super) fn of_message(message: &str) -> Result<Self, Fault> {
        let head: Head = serde_json::from_str(message).map_err(|error| Fault::json(&error, NO_MESSAGE))?;
        let answers = head.id.is_some() && (head.result.is_some() || head.error.is_some());
        if head.method.is_none() && !answers {
            return Err(Fault::new("this is no message", NO_MESSAGE));
        }
        let mut pieces = pieces(message)?;
        if head.jsonrpc.is_none()
            && let Some(Piece::Text(first)) = pieces.first_mut()
            && let Some(rest) = first.strip_prefix('{')
        {
            *first = format!("{{\"jsonrpc\":\"2.0\",{}", rest.trim_start());
        }
        Ok(Self { pieces, request: head.method.and(head.id) })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Whole(name) | Piece::Inside(name) => Some(*name),
        })
    }

    /// Returns the message with every placeholder filled in, or the name whose value is not known yet.
    pub(super) fn fill(&self, values: &Values) -> Result<String, Name> {
        let mut message = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => message.push_str(text),
                Piece::Whole(name) => message.push_str(&values.json(*name).ok_or(*name)?),
                Piece::Inside(name) => {
                    let json = values.json(*name).ok_or(*name)?;
                    let bare = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
                    message.push_str(bare.unwrap_or(&json));
                }
            }
        }
        Ok(message)
    }
}

fn pieces(message: &str) -> Result<Vec<Piece>, Fault> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            text.push_str(before);
            text.push_str("${");
            rest = after;
            continue;
        }
        let (name, after) = name(after)?;
        text.push_str(before);
        let whole = text.ends_with('"') && after.starts_with('"');
        if whole {
            text.pop();
        }
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(if whole { Piece::Whole(name) } else { Piece::Inside(name) });
        rest = if whole { after.get(1..).unwrap_or_default() } else { after };
    }
    text.push_str(rest);
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// Returns the name of a placeholder, and the text after it.
fn name(after: &str) -> Result<(Name, &str), Fault> {
    let known = after.split_once('}').and_then(|(word, rest)| {
        let name = Name::ALL.into_iter().find(|name| name.text() == format!("${{{word}}}"))?;
        Some((name, rest))
    });
    known.ok_or_else(|| {
        let names = Name::ALL.map(Name::text).join(", ");
        let word: String = after.chars().take_while(|c| *c != '}' && *c != '"').collect();
        Fault::new(format!("nobody knows ${{{word}}}"), format!("use {names}, or $${{ for a plain ${{"))
    })
}

const NO_MESSAGE: &str = "send takes a JSON-RPC message: an object with a method, or with an id and a result or an error; \
                          use raw for anything else";

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values {
            session: Some("mock-1".into()),
            cwd: Some("/a \"b\"".into()),
            id: Some(RequestId::Number(7)),
            prompt: Some("say\nhi".into()),
            prompt_id: Some(RequestId::Str("p".into())),
        }
    }

    #[track_caller]
    fn filled(message: &str) -> String {
        Template::of_message(message).unwrap().fill(&values()).unwrap()
    }

    #[test]
    fn a_whole_string_becomes_the_value_and_a_part_becomes_text() {
        let message = r#"{"jsonrpc":"2.0","id":"${id}","result":{"a":"<${id}> ${cwd}","b":"${prompt_id}","c":"${session}"}}"#;
        assert_eq!(
            filled(message),
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":"<7> /a \"b\"","b":"p","c":"mock-1"}}"#
        );
    }

    #[test]
    fn every_other_byte_is_kept() {
        let message = r#"{"jsonrpc": "2.0",  "method":"x", "params":{"z":1e2,"a":"$${HOME} $5 \u00e9"}}"#;
        assert_eq!(filled(message), message.replace("$${", "${"));
    }

    #[test]
    fn the_protocol_version_may_be_left_out() {
        assert_eq!(filled(r#"{ "method": "x" }"#), r#"{"jsonrpc":"2.0","method": "x" }"#);
        assert_eq!(filled(r#"{"id":"${id}","result":1}"#), r#"{"jsonrpc":"2.0","id":7,"result":1}"#);
    }

    #[test]
    fn what_is_not_known_is_named() {
        let template = Template::of_message(r#"{"method":"x","params":"${cwd}"}"#).unwrap();
        assert_eq!(template.fill(&Values::default()), Err(Name::Cwd));
    }
}
