//! A session under test whose requests come back to it as sent, as in the runtime; answers are the test's.

use serde_json::value::RawValue;

use crate::contract::{Command, Input, Open, Output, Prompt, SettingsRequest, Translator as _};
use crate::http::{Request, ToServer};
use crate::opencode::OpenCode;
use crate::replay::show::show_output;

pub(super) struct Session {
    opencode: OpenCode,
    pub(super) sent: Vec<String>,
    /// Requests without an answer.
    open: Vec<Request>,
}

pub(super) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const AGENTS: &str = r#"[
    {"name":"build","mode":"primary","permission":[{"permission":"edit","pattern":"*","action":"ask"}]},
    {"name":"plan","mode":"primary","hidden":null,"permission":[{"permission":"edit","pattern":"*","action":"deny"}]}]"#;

impl Session {
    /// A session `ses_1` in `/w`.
    pub(super) fn open(requested: SettingsRequest) -> Self {
        let mut session = Self::opening(Open { requested, ..Open::default() });
        let created = session.open.last().and_then(|request| request.body.clone());
        let created: serde_json::Value = serde_json::from_str(created.unwrap().get()).unwrap();
        let rules = created.get("permission").cloned().unwrap_or_else(|| serde_json::json!([]));
        session.answer_to(
            "/session",
            &format!(r#"{{"id":"ses_1","version":"1","permission":{rules},"time":{{"created":5}}}}"#),
        );
        session.opens();
        session
    }

    /// The same, when it was there before; the newest message that it has.
    pub(super) fn resumed(newest: &str) -> Self {
        let mut session = Self::opening(Open { resume: Some("ses_1".into()), ..Open::default() });
        session.answer_to("/session/ses_1", r#"{"id":"ses_1","version":"1","time":{"created":5}}"#);
        session.answer_to("/session/ses_1/message", newest);
        session.answer_to("/session/ses_1/children", "[]");
        session.opens();
        session
    }

    fn opening(open: Open) -> Self {
        let mut session = Self { opencode: OpenCode::new(), sent: vec![], open: vec![] };
        session.command(&Command::Open(Open { cwd: "/w".into(), new_id: "s".into(), ..open }));
        session.stream("open");
        session
    }

    fn opens(&mut self) {
        self.answer_to("/config", r#"{"model":"a/configured"}"#);
        self.answer_to("/config/providers", r#"{"providers":[],"default":{"a":"listed"}}"#);
        self.answer_to("/agent", AGENTS);
        let opened = self.answer_to("/command", "[]");
        assert!(opened[0].starts_with(r#"session "ses_1""#), "{opened:?}");
        assert!(opened[1].starts_with(r#"state {"model":"a/configured""#), "{opened:?}");
    }

    /// One whose server works on a prompt, in the message `msg_2`.
    pub(super) fn in_turn(text: &str) -> Self {
        let mut session = Self::open(SettingsRequest::default());
        session.prompt(text);
        session.busy();
        let message = session.assistant("msg_2");
        session.event("message.updated", &format!(r#"{{"sessionID":"ses_1","info":{message}}}"#));
        session
    }

    pub(super) fn prompt(&mut self, text: &str) -> Vec<String> {
        self.command(&Command::Prompt(Prompt { message_id: None, text: text.into(), attachments: vec![] }))
    }

    pub(super) fn command(&mut self, command: &Command) -> Vec<String> {
        let mut out = vec![];
        self.opencode.handle(Input::Command(command), &mut out);
        self.settle(out)
    }

    pub(super) fn event(&mut self, kind: &str, properties: &str) -> Vec<String> {
        let data = format!(r#"{{"type":"{kind}","properties":{properties}}}"#);
        self.hear(&format!(r#"{{"event":{{"directory":"/w","data":{data}}}}}"#))
    }

    pub(super) fn busy(&mut self) -> Vec<String> {
        self.event("session.status", r#"{"sessionID":"ses_1","status":{"type":"busy"}}"#)
    }

    /// The first of the two events that make an idle.
    pub(super) fn idle_status(&mut self) -> Vec<String> {
        self.event("session.status", r#"{"sessionID":"ses_1","status":{"type":"idle"}}"#)
    }

    /// The second of them.
    pub(super) fn idle(&mut self) -> Vec<String> {
        self.event("session.idle", r#"{"sessionID":"ses_1"}"#)
    }

    pub(super) fn part(&mut self, id: &str, kind: &str, rest: &str) -> Vec<String> {
        let part = Self::record(id, "msg_2", kind, rest);
        self.event("message.part.updated", &format!(r#"{{"sessionID":"ses_1","part":{part}}}"#))
    }

    pub(super) fn delta(&mut self, part: &str, text: &str) -> Vec<String> {
        let rest = format!(r#""partID":"{part}","field":"text","delta":"{text}""#);
        self.event("message.part.delta", &format!(r#"{{"sessionID":"ses_1","messageID":"msg_2",{rest}}}"#))
    }

    pub(super) fn stream(&mut self, state: &str) -> Vec<String> {
        self.hear(&format!(r#"{{"stream":{{"directory":"/w","state":"{state}"}}}}"#))
    }

    /// The event stream is back, and the server tells what it keeps: these messages, and nothing else.
    pub(super) fn back_with(&mut self, messages: &str) -> Vec<String> {
        self.stream("reopened");
        self.tells(messages)
    }

    /// The answers to what is read after a cut; what is told of them.
    pub(super) fn tells(&mut self, messages: &str) -> Vec<String> {
        let mut told = self.answer_to("/session/ses_1", r#"{"id":"ses_1"}"#);
        told.extend(self.answer_to("/session/ses_1/todo", "[]"));
        told.extend(self.answer_to("/session/ses_1/children", "[]"));
        told.extend(self.answer_to("/session/ses_1/message", messages));
        told.extend(self.answer_to("/permission", "[]"));
        told.extend(self.answer_to("/question", "[]"));
        told.retain(|line| !line.starts_with("dropped") && !line.starts_with("state"));
        told
    }

    /// The answers to what is read after a cut, when only these requests are left; all that is told of them.
    pub(super) fn tells_requests(&mut self, permissions: &str, questions: &str) -> Vec<String> {
        let mut told = self.answer_to("/session/ses_1", r#"{"id":"ses_1"}"#);
        for path in ["/session/ses_1/todo", "/session/ses_1/children", "/session/ses_1/message"] {
            told.extend(self.answer_to(path, "[]"));
        }
        told.extend(self.answer_to("/permission", permissions));
        told.extend(self.answer_to("/question", questions));
        told
    }

    pub(super) fn assistant(&self, id: &str) -> String {
        format!(r#"{{"id":"{id}","sessionID":"ses_1","role":"assistant"}}"#)
    }

    pub(super) fn record(id: &str, message: &str, kind: &str, rest: &str) -> String {
        format!(r#"{{"id":"{id}","messageID":"{message}","sessionID":"ses_1","type":"{kind}",{rest}}}"#)
    }

    pub(super) fn asked(&self, path: &str) -> bool {
        self.open.iter().any(|request| path_of(request) == path)
    }

    pub(super) fn answer_to(&mut self, path: &str, body: &str) -> Vec<String> {
        let id = self.take(path);
        self.hear(&format!(r#"{{"answer":{{"id":"{id}","status":200,"body":{body}}}}}"#))
    }

    pub(super) fn unanswered(&mut self, path: &str, why: &str) -> Vec<String> {
        let id = self.take(path);
        self.hear(&format!(r#"{{"answer":{{"id":"{id}","status":null,"body":"{why}"}}}}"#))
    }

    fn take(&mut self, path: &str) -> String {
        let at = self.open.iter().position(|request| path_of(request) == path);
        let at = at.unwrap_or_else(|| panic!("nobody asked for {path}: {:?}", self.sent));
        self.open.remove(at).id
    }

    fn hear(&mut self, frame: &str) -> Vec<String> {
        let mut out = vec![];
        self.opencode.handle(Input::Frame(&raw(frame)), &mut out);
        self.settle(out)
    }

    /// Returns the drafts, drops and refusals; sent messages are kept.
    fn settle(&mut self, out: Vec<Output>) -> Vec<String> {
        let mut shown = vec![];
        for output in out {
            let Some(message) = output.shown() else {
                shown.push(show_output(&output));
                continue;
            };
            self.sent.push(message.get().to_owned());
            if let Ok(ToServer::Request(request)) = ToServer::parse(message) {
                self.open.push(request);
            }
            let mut caused = vec![];
            self.opencode.handle(Input::Sent(message), &mut caused);
            shown.extend(self.settle(caused));
        }
        shown
    }
}

fn path_of(request: &Request) -> &str {
    request.path.split('?').next().unwrap_or_default()
}
