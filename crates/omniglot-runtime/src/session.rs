//! One live session: an actor that owns the Timeline, the agent and the queue, and its handle.
//!
//! Everything that happens to a session happens in its loop, one thing at a time: that loop is the order
//! of its events. Talks to the store by appending, to the agent by its pipes, to nobody else.

mod cancel;
mod client_replies;
mod commands;
mod commit_deadline;
mod commits;
mod configure;
mod delivery;
mod handle;
mod idle;
mod request_replies;
mod rules;
mod silence;
mod step;
mod turn_process;
mod undelivered;
mod undo;
mod user_command;
mod work_tree;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use omniglot_agents::{Attachment, Open};
use omniglot_schema::{MessageId, QuestionPolicy, SessionId, StatePatch};
use omniglot_store::{SessionNo, Store, StoreError};
use omniglot_timeline::{Bounds, Emitted, Fold, Timeline};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::agent::client_host::ClientHosts;
use crate::agent::credentials::Credentials;
use crate::agent::host::{ClientHostLookup, HostEvent};
use crate::agent::session_start::{Launcher, Opened, StartError};
use crate::agent::{Agent, AgentEvent, Ticket};
use crate::deadlines::Deadlines;
use crate::process::lines::Line;
use crate::snapshots::{Before, SessionSnapshots};
use cancel::Ladder;
use client_replies::ClientReply;
use commits::{InFlight, Waiting, committed};
use configure::Configuring;
use handle::answer;
pub(crate) use handle::{Answer, Authored, Request, Retired, SessionCommand, SessionHandle};
pub use handle::{IdempotencyKey, Posted};
pub(crate) use idle::Activity;
pub(crate) use rules::SessionRules;
pub use rules::evaluate_rules;
pub(crate) use step::{Step, record_of};
use turn_process::TurnProcess;
use undelivered::Undelivered;
pub(crate) use user_command::UserCommand;
use work_tree::WorkTree;
pub(crate) use work_tree::{FileWork, WorkReport};

/// Resolves when what was said before is committed.
pub(crate) type Commit = oneshot::Receiver<Result<(), StoreError>>;

/// How a session left its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Done,
}

type Opening = Pin<Box<dyn Future<Output = Result<Opened, StartError>> + Send>>;

/// The fixed facts of a session.
#[derive(Debug, Clone)]
pub(crate) struct SessionSpec {
    pub(crate) no: SessionNo,
    pub(crate) id: SessionId,
    pub(crate) agent: String,
    /// How its agent is opened; the native session to continue is filled in.
    pub(crate) open: Open,
    pub(crate) launcher: Launcher,
    pub(crate) deadlines: Deadlines,
    pub(crate) bounds: Bounds,
    pub(crate) credentials: Credentials,
    /// The clients that do its agent's requests.
    pub(crate) client_hosts: ClientHosts,
    /// Told when the session has a process and nothing more to do with it.
    pub(crate) became_idle: Arc<Notify>,
    pub(crate) questions: QuestionPolicy,
    pub(crate) snapshots: SessionSnapshots,
    pub(crate) rules: SessionRules,
}

pub(crate) struct Session {
    spec: SessionSpec,
    store: Store,
    timeline: Timeline,
    requests: mpsc::Receiver<Request>,
    agent: Option<Agent>,
    /// How many turns there were when its process was started, or when the last one has died.
    turns_before: u64,
    opening: Option<Opening>,
    queue: VecDeque<Queued>,
    /// Idempotency keys that are not committed yet; all others are in the store.
    keys: HashMap<String, (String, Posted)>,
    cancelling: Option<Ladder>,
    configuring: Configuring,
    undelivered: Vec<Undelivered>,
    client_replies: Vec<ClientReply>,
    step: Step,
    in_flight: VecDeque<InFlight>,
    activity: Activity,
    /// When its process will have rested long enough; `None` while it works or is not there.
    idle_deadline: Option<Instant>,
    /// When the agent will have been silent for too long; `None` while it may be.
    silence_deadline: Option<Instant>,
    /// When the first message that waits may be sent, though its agent is free.
    quiet_deadline: Option<Instant>,
    /// For an agent with a process for each turn.
    turn_process: TurnProcess,
    work_tree: WorkTree,
    /// The log has refused what this session said.
    broken: bool,
    /// Whether the log has taken anything of it.
    appended: bool,
    /// Why the log has refused it.
    refused: Option<String>,
}

#[derive(Debug)]
struct Queued {
    message_id: MessageId,
    message: Authored,
    /// The attachments, read when the message came.
    files: Vec<Attachment>,
    /// Whether it is a row of the store.
    stored: bool,
    /// Whether its client was told that it has started, though its agent has not.
    started: bool,
    /// It is on its way to the agent, which has not read it yet: its turn begins when it is sent.
    sending: Option<Ticket>,
    /// The snapshot of the directory before its turn; not yet asked for when absent.
    before: Option<Before>,
}

/// Batches that may wait for their commit before the agent has to wait.
const IN_FLIGHT: usize = 4;

impl Session {
    pub(crate) fn new(
        spec: SessionSpec,
        store: Store,
        mut timeline: Timeline,
        step: Step,
    ) -> (Self, SessionHandle) {
        timeline.bound(spec.bounds);
        match spec.questions {
            QuestionPolicy::Ask => {}
            QuestionPolicy::Reject => timeline.refuse_questions(),
        }
        let (sender, requests) = mpsc::channel(64);
        let activity = Activity::default();
        let session = Self {
            spec,
            store,
            turns_before: timeline.fold().turns,
            timeline,
            requests,
            agent: None,
            opening: None,
            queue: VecDeque::new(),
            keys: HashMap::new(),
            cancelling: None,
            configuring: Configuring::default(),
            undelivered: vec![],
            client_replies: vec![],
            step,
            in_flight: VecDeque::new(),
            activity: activity.clone(),
            idle_deadline: None,
            silence_deadline: None,
            quiet_deadline: None,
            turn_process: TurnProcess::default(),
            work_tree: WorkTree::default(),
            broken: false,
            appended: false,
            refused: None,
        };
        (session, SessionHandle { requests: sender, activity })
    }

    /// Gives it the agent that was opened to create it. Its words are in the log already.
    pub(crate) fn with_agent(mut self, agent: Agent) -> Self {
        self.take_agent(agent);
        self.publish_activity();
        self
    }

    fn take_agent(&mut self, mut agent: Agent) {
        agent.host.use_client_hosts(ClientHostLookup {
            client_hosts: self.spec.client_hosts.clone(),
            session: self.spec.id.clone(),
        });
        self.turns_before = self.timeline.fold().turns;
        self.agent = Some(agent);
    }

    pub(crate) fn with_queue(
        mut self,
        queue: impl IntoIterator<Item = (MessageId, Authored, Vec<Attachment>)>,
    ) -> Self {
        let stored = |(message_id, message, files)| Queued {
            message_id,
            message,
            files,
            stored: true,
            started: false,
            sending: None,
            before: None,
        };
        self.queue = queue.into_iter().map(stored).collect();
        self.publish_activity();
        self
    }

    pub(crate) fn recover_timeline(&mut self, act: impl FnOnce(&mut Timeline, &mut Vec<Emitted>)) {
        let timeline = &mut self.timeline;
        self.step.with(|_, out| act(timeline, out));
    }

    /// Runs until there is nothing to do and no process to watch. `retire` takes the session off the hub's
    /// list when it is dropped: once every event is committed, or when this panics.
    ///
    /// Returns why the log has refused what was said, if it has: the turn is still open in the log.
    pub(crate) async fn run<R: Send>(mut self, retire: R) -> Option<String> {
        self.drive();
        self.commit_in_flight();
        while self.run_once().await == Flow::On {
            if self.is_idle_row() && self.requests.is_empty() {
                break;
            }
        }
        let too_late = self.settle().await;
        let refused = self.refused.take().filter(|_| self.appended);
        if refused.is_some() {
            self.discard().await;
        }
        drop(retire);
        self.requests.close();
        self.take_the_rest(too_late).await;
        refused
    }

    /// Nothing was ever done in it, nor waits to be.
    fn is_unused(&self) -> bool {
        is_unused(self.timeline.fold()) && self.queue.is_empty()
    }

    /// Nothing but a row: no process, no work.
    fn is_idle_row(&self) -> bool {
        self.agent.is_none()
            && self.opening.is_none()
            && self.queue.is_empty()
            && !self.work_tree.is_pending()
    }

    /// Waits for one thing and finishes it.
    async fn run_once(&mut self) -> Flow {
        let full = self.in_flight.len() >= IN_FLIGHT;
        self.listen_for_silence();
        let settings_due = self.configuring.deadline();
        let hold_due = self.work_tree.hold_deadline();
        let commit_due = self.commit_deadline();
        tokio::select! {
            event = next_of(&mut self.agent), if !full => self.hear(event),
            opened = opened(&mut self.opening) => self.opened(opened),
            finished = self.work_tree.finished() => self.work_tree_finished(finished),
            request = self.requests.recv() => match request {
                Some(request) => return self.request(request).await,
                None => return Flow::Done,
            },
            result = committed(&mut self.in_flight) => return self.committed(result),
            () = idle::reached(commit_due) => self.answer_overdue(),
            () = Ladder::due(self.cancelling.as_ref()) => self.next_rung(),
            () = Configuring::due(settings_due) => self.settings_overdue(),
            () = idle::reached(self.idle_deadline) => self.idle_too_long().await,
            () = idle::reached(hold_due) => self.work_tree.end_hold(),
            () = idle::reached(self.turn_process.deadline()) => self.end_turn_process().await,
            () = idle::reached(self.quiet_deadline) => self.quiet_is_over(),
            () = idle::reached(self.silence_deadline) => self.silent_too_long().await,
        }
        self.commit_in_flight();
        Flow::On
    }

    fn quiet_is_over(&mut self) {
        self.quiet_deadline = None;
        self.step.begin();
        self.drive();
    }

    async fn idle_too_long(&mut self) {
        self.step.begin();
        // One that has work is left alone.
        let _busy = self.reap().await.is_err();
        self.publish_activity();
    }

    fn hear(&mut self, event: AgentEvent) {
        self.step.begin();
        match event {
            AgentEvent::Lines(lines) => {
                if let Some(ladder) = &mut self.cancelling {
                    ladder.heard();
                }
                self.hear_lines(lines);
            }
            AgentEvent::Sent => self.hear_sent(),
            AgentEvent::Host(event) => self.hear_host(event),
            AgentEvent::Exited(exit) => self.agent_exited(exit),
        }
        self.drive();
    }

    fn hear_sent(&mut self) {
        let heard = self.agent.as_mut().map(Agent::settle).unwrap_or_default();
        self.absorb(heard);
        self.settle_prompt();
        self.settle_undelivered();
    }

    fn hear_lines(&mut self, lines: Vec<Line>) {
        for line in lines {
            let heard = self.agent.as_mut().map(|agent| agent.hear(line)).unwrap_or_default();
            self.absorb(heard);
        }
    }

    fn hear_host(&mut self, event: HostEvent) {
        let heard = self.agent.as_mut().map(|agent| agent.host_event(event)).unwrap_or_default();
        self.absorb(heard);
    }

    /// Does what follows from what has just happened: answers what is granted, refused or withdrawn, delivers
    /// what waits.
    fn drive(&mut self) {
        self.follow_turns();
        self.settle_prompt();
        self.settle_undelivered();
        self.send_replies();
        self.apply_settings();
        self.leave_the_next_alone();
        self.release_turn_process();
        let is_free = self.timeline.fold().open_turn.is_none() && !self.is_sending();
        if is_free && self.cancel_is_over() && !self.settings_first() {
            self.deliver_next();
            // The turn may end with the next thing that is heard.
            self.follow_turns();
        }
        self.publish_activity();
    }

    fn patch(&mut self, patch: StatePatch) {
        self.draft(omniglot_timeline::Draft::State(Box::new(patch)));
    }
}

/// No turn was begun.
pub(crate) fn is_unused(fold: &Fold) -> bool {
    fold.turns == 0 && fold.open_turn.is_none()
}

async fn next_of(agent: &mut Option<Agent>) -> AgentEvent {
    match agent {
        Some(agent) => agent.next().await,
        None => std::future::pending().await,
    }
}

async fn opened(opening: &mut Option<Opening>) -> Result<Opened, StartError> {
    match opening {
        Some(future) => {
            let result = future.await;
            *opening = None;
            result
        }
        None => std::future::pending().await,
    }
}
