//! One running prompt: lets scripts emit text, call tools, ask the client and wait.
//!
//! Every emission also reads messages, so that a cancel or the end of stdin stops a script between any two
//! lines. `scripts` choose the content, `usage` counts.

use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ContentBlock, ContentChunk, Error, MessageId, PromptResponse, SessionId,
    SessionNotification, SessionUpdate, StopReason, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::agent::{Agent, Wait};
use super::rpc::Exit;
use super::scripts;
use super::session::{Mode, Session};
use super::usage::Tally;
use super::words::{self, Step};

/// The reason why a script stops early.
#[derive(Debug)]
pub(super) enum Halt {
    Cancelled,
    Stopped(StopReason),
    Failed(Error),
    Exit(Exit),
}

impl From<Exit> for Halt {
    fn from(exit: Exit) -> Self {
        Self::Exit(exit)
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The result of a script: `Ok` means that the next word may play.
pub(super) type Flow = Result<(), Halt>;

pub(super) struct Turn<'a> {
    pub(super) agent: &'a mut Agent,
    pub(super) session: SessionId,
    /// The prompt as the client sent it.
    pub(super) blocks: Vec<ContentBlock>,
    /// A pause after every update, so that the demo can be watched. Words play without any.
    pub(super) pace: Duration,
    /// Whether the script ignores `session/cancel`.
    pub(super) deaf: bool,
    pub(super) tally: Tally,
    pub(super) epilogue: Epilogue,
    /// Tool calls that a cancel must close.
    open_calls: Vec<ToolCallId>,
}

/// A turn that is over, and its answer.
pub(super) struct Ended {
    pub(super) outcome: Result<PromptResponse, Error>,
    pub(super) epilogue: Epilogue,
}

/// The actions after the prompt was answered.
#[derive(Debug, Default)]
pub(super) struct Epilogue {
    pub(super) late_text: bool,
    pub(super) exit: bool,
}

impl Epilogue {
    pub(super) fn play(&self, agent: &mut Agent, session: &SessionId) -> Result<(), Exit> {
        if self.late_text {
            let chunk = ContentChunk::new("Late: the turn is over. ".into()).message_id("msg-late");
            let update = SessionUpdate::AgentMessageChunk(chunk);
            let note = SessionNotification::new(session.clone(), update);
            agent.wire.notify(CLIENT_METHOD_NAMES.session_update, &note)?;
        }
        if self.exit { Err(Exit(0)) } else { Ok(()) }
    }
}

/// The moment at which an update is flushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    AtOnce,
    Buffered,
}

impl<'a> Turn<'a> {
    pub(super) fn new(agent: &'a mut Agent, session: SessionId) -> Self {
        Self {
            agent,
            session,
            blocks: Vec::new(),
            pace: Duration::ZERO,
            deaf: false,
            tally: Tally::default(),
            epilogue: Epilogue::default(),
            open_calls: Vec::new(),
        }
    }

    /// Keeps the whole prompt, for words that read more than its text.
    pub(super) fn given(mut self, blocks: Vec<ContentBlock>) -> Self {
        self.blocks = blocks;
        self
    }

    /// Plays every word of the prompt, or the demo if there is none.
    pub(super) fn play(mut self, prompt: &str) -> Result<Ended, Exit> {
        self.tally = Tally::of_prompt(prompt);
        let halt = self.hear(prompt).and_then(|()| self.perform(prompt));
        let reason = match halt {
            Ok(()) => Ok(StopReason::EndTurn),
            Err(Halt::Stopped(reason)) => Ok(reason),
            Err(Halt::Cancelled) => {
                self.close_calls()?;
                Ok(StopReason::Cancelled)
            }
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Exit(exit)) => return Err(exit),
        };
        let outcome = reason.and_then(|reason| self.settle(reason));
        Ok(Ended { outcome, epilogue: self.epilogue })
    }

    /// Saves the prompt before anything can fail, so that a crash does not lose it.
    fn hear(&mut self, prompt: &str) -> Flow {
        let chunk = ContentChunk::new(prompt.into());
        self.state()?.record.remember(&SessionUpdate::UserMessageChunk(chunk));
        Ok(self.agent.save(&self.session)?)
    }

    fn perform(&mut self, prompt: &str) -> Flow {
        let steps = words::parse(prompt);
        if steps.is_empty() {
            return scripts::demo::paced(self);
        }
        for step in steps {
            match step {
                Step::Play(word, number) => (word.play)(self, number)?,
                Step::Unknown(word) => scripts::talk::unknown(self, word)?,
            }
        }
        Ok(())
    }

    fn settle(&mut self, reason: StopReason) -> Result<PromptResponse, Error> {
        let Some(session) = self.agent.session(&self.session) else {
            return Ok(PromptResponse::new(reason));
        };
        let usage = self.tally.usage(&session.record);
        self.tally.settle(&mut session.record);
        self.agent.save(&self.session)?;
        Ok(PromptResponse::new(reason).usage(usage))
    }

    /// Returns the session of this turn; a missing one was closed, which counts as a cancel.
    pub(super) fn state(&mut self) -> Result<&mut Session, Halt> {
        self.agent.session(&self.session).ok_or(Halt::Cancelled)
    }

    pub(super) fn mode(&mut self) -> Result<Mode, Halt> {
        Ok(self.state()?.record.mode)
    }

    // --- speaking

    pub(super) fn update(&mut self, update: SessionUpdate) -> Flow {
        self.deliver(update, Delivery::AtOnce)?;
        self.breathe()
    }

    /// Sends an update without reading messages.
    pub(super) fn deliver(&mut self, update: SessionUpdate, delivery: Delivery) -> Flow {
        self.state()?.record.remember(&update);
        self.tally.count(&update);
        let note = SessionNotification::new(self.session.clone(), update);
        match delivery {
            Delivery::AtOnce => self.agent.wire.notify(CLIENT_METHOD_NAMES.session_update, &note)?,
            Delivery::Buffered => self.agent.wire.push(CLIENT_METHOD_NAMES.session_update, &note)?,
        }
        Ok(())
    }

    /// Streams a separate message, a few words at a time.
    pub(super) fn say(&mut self, text: &str) -> Flow {
        let id = self.next_message()?;
        for part in parts(text) {
            self.update(message_chunk(part, &id))?;
        }
        Ok(())
    }

    /// Streams a separate thought, a few words at a time.
    pub(super) fn think(&mut self, text: &str) -> Flow {
        let id = self.next_message()?;
        for part in parts(text) {
            let chunk = ContentChunk::new(part.into()).message_id(id.clone());
            self.update(SessionUpdate::AgentThoughtChunk(chunk))?;
        }
        Ok(())
    }

    pub(super) fn next_message(&mut self) -> Result<MessageId, Halt> {
        let record = &mut self.state()?.record;
        record.messages += 1;
        Ok(MessageId::new(format!("msg-{}", record.messages)))
    }

    // --- tools

    pub(super) fn next_call(&mut self) -> Result<ToolCallId, Halt> {
        let record = &mut self.state()?.record;
        record.calls += 1;
        Ok(ToolCallId::new(format!("call-{}", record.calls)))
    }

    pub(super) fn start_call(&mut self, call: ToolCall) -> Flow {
        self.open_calls.push(call.tool_call_id.clone());
        self.update(SessionUpdate::ToolCall(call))
    }

    pub(super) fn change_call(&mut self, id: &ToolCallId, fields: ToolCallUpdateFields) -> Flow {
        if matches!(fields.status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed)) {
            self.open_calls.retain(|open| open != id);
        }
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.clone(), fields)))
    }

    fn close_calls(&mut self) -> Result<(), Exit> {
        for id in std::mem::take(&mut self.open_calls) {
            let fields = ToolCallUpdateFields::new()
                .status(ToolCallStatus::Failed)
                .content(vec!["Cancelled by the user.".into()]);
            let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields));
            // The session may be closed already: then there is no receiver, and nothing to halt.
            if let Err(Halt::Exit(exit)) = self.deliver(update, Delivery::AtOnce) {
                return Err(exit);
            }
        }
        Ok(())
    }

    // --- waiting

    /// Sends a request to the client and waits for its answer.
    pub(super) fn call_client<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &P,
    ) -> Result<Result<R, Error>, Halt> {
        let id = self.agent.wire.call(method, params)?;
        self.agent.expect_answer(id);
        loop {
            if let Some(answer) = self.agent.take_answer() {
                return Ok(answer.and_then(|params| params.parse()));
            }
            self.check_cancelled()?;
            self.agent.receive(Wait::Forever)?;
        }
    }

    /// Waits that long, or without limit; a cancel or the end of stdin ends the wait.
    pub(super) fn wait(&mut self, limit: Option<Duration>) -> Flow {
        let wait = limit.map_or(Wait::Forever, |limit| Wait::Until(Instant::now() + limit));
        loop {
            self.check_cancelled()?;
            if !self.agent.receive(wait)? {
                return Ok(());
            }
        }
    }

    /// Reads messages, and keeps the pace.
    pub(super) fn breathe(&mut self) -> Flow {
        if !self.pace.is_zero() {
            return self.wait(Some(self.pace));
        }
        while self.agent.receive(Wait::Not)? {}
        self.check_cancelled()
    }

    fn check_cancelled(&self) -> Flow {
        if self.agent.cancelled() && !self.deaf { Err(Halt::Cancelled) } else { Ok(()) }
    }
}

pub(super) fn message_chunk(content: impl Into<ContentBlock>, id: &MessageId) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(content.into()).message_id(id.clone()))
}

/// Splits a text after every third space; the parts joined are the text.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.match_indices(' ').nth(2).map_or(rest.len(), |(at, space)| at + space.len());
        let (part, tail) = rest.split_at(end);
        rest = tail;
        (!part.is_empty()).then_some(part)
    })
}
