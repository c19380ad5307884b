//! The messages on their way to an agent: which of them are in its pipe, wait, were called back or are lost.

use std::collections::VecDeque;

use bytes::Bytes;
use omniglot_agents::Input;
use omniglot_schema::EventSource;
use serde_json::value::RawValue;

use super::{Agent, Translated, Trust};
use crate::process::FrameSender;

/// The fate of the messages that a command caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// They are in the agent's pipe.
    Sent,
    /// They wait until the agent reads.
    Waits(Ticket),
    /// The agent reads no more.
    Lost,
}

/// Names a message to the agent by the number of messages before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// A message that is not in the pipe yet; `None` when it was called back.
pub(super) type Unsent = Option<Box<RawValue>>;

/// A message on its way, and what everybody else sees of it if that is something else.
pub(super) struct Outgoing {
    pub(super) message: Box<RawValue>,
    pub(super) shown: Option<Box<RawValue>>,
}

impl Agent {
    pub(crate) fn close_stdin(&mut self) {
        self.frames = None;
        self.unsent.clear();
    }

    /// The fate of everything that it was told so far, as far as [`settle`](Self::settle) has looked.
    pub(crate) fn sending(&self) -> Sending {
        self.sending_of(Ticket(self.messages))
    }

    /// Names the last message so far.
    pub(crate) fn ticket(&self) -> Ticket {
        Ticket(self.messages)
    }

    /// Calls back the messages behind `before`, up to `last`, of which the agent has nothing yet.
    pub(crate) fn recall(&mut self, before: Ticket, last: Ticket) {
        let Some(frames) = &self.frames else { return };
        for (nth, message) in self.unsent.iter_mut().enumerate() {
            let number = self.sent + 1 + nth as u64;
            if before.0 < number && number <= last.0 && frames.recall(nth) {
                *message = None;
            }
        }
    }

    pub(crate) fn sending_of(&self, ticket: Ticket) -> Sending {
        match (self.sent >= ticket.0, self.reads()) {
            (true, _) => Sending::Sent,
            (false, true) => Sending::Waits(ticket),
            (false, false) => Sending::Lost,
        }
    }

    fn reads(&self) -> bool {
        self.frames.as_ref().is_some_and(|frames| !frames.is_closed())
    }

    /// Tells the translator which of the messages that waited were sent.
    pub(crate) fn settle(&mut self) -> Vec<Translated> {
        let (mut translated, mut to_send) = (vec![], VecDeque::new());
        self.tell_sent(&mut translated, &mut to_send);
        self.transmit(to_send, &mut translated);
        translated
    }

    /// Sends messages, and then everything that the translator wants sent because of them.
    pub(super) fn transmit(&mut self, mut to_send: VecDeque<Outgoing>, translated: &mut Vec<Translated>) {
        while !to_send.is_empty() {
            // What belongs together goes out together: an agent must not act between the two halves of a cancel.
            let frames = to_send.iter().map(|outgoing| bytes_of(&outgoing.message)).collect();
            self.messages += to_send.len() as u64;
            let shown = to_send.drain(..).map(|Outgoing { message, shown }| Some(shown.unwrap_or(message)));
            self.unsent.extend(shown);
            if let Some(sender) = &self.frames {
                sender.send(frames);
            }
            self.tell_sent(translated, &mut to_send);
        }
        if self.closes_stdin && self.unsent.is_empty() {
            self.close_stdin();
        }
    }

    /// Tells the translator what was written since it was told last.
    fn tell_sent(&mut self, translated: &mut Vec<Translated>, to_send: &mut VecDeque<Outgoing>) {
        let reads = self.reads();
        let written = self.frames.as_ref().map_or(0, FrameSender::take_written);
        for shown in self.unsent.drain(..written.min(self.unsent.len())).collect::<Vec<_>>() {
            self.sent += 1;
            let Some(shown) = shown else { continue };
            let frame = self.mask.bytes(bytes_of(&shown));
            let mut outputs = Vec::new();
            self.translator.handle(Input::Sent(&shown), &mut outputs);
            let cause = (Some(frame), EventSource::Daemon);
            translated.push(self.carry_out(outputs, cause, Trust::Public, to_send));
        }
        if !reads {
            self.unsent.clear();
        }
    }
}

fn bytes_of(message: &RawValue) -> Bytes {
    Bytes::copy_from_slice(message.get().as_bytes())
}
