//! The connection to the server that all sessions share: whose answer and whose event is whose.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::outbound::{OutboundRequest, session_of};
use crate::contract::{Handshake, Link, Refusal, RefusalKind, Route, SlotId};
use crate::http::{Answer, FromServer, Method, Request, ToServer};

#[derive(Debug, Default)]
pub(crate) struct OpenCodeLink {
    /// Who asked, and whether the answer is a session of theirs.
    asked: HashMap<String, (SlotId, bool)>,
    /// Sessions and those of their subagents.
    sessions: HashMap<String, SlotId>,
    /// Permissions and questions, by who was asked.
    requests: HashMap<String, SlotId>,
    directories: BTreeMap<SlotId, String>,
    /// The last slot that a recording was given.
    recorded: u64,
}

const HELLO: &str = "link.health";

/// As much of an event as routing needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    properties: Properties,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Properties {
    #[serde(rename = "sessionID")]
    session: Option<String>,
    /// Of a permission or a question.
    id: Option<String>,
    info: Info,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    id: Option<String>,
    #[serde(rename = "parentID")]
    parent: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

impl Link for OpenCodeLink {
    fn hello(&mut self) -> Vec<Box<RawValue>> {
        let (id, path) = (HELLO.to_owned(), "/global/health".to_owned());
        let health_check = ToServer::Request(Request { id, method: Method::Get, path, body: None });
        health_check.to_frame().into_iter().collect()
    }

    fn sent(&mut self, from: SlotId, frame: &RawValue) {
        match ToServer::parse(frame) {
            Ok(ToServer::Request(request)) => {
                let asked = OutboundRequest::of(&request);
                let opens = matches!(asked, OutboundRequest::Create | OutboundRequest::Fork);
                if let (false, Some(session)) = (opens, session_of(&request)) {
                    self.sessions.entry(session.to_owned()).or_insert(from);
                }
                self.asked.insert(request.id, (from, opens));
            }
            Ok(ToServer::Listen { directory }) => {
                self.directories.insert(from, directory);
            }
            Ok(ToServer::Leave { .. }) | Err(_) => {}
        }
    }

    fn route(&mut self, frame: &RawValue, _reply: &mut Vec<Box<RawValue>>) -> Route {
        match FromServer::parse(frame) {
            Ok(FromServer::Answer(answer)) => self.answer(&answer),
            Ok(FromServer::Event(event)) => self.event(&event.directory, &event.data),
            Ok(FromServer::Stream(_)) | Err(_) => Route::All,
        }
    }

    fn left(&mut self, slot: SlotId) {
        self.asked.retain(|_, (from, _)| *from != slot);
        self.sessions.retain(|_, of| *of != slot);
        self.requests.retain(|_, of| *of != slot);
        self.directories.remove(&slot);
    }

    /// The last one in a directory has its event stream closed.
    fn farewell(&self, slot: SlotId) -> Vec<Box<RawValue>> {
        let Some(directory) = self.directories.get(&slot) else { return vec![] };
        let stays = |(other, listens): (&SlotId, &String)| *other != slot && listens == directory;
        if self.directories.iter().any(stays) {
            return vec![];
        }
        ToServer::Leave { directory: directory.clone() }.to_frame().into_iter().collect()
    }

    fn recorded(&mut self, frame: &RawValue) -> Option<SlotId> {
        let Ok(ToServer::Request(request)) = ToServer::parse(frame) else { return None };
        let opens = matches!(OutboundRequest::of(&request), OutboundRequest::Create | OutboundRequest::Fork);
        let known = self.asker(&request).or_else(|| self.sessions.get(session_of(&request)?)).copied();
        let slot = match (opens, known, session_of(&request)) {
            (false, Some(slot), _) => slot,
            // Replies and lists name no session: with one session they are its own.
            (false, None, None) => SlotId(self.recorded.max(1)),
            (true, ..) | (false, None, Some(_)) => {
                self.recorded += 1;
                SlotId(self.recorded)
            }
        };
        self.sent(slot, frame);
        Some(slot)
    }
}

impl OpenCodeLink {
    /// Returns the session that asked the permission or question which this answers.
    fn asker(&self, request: &Request) -> Option<&SlotId> {
        let (OutboundRequest::PermissionReply { id, .. } | OutboundRequest::QuestionReply { id, .. }) =
            OutboundRequest::of(request)
        else {
            return None;
        };
        self.requests.get(&id)
    }

    fn answer(&mut self, answer: &Answer) -> Route {
        if answer.id == HELLO {
            return Route::Mine(match answer.is_success() {
                true => Handshake::Done,
                false => Handshake::Refused(Refusal {
                    kind: RefusalKind::Unavailable,
                    message: format!("its health check failed: {}", super::failure::refused(answer).message),
                    hint: None,
                }),
            });
        }
        let Some((slot, opens)) = self.asked.remove(&answer.id) else { return Route::Nobody };
        if opens && let Ok(Named { id }) = serde_json::from_str(answer.body.get()) {
            self.sessions.insert(id, slot);
        }
        Route::Session(slot)
    }

    fn event(&mut self, directory: &str, data: &RawValue) -> Route {
        let head: Head = serde_json::from_str(data.get()).unwrap_or_default();
        let Properties { session, id, info } = head.properties;
        if let (Some(child), Some(slot)) =
            (&info.id, info.parent.as_ref().and_then(|parent| self.sessions.get(parent)).copied())
            && child.starts_with("ses")
        {
            self.sessions.entry(child.clone()).or_insert(slot);
        }
        if let (Some(id), Some(slot)) = (id, session.as_ref().and_then(|session| self.sessions.get(session)))
        {
            self.requests.insert(id, *slot);
        }
        match session {
            Some(session) => self.sessions.get(&session).map_or(Route::Nobody, |slot| Route::Session(*slot)),
            // A sign of life is the connection's business, which has noticed it.
            None if head.kind == "server.heartbeat" || head.kind == "server.connected" => Route::Nobody,
            // What befell the server, all must know; what is about the directory, one of its sessions counts.
            None if head.kind == "session.error" => Route::All,
            None => self.first_in(directory).map_or(Route::Nobody, Route::Session),
        }
    }

    fn first_in(&self, directory: &str) -> Option<SlotId> {
        let here = |(_, listens): &(&SlotId, &String)| directory.is_empty() || *listens == directory;
        self.directories.iter().find(here).map(|(slot, _)| *slot)
    }
}
