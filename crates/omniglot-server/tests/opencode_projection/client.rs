//! A client like OpenCode's: it keeps lists sorted by id, and drops events that do not fit its lists.

use serde_json::Value;

use super::text;

pub(crate) struct Client {
    name: String,
    messages: Vec<Value>,
}

impl Client {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), messages: vec![] }
    }

    pub(crate) fn hear(&mut self, event: &Value) {
        let properties = &event["properties"];
        match text(event, "/type") {
            "message.updated" => self.message(&properties["info"]),
            "message.removed" => self.messages.retain(|known| known["info"]["id"] != properties["messageID"]),
            "message.part.updated" => self.part(&properties["part"]),
            "message.part.delta" => self.delta(properties),
            _ => {}
        }
    }

    /// Compares the messages of a session from the stream with those that are served.
    pub(crate) fn assert_has(&self, session: &str, served: &Value) {
        let of_session = self.messages.iter().filter(|message| message["info"]["sessionID"] == session);
        assert_eq!(&Value::Array(of_session.cloned().collect()), served, "{}", self.name);
    }

    fn message(&mut self, info: &Value) {
        match self.messages.iter_mut().find(|known| known["info"]["id"] == info["id"]) {
            Some(known) => known["info"] = info.clone(),
            None => {
                let before = self.messages.last().map(|last| place(&last["info"]));
                assert!(before < Some(place(info)), "{}: {info} sorts too early", self.name);
                self.messages.push(serde_json::json!({ "info": info, "parts": [] }));
            }
        }
    }

    fn part(&mut self, part: &Value) {
        let name = self.name.clone();
        let parts = self.parts(part);
        match parts.iter_mut().find(|known| known["id"] == part["id"]) {
            Some(known) => {
                let (before, after) = (text(known, "/text"), text(part, "/text"));
                assert!(after.starts_with(before), "{name}: a text that was streamed changed: {part}");
                *known = part.clone();
            }
            None => {
                let before = parts.last().map(|last| text(last, "/id"));
                assert!(before < Some(text(part, "/id")), "{name}: {part} sorts too early");
                parts.push(part.clone());
            }
        }
    }

    fn delta(&mut self, delta: &Value) {
        let name = self.name.clone();
        let parts = self.parts(delta);
        let part = parts.iter_mut().find(|known| known["id"] == delta["partID"]);
        let part = part.unwrap_or_else(|| panic!("{name}: a client drops {delta}"));
        let longer = format!("{}{}", text(part, "/text"), text(delta, "/delta"));
        part["text"] = longer.into();
    }

    fn parts(&mut self, of: &Value) -> &mut Vec<Value> {
        let name = &self.name;
        let message = self.messages.iter_mut().find(|known| known["info"]["id"] == of["messageID"]);
        let message = message.unwrap_or_else(|| panic!("{name}: a client drops {of}"));
        message["parts"].as_array_mut().unwrap()
    }
}

/// Returns the sort key of messages.
fn place(info: &Value) -> String {
    format!("{}{}", info["time"]["created"], text(info, "/id"))
}
