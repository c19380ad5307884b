//! The connection to the server that all sessions share: whose answer and whose event is whose.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::{Asked, session_of};
use crate::contract::{Handshake, Link, Place, Refusal, RefusalKind, Route};
use crate::http::{Answer, FromServer, Method, Request, ToServer};

#[derive(Debug, Default)]
pub struct OpenCodeLink {
    /// Who asked, and whether the answer is a session of theirs.
    asked: HashMap<String, (Place, bool)>,
    /// Sessions and those of their subagents.
    sessions: HashMap<String, Place>,
    /// Permissions and questions, by who was asked.
    requests: HashMap<String, Place>,
    directories: BTreeMap<Place, String>,
    /// The last place that a recording was given.
    recorded: u64,
}

const GREETING: &str = "link.health";

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
        let (id, path) = (GREETING.to_owned(), "/global/health".to_owned());
        let greeting = ToServer::Request(Request { id, method: Method::Get, path, body: None });
        greeting.to_frame().into_iter().collect()
    }

    fn sent(&mut self, from: Place, frame: &RawValue) {
        match ToServer::parse(frame) {
            Ok(ToServer::Request(request)) => {
                let asked = Asked::of(&request);
                let opens = matches!(asked, Asked::Create | Asked::Fork);
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

    fn left(&mut self, place: Place) {
        self.asked.retain(|_, (from, _)| *from != place);
        self.sessions.retain(|_, of| *of != place);
        self.requests.retain(|_, of| *of != place);
        self.directories.remove(&place);
    }

    /// The last one in a directory has its event stream closed.
    fn farewell(&self, place: Place) -> Vec<Box<RawValue>> {
        let Some(directory) = self.directories.get(&place) else { return vec![] };
        let stays = |(other, listens): (&Place, &String)| *other != place && listens == directory;
        if self.directories.iter().any(stays) {
            return vec![];
        }
        ToServer::Leave { directory: directory.clone() }.to_frame().into_iter().collect()
    }

    fn recorded(&mut self, frame: &RawValue) -> Option<Place> {
        let Ok(ToServer::Request(request)) = ToServer::parse(frame) else { return None };
        let opens = matches!(Asked::of(&request), Asked::Create | Asked::Fork);
        let known = self.asker(&request).or_else(|| self.sessions.get(session_of(&request)?)).copied();
        let place = match (opens, known, session_of(&request)) {
            (false, Some(place), _) => place,
            // Replies and lists name no session: with one session they are its own.
            (false, None, None) => Place(self.recorded.max(1)),
            (true, ..) | (false, None, Some(_)) => {
                self.recorded += 1;
                Place(self.recorded)
            }
        };
        self.sent(place, frame);
        Some(place)
    }
}

impl OpenCodeLink {
    /// Whose permission or question this answers.
    fn asker(&self, request: &Request) -> Option<&Place> {
        let (Asked::PermissionReply { id, .. } | Asked::QuestionReply { id, .. }) = Asked::of(request) else {
            return None;
        };
        self.requests.get(&id)
    }

    fn answer(&mut self, answer: &Answer) -> Route {
        if answer.id == GREETING {
            return Route::Mine(match answer.is_success() {
                true => Handshake::Done,
                false => Handshake::Refused(Refusal {
                    kind: RefusalKind::Unavailable,
                    message: format!("its health check failed: {}", super::failure::refused(answer).message),
                    hint: None,
                }),
            });
        }
        let Some((place, opens)) = self.asked.remove(&answer.id) else { return Route::Nobody };
        if opens && let Ok(Named { id }) = serde_json::from_str(answer.body.get()) {
            self.sessions.insert(id, place);
        }
        Route::Session(place)
    }

    fn event(&mut self, directory: &str, data: &RawValue) -> Route {
        let head: Head = serde_json::from_str(data.get()).unwrap_or_default();
        let Properties { session, id, info } = head.properties;
        if let (Some(child), Some(place)) =
            (&info.id, info.parent.as_ref().and_then(|parent| self.sessions.get(parent)).copied())
            && child.starts_with("ses")
        {
            self.sessions.entry(child.clone()).or_insert(place);
        }
        if let (Some(id), Some(place)) = (id, session.as_ref().and_then(|session| self.sessions.get(session)))
        {
            self.requests.insert(id, *place);
        }
        match session {
            Some(session) => {
                self.sessions.get(&session).map_or(Route::Nobody, |place| Route::Session(*place))
            }
            // A sign of life is the connection's business, which has noticed it.
            None if head.kind == "server.heartbeat" || head.kind == "server.connected" => Route::Nobody,
            // What befell the server, all must know; what is about the directory, one of its sessions counts.
            None if head.kind == "session.error" => Route::All,
            None => self.first_in(directory).map_or(Route::Nobody, Route::Session),
        }
    }

    fn first_in(&self, directory: &str) -> Option<Place> {
        let here = |(_, listens): &(&Place, &String)| directory.is_empty() || *listens == directory;
        self.directories.iter().find(here).map(|(place, _)| *place)
    }
}
