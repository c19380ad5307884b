//! Plays a script against a client.
//!
//! A message whose method a later line waits for is kept for that line. The built-in agent answers every
//! other one; a cancel ends the running prompt and continues at the next line that waits for one. Messages
//! are read only while the script waits or sleeps, so the same script gives the same bytes.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as METHODS, CLIENT_METHOD_NAMES, CancelNotification, ContentBlock, ContentChunk,
    Error, PromptResponse, RequestId, SessionId, SessionNotification, SessionUpdate, StopReason,
};
use serde::Deserialize;

use super::super::agent::{Agent, Wait, text_of};
use super::super::rpc::{Call, Exit, Incoming, Params};
use super::super::workdir;
use super::template::{Head, Template, Values};
use super::{Edit, How, ScriptFile, Step, Until};

pub(in super::super) struct Player {
    agent: Agent,
    script: Rc<ScriptFile>,
    /// The index of the current line.
    at: usize,
    values: Values,
    /// Messages for later lines.
    kept: VecDeque<Incoming>,
    answered: Vec<RequestId>,
    /// Prompts that were received and not answered yet.
    open: Vec<(RequestId, SessionId)>,
}

/// The common parameters of the client's messages.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    session_id: Option<String>,
    cwd: Option<String>,
    #[serde(default)]
    prompt: Vec<ContentBlock>,
}

impl Player {
    pub(in super::super) fn new(agent: Agent, script: ScriptFile) -> Self {
        Self {
            agent,
            script: Rc::new(script),
            at: 0,
            values: Values::default(),
            kept: VecDeque::new(),
            answered: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Plays, then waits until the client disconnects; returns the exit code.
    pub(in super::super) fn run(mut self) -> u8 {
        loop {
            if let Err(Exit(code)) = self.step() {
                return code;
            }
        }
    }

    fn step(&mut self) -> Result<(), Exit> {
        let script = Rc::clone(&self.script);
        match script.lines.get(self.at) {
            Some(line) => self.perform(&line.step),
            None if script.repeat => {
                self.at = 0;
                Ok(())
            }
            None => self.pump(Wait::Forever).map(drop),
        }
    }

    fn perform(&mut self, step: &Step) -> Result<(), Exit> {
        match step {
            Step::Wait(until) => return self.wait(until),
            Step::Sleep(time) => return self.sleep(*time),
            Step::Send(template) => self.send(template)?,
            Step::Write(bytes) => self.agent.wire.raw(bytes)?,
            // A closed stderr is no reason to stop.
            Step::Complain(text) => drop(writeln!(self.agent.errors, "{text}")),
            Step::Edit(edit) => self.edit(edit)?,
            Step::Exit(code) => return Err(Exit(*code)),
            Step::Repeat => {}
        }
        self.at += 1;
        Ok(())
    }

    fn wait(&mut self, until: &Until) -> Result<(), Exit> {
        let met = match until {
            Until::Method(method) => self.take_kept(method),
            Until::Answer(id) => {
                let place = self.answered.iter().position(|answered| answered == id);
                place.map(|place| self.answered.swap_remove(place)).is_some()
            }
        };
        if met {
            self.at += 1;
            return Ok(());
        }
        self.pump(Wait::Forever).map(drop)
    }

    fn sleep(&mut self, time: Duration) -> Result<(), Exit> {
        let (here, until) = (self.at, Instant::now() + time);
        while self.at == here && self.pump(Wait::Until(until))? {}
        // A cancel has changed the line already.
        if self.at == here {
            self.at += 1;
        }
        Ok(())
    }

    fn send(&mut self, template: &Template) -> Result<(), Exit> {
        let message = match template.fill(&self.values) {
            Ok(message) => message,
            Err(name) => return Err(self.fail(&format!("{} is not known", name.text()))),
        };
        self.agent.wire.raw(format!("{message}\n").as_bytes())?;
        self.note_sent(&message);
        Ok(())
    }

    /// Adds sent updates to the session, so that it can be loaded later; removes answered prompts.
    fn note_sent(&mut self, message: &str) {
        let Ok(head) = serde_json::from_str::<Head>(message) else { return };
        match head.method {
            Some(method) if method == CLIENT_METHOD_NAMES.session_update => {
                if let Some(Ok(note)) = head.params.map(|params| serde_json::from_str(params.get())) {
                    let SessionNotification { session_id, update, .. } = note;
                    self.agent.remember(&session_id, &update);
                }
            }
            Some(_) => {}
            None => self.open.retain(|(id, _)| Some(id) != head.id.as_ref()),
        }
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), Exit> {
        let Some(cwd) = self.values.cwd.clone().map(PathBuf::from) else {
            return Err(self.fail("the session's directory is not known"));
        };
        let old = match edit.how {
            How::Append => workdir::read(&cwd, &edit.path),
            How::Write => Ok(None),
        };
        let done = old.and_then(|old| {
            let text = format!("{}{}", old.unwrap_or_default(), edit.text);
            workdir::write(&cwd, &edit.path, &text)
        });
        done.map_err(|error| self.fail(&error.to_string()))
    }

    /// Reports why a script cannot continue, as any agent would.
    fn fail(&mut self, why: &str) -> Exit {
        let number = self.script.lines.get(self.at).map_or(0, |line| line.number);
        // Nothing is left to report to when stderr is closed as well.
        drop(writeln!(self.agent.errors, "omniglot mock-agent: line {number} of the script: {why}"));
        Exit(1)
    }

    // --- listening

    /// Takes one message and keeps it or answers it; `false` if none arrived in time.
    fn pump(&mut self, wait: Wait) -> Result<bool, Exit> {
        let Some(message) = self.agent.next(wait)? else { return Ok(false) };
        match message {
            Incoming::Call(Call { ref method, .. }) | Incoming::Notification { ref method, .. }
                if self.claims(method) =>
            {
                self.kept.push_back(message);
            }
            Incoming::Call(call) if call.method == METHODS.session_prompt => {
                let error = Error::internal_error().data("the script has no line for another session/prompt");
                self.agent.wire.respond::<()>(&call.id, &Err(error))?;
            }
            Incoming::Notification { method, params } if method == METHODS.session_cancel => {
                params.parse().map_or(Ok(()), |cancel| self.cancel(&cancel))?;
            }
            Incoming::Answer { id, .. } => self.answered.push(id),
            Incoming::Call(_)
            | Incoming::Notification { .. }
            | Incoming::Malformed { .. }
            | Incoming::Eof => self.agent.handle(message)?,
        }
        Ok(true)
    }

    /// Whether this line or a later one waits for the method.
    fn claims(&self, method: &str) -> bool {
        let from = if self.script.repeat { 0 } else { self.at };
        self.script.lines.iter().skip(from).any(|line| waits_for(&line.step, method))
    }

    fn take_kept(&mut self, method: &str) -> bool {
        let place = self.kept.iter().position(|message| match message {
            Incoming::Call(call) => call.method == method,
            Incoming::Notification { method: kept, .. } => kept == method,
            Incoming::Answer { .. } | Incoming::Malformed { .. } | Incoming::Eof => false,
        });
        match place.and_then(|place| self.kept.remove(place)) {
            Some(Incoming::Call(call)) => {
                self.hear(&call.params);
                self.values.id = Some(call.id.clone());
                if call.method == METHODS.session_prompt {
                    self.hear_prompt(call);
                }
                true
            }
            Some(Incoming::Notification { params, .. }) => {
                self.hear(&params);
                true
            }
            Some(_) | None => false,
        }
    }

    fn hear(&mut self, params: &Params) {
        // The script answers invalid parameters; they only give no values.
        let hints: Hints = params.parse().unwrap_or_default();
        if let Some(session) = hints.session_id {
            let record = self.agent.session(&SessionId::new(session.clone())).map(|session| &session.record);
            self.values.cwd =
                record.map(|record| record.cwd.to_string_lossy().into()).or(self.values.cwd.take());
            self.values.session = Some(session);
        }
        self.values.cwd = hints.cwd.or(self.values.cwd.take());
        if !hints.prompt.is_empty() {
            self.values.prompt = Some(text_of(&hints.prompt));
        }
    }

    fn hear_prompt(&mut self, call: Call) {
        let text = self.values.prompt.get_or_insert_default().clone();
        if let Some(session) = self.values.session.clone().map(SessionId::new) {
            let said = SessionUpdate::UserMessageChunk(ContentChunk::new(text.into()));
            self.agent.remember(&session, &said);
            self.open.push((call.id.clone(), session));
        }
        self.values.prompt_id = Some(call.id);
    }

    /// Answers every prompt of the session as cancelled, and continues where the next one is waited for.
    fn cancel(&mut self, request: &CancelNotification) -> Result<(), Exit> {
        let mut cancelled: Vec<RequestId> = self
            .open
            .extract_if(.., |(_, session)| *session == request.session_id)
            .map(|(id, _)| id)
            .collect();
        if !cancelled.is_empty() {
            self.skip_to_prompt();
        }
        self.kept.retain(|message| match message {
            Incoming::Call(call) if is_prompt_of(call, &request.session_id) => {
                cancelled.push(call.id.clone());
                false
            }
            _ => true,
        });
        for id in cancelled {
            self.agent.wire.respond(&id, &Ok(PromptResponse::new(StopReason::Cancelled)))?;
        }
        Ok(())
    }

    fn skip_to_prompt(&mut self) {
        let next = |from: usize| {
            let mut lines = self.script.lines.iter().enumerate().skip(from);
            lines.find(|(_, line)| waits_for(&line.step, METHODS.session_prompt)).map(|(place, _)| place)
        };
        let again = if self.script.repeat { next(0) } else { None };
        self.at = next(self.at).or(again).unwrap_or(self.script.lines.len());
    }
}

fn waits_for(step: &Step, method: &str) -> bool {
    matches!(step, Step::Wait(Until::Method(awaited)) if awaited == method)
}

fn is_prompt_of(call: &Call, session: &SessionId) -> bool {
    let hints: Hints = call.params.parse().unwrap_or_default();
    call.method == METHODS.session_prompt && hints.session_id.as_deref() == Some(&session.0)
}
