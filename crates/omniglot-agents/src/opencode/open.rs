//! Opening a session: follow the directory's events, make or find the session, read what is offered.

use omniglot_schema::{Resume, StatePatch};
use omniglot_timeline::SessionStarted;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::failure::refused;
use super::outbound::List;
use super::settings::{check_settings, completed, rules};
use super::translate::state;
use super::wire::{Config, Session};
use super::{OpenCode, json};
use crate::contract::{Draft, Open, Output, Refusal, RefusalKind};
use crate::http::{Answer, Method, ToServer};

/// How far the opening has come.
#[derive(Debug)]
pub(crate) struct Opening {
    open: Open,
    resume: Option<Resume>,
    version: Option<String>,
    /// Whether the session was asked for; the event stream may open more than once.
    asked: bool,
    /// The lists that were not answered yet.
    lists: usize,
}

impl OpenCode {
    pub(crate) fn open(&mut self, open: &Open, out: &mut Vec<Output>) {
        self.outbound.number_anew(&open.new_id);
        let directory = open.cwd.to_string_lossy().into_owned();
        self.directory = Some(directory.clone());
        self.requested = completed(open.requested.clone(), (None, None));
        self.opening =
            Some(Opening { open: open.clone(), resume: None, version: None, asked: false, lists: 0 });
        out.extend(ToServer::Listen { directory }.to_frame().map(Output::send));
    }

    /// No event can be missed from now on: the session may begin.
    pub(crate) fn stream_opened(&mut self, out: &mut Vec<Output>) {
        let Some(opening) = self.opening.as_mut().filter(|opening| !opening.asked) else { return };
        opening.asked = true;
        let Open { resume, fork, fork_before, .. } = opening.open.clone();
        match resume {
            Some(native) if fork => match fork_before.map(|point| point.native_id.ok_or(point.text)) {
                None => self.copy(&native, &json!({}), out),
                Some(Ok(message)) => self.copy(&native, &json!({"messageID": message}), out),
                Some(Err(text)) => out.push(Output::refused(Refusal::no_fork_point(&text))),
            },
            Some(native) => {
                self.ask(Method::Get, &format!("/session/{native}"), None, out);
            }
            None => self.create(out),
        }
    }

    fn copy(&mut self, native: &str, body: &Value, out: &mut Vec<Output>) {
        self.ask(Method::Post, &format!("/session/{native}/fork"), json(body), out);
    }

    fn create(&mut self, out: &mut Vec<Output>) {
        let mut body = Map::new();
        let rules = rules(&self.requested);
        if !rules.is_empty() {
            body.insert("permission".to_owned(), rules.into());
        }
        self.ask(Method::Post, "/session", json(&Value::Object(body)), out);
    }

    /// The answer to a new session, or to a copy of one.
    pub(crate) fn created(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        match session_in(answer) {
            Some(session) => self.found(session, out),
            None => self.not_opened(answer, out),
        }
    }

    /// The answer to the question whether an old session is still there.
    pub(crate) fn session_read(&mut self, id: &str, answer: &Answer, out: &mut Vec<Output>) {
        let Some(opening) = &mut self.opening else {
            if let Some(session) = session_in(answer).filter(|_| self.rereads.is_some()) {
                self.my_session(session, out);
            }
            return;
        };
        if opening.open.resume.as_deref() != Some(id) {
            return;
        }
        match (session_in(answer), answer.status) {
            (Some(session), _) => {
                opening.resume = Some(Resume::Native);
                self.found(session, out);
            }
            (None, Some(404 | 500)) => {
                opening.resume = Some(Resume::None);
                self.create(out);
            }
            (None, _) => self.not_opened(answer, out),
        }
    }

    fn not_opened(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let message = refused(answer).message;
        out.push(Output::refused(Refusal { kind: RefusalKind::Unavailable, message, hint: None }));
    }

    /// There is a session; before it is told, what it offers is read.
    fn found(&mut self, session: Session, out: &mut Vec<Output>) {
        self.born = session.time.created;
        self.cost = session.cost.unwrap_or_default();
        self.reverted_before(&session);
        let Some(opening) = &mut self.opening else {
            return self.adopt(&session.id, None, out);
        };
        opening.version = session.version;
        opening.lists = List::ALL.len();
        self.settings.rules = session.permission.unwrap_or_default();
        self.session = Some(session.id);
        // What it has said before is no news, and what its subagents have cost is no record of its own.
        let earlier: &[&str] = match opening.resume {
            Some(Resume::Native) => &["/children", "/message?limit=1"],
            Some(_) | None => &[],
        };
        opening.lists += earlier.len();
        for path in List::ALL {
            self.ask(Method::Get, path, None, out);
        }
        for path in earlier {
            self.ask_session(Method::Get, path, None, out);
        }
    }

    /// The newest message of an old session: it and all before it is no news.
    pub(crate) fn newest_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let newest = entries::<Listed>(answer.body.get()).into_iter().map(|message| message.info.id).max();
        self.floor = newest.unwrap_or_default();
        self.list_read(out);
    }

    pub(crate) fn listed(&mut self, list: List, answer: &Answer, out: &mut Vec<Output>) {
        let body = answer.body.get();
        // A list that cannot be read offers nothing; the session works all the same.
        match list {
            List::Config => {
                if let Ok(mut config) = serde_json::from_str::<Config>(body) {
                    self.servers.learn(std::mem::take(&mut config.mcp).into_keys());
                    self.settings.learn_config(config);
                }
            }
            List::Providers => {
                if let Ok(listed) = serde_json::from_str(body) {
                    self.settings.learn_models(listed);
                }
            }
            List::Agents => self.settings.learn_modes(entries(body)),
            List::Commands => self.settings.learn_commands(entries(body)),
        }
        self.list_read(out);
    }

    /// With the last answer the session is open.
    pub(crate) fn list_read(&mut self, out: &mut Vec<Output>) {
        let Some(opening) = &mut self.opening else { return };
        opening.lists = opening.lists.saturating_sub(1);
        if opening.lists == 0 {
            // Modes may have changed while it slept, and a copy has no rules of its own.
            match self.settings.missing_rules(&self.requested) {
                Some(rules) => self.add_rules(&rules, out),
                None => self.opened(out),
            }
        }
    }

    pub(crate) fn opened(&mut self, out: &mut Vec<Output>) {
        let Some(opening) = self.opening.take() else { return };
        let Opening { resume, version, .. } = opening;
        let current = self.requested.model.as_deref().or(self.settings.default_model());
        let preview =
            match check_settings(&self.requested, &self.settings.models, &self.settings.modes, current) {
                Ok(preview) => preview,
                // It had these settings before: a list that is shorter now must not lock it out.
                Err(_) if resume.is_some() => Default::default(),
                Err(refusal) => return out.push(Output::refused(refusal)),
            };
        out.push(
            Draft::SessionStarted(SessionStarted {
                native_session_id: self.session.clone(),
                agent_version: version,
                resume,
                capabilities: None,
            })
            .into(),
        );
        let mode = self.requested.agent_mode.clone().unwrap_or_else(|| "build".to_owned());
        let mut patch = StatePatch {
            model: current.map(|model| Some(model.to_owned())),
            variant: self.requested.variant.clone().map(Some),
            agent_mode: self.settings.has_mode(&mode).then_some(Some(mode)),
            permission_mode: Some(Some(
                self.requested.permission_mode.clone().unwrap_or_else(|| "default".to_owned()),
            )),
            ..self.settings.patch()
        };
        self.settings.known = true;
        patch.cost_usd = self.cost_of_all().cost_usd;
        state(patch, out);
        self.warn(preview.warnings, out);
    }

    /// In a recording nobody opens a session: the first that is spoken of is ours.
    pub(crate) fn adopt(&mut self, session: &str, resume: Option<Resume>, out: &mut Vec<Output>) {
        if self.session.is_some() || self.opening.is_some() {
            return;
        }
        self.session = Some(session.to_owned());
        let native_session_id = Some(session.to_owned());
        out.push(
            Draft::SessionStarted(SessionStarted { native_session_id, resume, ..SessionStarted::default() })
                .into(),
        );
    }
}

/// As much of a message as tells its place.
#[derive(Deserialize)]
struct Listed {
    info: Named,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

pub(crate) fn session_in(answer: &Answer) -> Option<Session> {
    answer.is_success().then(|| serde_json::from_str(answer.body.get()).ok()).flatten()
}

/// The entries of a list; one that cannot be read does not take the others with it.
fn entries<T: DeserializeOwned>(list: &str) -> Vec<T> {
    let listed = serde_json::from_str::<Vec<&RawValue>>(list).unwrap_or_default();
    listed.into_iter().filter_map(|entry| serde_json::from_str(entry.get()).ok()).collect()
}
