//! Each translator itself, without the link that would choose its frames: rows of recordings, whole, edited and in any
//! order, arbitrary JSON, commands at any moment, results of the machine that nobody waits for, ends of the process.

use std::collections::VecDeque;
use std::fs;

use jiff::{SignedDuration, Timestamp};
use omniglot_agents::replay::{Step, capture};
use omniglot_agents::{
    Adapter, Carryover, Command, Draft, Exit, HostError, HostErrorKind, HostKey, HostOutcome, Input,
    LineFault, Open, Output, Prompt, Registry, RequestKey, SettingsRequest, StreamOutput, TerminalText,
    Translator, TransportOutput,
};
use omniglot_schema::{PermissionReply, ResolvedBy, SessionId, StderrOutput, StopReason, UniversalEvent};
use omniglot_testkit::fuzz::{self, Edit};
use omniglot_timeline::check::{Allow, check};
use omniglot_timeline::{Effect, Emitted, Identity, SessionEnd, Stamp, Timeline, TurnEnd};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::recordings;

/// One thing that happens to a translator.
#[derive(Debug, Clone)]
enum Event {
    /// The next rows of the recording.
    Rows(u8),
    /// The next row, changed.
    Edited(Vec<Edit>),
    /// The recording goes on elsewhere.
    Jump(u16),
    Frame(Value),
    Sent(Value),
    Garbage(Vec<u8>),
    Command(u8),
    Host(u8),
    Exited(Option<i32>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1u8..20).prop_map(Event::Rows),
        6 => proptest::collection::vec(fuzz::edit(), 1..3).prop_map(Event::Edited),
        2 => any::<u16>().prop_map(Event::Jump),
        2 => fuzz::document().prop_map(Event::Frame),
        1 => fuzz::document().prop_map(Event::Sent),
        1 => proptest::collection::vec(any::<u8>(), 0..20).prop_map(Event::Garbage),
        6 => any::<u8>().prop_map(Event::Command),
        2 => any::<u8>().prop_map(Event::Host),
        1 => any::<Option<i32>>().prop_map(Event::Exited),
    ]
}

/// A session of one agent, as the runtime would keep it.
struct Session<'a> {
    agent: &'a Adapter,
    translator: Box<dyn Translator>,
    timeline: Timeline,
    emitted: Vec<Emitted>,
    rows: Vec<Step>,
    next: usize,
    frames: u64,
    requests: Vec<RequestKey>,
    machine: Vec<HostKey>,
}

/// A translator that always wants to send one more message would never end.
const MOST_SENT: usize = 1_000;

impl<'a> Session<'a> {
    fn new(agent: &'a Adapter, rows: Vec<Step>) -> Self {
        let identity = Identity { session_id: SessionId::parse("fuzzed").unwrap(), agent: agent.id.into() };
        let mut session = Self {
            agent,
            translator: (agent.translator)(),
            timeline: Timeline::new(identity, "f"),
            emitted: vec![],
            rows,
            next: 0,
            frames: 0,
            requests: vec![],
            machine: vec![],
        };
        session.start(&[]);
        session
    }

    fn start(&mut self, argv: &[String]) {
        let carryover = Carryover::of(&self.timeline.fold().state);
        self.handle(Input::Started { argv, carryover: &carryover });
    }

    fn happen(&mut self, event: &Event) -> Result<(), TestCaseError> {
        match event {
            Event::Rows(count) => (0..*count).try_for_each(|_| self.row(&[]))?,
            Event::Edited(edits) => self.row(edits)?,
            Event::Jump(to) => self.next = usize::from(*to),
            Event::Frame(value) => self.frame(&to_raw_value(value).unwrap())?,
            Event::Sent(value) => drop(self.handle(Input::Sent(&to_raw_value(value).unwrap()))),
            Event::Garbage(line) => {
                let said = self.handle(Input::Garbage { line, fault: LineFault::NotJson });
                prop_assert!(said, "{} said nothing about {line:?}", self.agent.id);
            }
            Event::Command(choice) => self.command(&command(*choice, &self.requests)),
            Event::Host(choice) => self.host(*choice),
            Event::Exited(code) => self.exited(Exit { code: *code, signal: None }, &StderrOutput::default()),
        }
        Ok(())
    }

    fn row(&mut self, edits: &[Edit]) -> Result<(), TestCaseError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let at = self.next % self.rows.len();
        self.next = at + 1;
        let edited = |frame: &RawValue| {
            let mut value: Value = serde_json::from_str(frame.get()).unwrap();
            edits.iter().for_each(|edit| edit.apply(&mut value));
            to_raw_value(&value).unwrap()
        };
        match &self.rows[at] {
            Step::Frame(frame) => self.frame(&edited(frame))?,
            Step::Sent(frame) => drop(self.handle(Input::Sent(&edited(frame)))),
            Step::Started { argv } => self.start(&argv.clone()),
            Step::Exited(ending) => {
                let (exit, stderr) = (ending.exit, ending.stderr.clone());
                self.exited(exit, &stderr);
            }
            Step::Garbage(line) => {
                let line = line.clone();
                self.handle(Input::Garbage { line: line.as_bytes(), fault: LineFault::NotJson });
            }
            Step::Remark => {}
        }
        Ok(())
    }

    fn frame(&mut self, frame: &RawValue) -> Result<(), TestCaseError> {
        let said = self.handle(Input::Frame(frame));
        prop_assert!(said, "{} said nothing about {}", self.agent.id, frame.get());
        Ok(())
    }

    fn host(&mut self, choice: u8) {
        let key = choose(&self.machine, choice).copied().unwrap_or(HostKey(7));
        let error = || HostError::new(HostErrorKind::Failed, "no");
        let outcome = match choice % 9 {
            0 => HostOutcome::Read(Ok("text".into())),
            1 => HostOutcome::Written(Err(error())),
            2 => HostOutcome::Started(Ok(())),
            3 => HostOutcome::Said(TerminalText { text: "out".into(), masked: None }),
            4 => HostOutcome::Ended(Exit { code: Some(1), signal: None }),
            5 => {
                HostOutcome::HelperAsked(r#"{"tool":"shell_command","input":"{\"command\":\"ls\"}"}"#.into())
            }
            6 => HostOutcome::HelperAsked("nothing".into()),
            7 => HostOutcome::Elapsed,
            _ => HostOutcome::HelperLeft,
        };
        self.handle(Input::Host { key, outcome: &outcome });
    }

    /// The end of a process, and the start of another.
    fn exited(&mut self, exit: Exit, stderr: &StderrOutput) {
        self.handle(Input::Exited { code: exit.code, signal: exit.signal, stderr });
        let crash = SessionEnd::Crashed { message: "gone".into(), exit_code: exit.code, stderr: None };
        let stamp = self.stamp(false);
        self.timeline.end_session(crash, stamp, &mut self.emitted);
        self.translator = (self.agent.translator)();
        self.machine.clear();
        self.start(&[]);
    }

    fn command(&mut self, command: &Command) {
        self.handle(Input::Command(command));
        for effect in self.timeline.take_effects() {
            let command = match effect {
                Effect::Grant(key) => {
                    Command::ReplyPermission { key, reply: PermissionReply::Once, message: None }
                }
                Effect::Decide { key, accept, message } => {
                    let reply = if accept { PermissionReply::Once } else { PermissionReply::Reject };
                    Command::ReplyPermission { key, reply, message }
                }
                Effect::Reject(key) => Command::ReplyQuestion { key, answers: None },
                Effect::Withdraw(key) => Command::Withdraw { key },
                Effect::Keep(_) => continue,
            };
            self.handle(Input::Command(&command));
        }
    }

    /// Lets the translator handle one thing and what it sends because of it. Returns whether it said anything.
    fn handle(&mut self, input: Input<'_>) -> bool {
        let is_agents = matches!(input, Input::Frame(_) | Input::Garbage { .. });
        let mut out = vec![];
        self.translator.handle(input, &mut out);
        let said = !out.is_empty();
        let mut to_send = self.carry_out(out, is_agents);
        for count in 0.. {
            let Some(message) = to_send.pop_front() else { break };
            assert!(count < MOST_SENT, "{} sends without end", self.agent.id);
            let mut out = vec![];
            self.translator.handle(Input::Sent(&message), &mut out);
            to_send.extend(self.carry_out(out, false));
        }
        said
    }

    fn carry_out(&mut self, out: Vec<Output>, is_agents: bool) -> VecDeque<Box<RawValue>> {
        let mut to_send = VecDeque::new();
        let stamp = self.stamp(is_agents);
        for output in out {
            match output {
                Output::Stream(output) => {
                    self.requests.extend(request(&output));
                    output.apply(&mut self.timeline, stamp, &mut self.emitted);
                }
                Output::Transport(
                    TransportOutput::Send(shown) | TransportOutput::SendSecret { shown, .. },
                ) => to_send.push_back(shown),
                Output::Transport(TransportOutput::Host(ask)) => self.machine.push(ask.key),
                Output::Transport(
                    TransportOutput::Orphans(_) | TransportOutput::CloseStdin | TransportOutput::Interrupt,
                )
                | Output::Answer(_) => {}
            }
        }
        to_send
    }

    fn stamp(&mut self, is_agents: bool) -> Stamp {
        self.frames += 1;
        let millis = i64::try_from(self.frames).unwrap();
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis);
        if is_agents { Stamp::agent(now, self.frames) } else { Stamp::daemon(now) }
    }

    fn events(mut self) -> Vec<UniversalEvent> {
        let (left, stamp) = (TurnEnd::new(StopReason::Cancelled), self.stamp(false));
        self.timeline.close_turn(left, ResolvedBy::Cancel, stamp, &mut self.emitted);
        self.emitted.into_iter().map(|emitted| emitted.event).collect()
    }
}

fn request(output: &StreamOutput) -> Option<RequestKey> {
    match output {
        StreamOutput::Draft(Draft::PermissionRequested(ask)) => Some(ask.key.clone()),
        StreamOutput::Draft(Draft::QuestionRequested(ask)) => Some(ask.key.clone()),
        _ => None,
    }
}

fn choose<T>(list: &[T], number: u8) -> Option<&T> {
    list.get(usize::from(number) % list.len().max(1))
}

fn command(choice: u8, requests: &[RequestKey]) -> Command {
    let key = choose(requests, choice / 11).cloned().unwrap_or(RequestKey("nobody".into()));
    let requested = SettingsRequest {
        model: Some("m".into()),
        variant: Some("high".into()),
        agent_mode: Some("plan".into()),
        permission_mode: Some("bypass".into()),
        force_model: choice.is_multiple_of(2),
    };
    let resume = (choice > 127).then(|| "native".to_owned());
    match choice % 9 {
        0 => Command::Open(Open { cwd: "/".into(), new_id: "n".into(), resume, ..Open::default() }),
        1 => Command::Open(Open { requested, resume, fork: true, ..Open::default() }),
        2 => Command::Configure(requested),
        3 | 4 => {
            let text = if choice > 127 { "/compact" } else { "hi" };
            Command::Prompt(Prompt { message_id: None, text: text.into(), attachments: vec![] })
        }
        5 => Command::Rename { title: "t".into() },
        6 => Command::Cancel,
        7 => {
            let reply = if choice > 127 { PermissionReply::Always } else { PermissionReply::Reject };
            Command::ReplyPermission { key, reply, message: Some("m".into()) }
        }
        8 => Command::ReplyQuestion { key, answers: (choice > 127).then(|| vec![vec!["a".into()]]) },
        9 => Command::Withdraw { key },
        _ => Command::Close,
    }
}

#[test]
fn anything_that_happens_to_a_translator_at_any_moment_leaves_a_lawful_stream() {
    for agent in Registry::default().iter() {
        // An agent without recordings of its own is tried with those of its protocol.
        let own = recordings(|other| other.id == agent.id);
        let own = if own.is_empty() { recordings(|other| other.protocol == agent.protocol) } else { own };
        let cases = (0..own.len(), any::<u16>(), proptest::collection::vec(event(), 1..40));
        let tried = TestRunner::new(fuzz::config(12)).run(&cases, |(recording, from, events)| {
            let rows = capture::read(&fs::read_to_string(own[recording]).unwrap()).unwrap();
            let mut session = Session::new(agent, rows.into_iter().map(|row| row.step).collect());
            // Most of a protocol needs what stands at its beginning.
            session.next = if from < 40_000 { 0 } else { from.into() };
            events.iter().try_for_each(|event| session.happen(event))?;
            let report = check(&session.events(), Allow { unparsed: true, ..Allow::default() });
            prop_assert!(report.is_lawful(), "{} with {}: {report}", agent.id, own[recording].display());
            Ok(())
        });
        tried.unwrap();
    }
}
