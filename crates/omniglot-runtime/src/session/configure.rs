//! Settings that clients change: held against what the agent lists, asked of it between two turns, and kept
//! in the state for the agent's next process.

use std::future::pending;

use omniglot_agents::{Command, Foreseen, Output, Refusal, Wish, registry};
use omniglot_schema::{ErrorCode, SessionPatch, SessionState, StatePatch, StatusLabel};
use omniglot_store::Durability;
use omniglot_timeline::{Draft, Failure};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::undo::Undo;
use super::{Answer, InFlight, Session, Waiting, answer};
use crate::agent::Heard;
use crate::error::RuntimeError;

/// Settings on their way to the agent.
#[derive(Debug, Default)]
pub(super) struct Configuring {
    /// What the agent is to be asked for before its next prompt.
    later: Option<Later>,
    /// The agent was asked. No prompt overtakes its answer.
    asked: Option<Asked>,
    heard: Option<Result<(), Refusal>>,
}

#[derive(Debug)]
struct Later {
    wish: Wish,
    /// What everybody is shown until then.
    shown: StatePatch,
    /// What still is so.
    undo: Undo,
}

#[derive(Debug)]
struct Asked {
    due: Instant,
    /// Who waits for it; nobody when it was put off.
    client: Option<Client>,
    /// What was shown too early, until the agent says so itself.
    undo: Undo,
}

#[derive(Debug)]
struct Client {
    reply: oneshot::Sender<Answer>,
    title: Option<String>,
}

impl Configuring {
    /// Whether a prompt has to wait.
    pub(super) fn is_pending(&self) -> bool {
        self.asked.is_some() || self.later.is_some()
    }

    /// Whether the agent owes an answer.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn hear(&mut self, heard: &[Heard]) {
        for output in heard.iter().flat_map(|heard| &heard.outputs) {
            match output {
                Output::Configured(outcome) if self.asked.is_some() => self.heard = Some(outcome.clone()),
                Output::Draft(Draft::State(told)) => self.learn(told),
                _ => {}
            }
        }
    }

    fn learn(&mut self, told: &StatePatch) {
        if let Some(asked) = &mut self.asked {
            asked.undo.forget(told);
        }
        if let Some(later) = &mut self.later {
            later.undo.correct(told);
        }
    }

    pub(super) async fn due(due: Option<Instant>) {
        match due {
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.asked.as_ref().map(|asked| asked.due)
    }
}

/// The settings that a session has, as a wish for its next process.
pub(super) fn wish_of_state(state: &SessionState) -> Wish {
    Wish {
        model: state.model.clone(),
        variant: state.variant.clone(),
        agent_mode: state.agent_mode.clone(),
        permission_mode: state.permission_mode.clone(),
    }
}

impl Session {
    /// Changes settings: at once where an agent is there and free, else before its next prompt.
    pub(super) fn configure(&mut self, patch: SessionPatch, reply: oneshot::Sender<Answer>) {
        let SessionPatch { title, model, variant, agent_mode, permission_mode } = patch;
        let wish = Wish { model, variant, agent_mode, permission_mode };
        let foreseen = match self.foresee(&wish) {
            Ok(foreseen) => foreseen,
            Err(error) => return answer(reply, Answer::Refused(error)),
        };
        if !wish.is_empty() && self.is_free() {
            self.ask_for(wish, Some(Client { reply, title }), Undo::default());
        } else {
            self.title_is(title);
            self.put_off(wish, foreseen);
            self.done(reply);
        }
    }

    /// What the wish comes to; an agent that was never open has listed nothing to hold it against.
    fn foresee(&self, wish: &Wish) -> Result<Foreseen, RuntimeError> {
        let fold = self.timeline.fold();
        if wish.is_empty() || fold.native_session_id.is_none() {
            return Ok(Foreseen { patch: as_wished(wish), warnings: vec![] });
        }
        let entry = self.facts.launcher.catalog.get(&self.facts.agent)?;
        registry::foresee(entry.protocol, entry.quirks.as_deref(), &fold.state, wish)
            .map_err(|refusal| RuntimeError::ModeNotSupported(refusal.message))
    }

    fn is_free(&self) -> bool {
        let turn_runs = self.timeline.fold().open_turn.is_some() || self.cancelling.is_some();
        self.agent.is_some() && !turn_runs && self.queue.is_empty() && !self.configuring.is_pending()
    }

    fn put_off(&mut self, wish: Wish, foreseen: Foreseen) {
        if wish.is_empty() {
            return;
        }
        let mut undo = self.configuring.later.as_mut().map(|later| std::mem::take(&mut later.undo));
        undo.get_or_insert_default().keep(&foreseen.patch, &self.timeline.fold().state);
        self.patch(foreseen.patch.clone());
        if self.agent.is_none() && self.opening.is_none() {
            // The next process is opened with what the state says.
            return self.warn(foreseen.warnings);
        }
        let (wish, mut shown) = match self.configuring.later.take() {
            Some(later) => (wish.or(later.wish), later.shown),
            None => (wish, StatePatch::default()),
        };
        overlay(&mut shown, foreseen.patch);
        self.configuring.later = Some(Later { wish, shown, undo: undo.unwrap_or_default() });
    }

    fn warn(&mut self, warnings: Vec<String>) {
        // Nothing happens in an ended session; its state may change.
        if self.timeline.fold().ended {
            return;
        }
        for warning in warnings {
            let timeline = &mut self.timeline;
            self.step.with(|stamp, out| timeline.status(StatusLabel::Warning, warning, stamp, out));
        }
    }

    fn title_is(&mut self, title: Option<String>) {
        if let Some(title) = title {
            let title = Some(title).filter(|title| !title.is_empty());
            self.patch(StatePatch { title: Some(title), ..StatePatch::default() });
        }
    }

    fn done(&mut self, reply: oneshot::Sender<Answer>) {
        let commit = self.commit(Durability::Power);
        let waiting = Some(Waiting { reply, posted: None, key: None });
        self.in_flight.push_back(InFlight { commit, waiting });
    }

    fn ask_for(&mut self, wish: Wish, client: Option<Client>, undo: Undo) {
        let due = Instant::now() + self.facts.launcher.patience;
        self.configuring.asked = Some(Asked { due, client, undo });
        self.tell_agent(&Command::Configure(wish));
    }

    /// Asks for what was put off, and says whether prompts have to wait for an answer. Called between turns.
    pub(super) fn settings_first(&mut self) -> bool {
        if !self.configuring.is_asked()
            && self.agent.is_some()
            && let Some(later) = self.configuring.later.take()
        {
            self.ask_for(later.wish, None, later.undo);
            self.heed_settings();
        }
        self.configuring.is_asked()
    }

    /// Does what follows from the agent's answer, or from its end.
    pub(super) fn heed_settings(&mut self) {
        if self.agent.is_none() {
            self.settings_lost();
        }
        if let Some(later) = &self.configuring.later {
            // The agent may have told in the meantime what still is so.
            self.patch(later.shown.clone());
        }
        let Some(outcome) = self.configuring.heard.take() else { return };
        let Some(Asked { client, undo, .. }) = self.configuring.asked.take() else { return };
        match (outcome, client) {
            (Ok(()), None) => {}
            (Ok(()), Some(client)) => {
                self.title_is(client.title);
                self.done(client.reply);
            }
            (Err(refusal), Some(client)) => {
                answer(client.reply, Answer::Refused(RuntimeError::ModeNotSupported(refusal.message)));
            }
            (Err(refusal), None) => self.settings_refused(refusal.message, undo),
        }
    }

    /// Whoever asked before must not find that a prompt ran with other settings than wished.
    fn settings_refused(&mut self, message: String, undo: Undo) {
        let undo = undo.into_patch();
        // A wish that came after this one hides it, too.
        self.configuring.learn(&undo);
        self.patch(undo);
        if self.queue.is_empty() {
            self.warn(vec![message]);
        } else {
            self.fail_next(Failure::new(ErrorCode::AgentUnavailable, message));
        }
    }

    /// The process is gone. What was put off is in the state, for the next one.
    fn settings_lost(&mut self) {
        if self.opening.is_none() {
            self.configuring.later = None;
        }
        let asked = self.configuring.asked.take();
        if let Some(client) = asked.and_then(|asked| asked.client) {
            let error = RuntimeError::AgentFailed {
                agent: self.facts.agent.clone(),
                message: "its process ended before it took the settings".to_owned(),
                hint: None,
            };
            answer(client.reply, Answer::Refused(error));
        }
    }

    pub(super) fn settings_overdue(&mut self) {
        self.step.begin();
        let Some(Asked { client, undo, .. }) = self.configuring.asked.take() else { return };
        let error = RuntimeError::AgentSilent {
            agent: self.facts.agent.clone(),
            what: "settings",
            seconds: self.facts.launcher.patience.as_secs(),
        };
        match client {
            Some(client) => answer(client.reply, Answer::Refused(error)),
            None => self.settings_refused(error.to_string(), undo),
        }
        self.pursue();
    }
}

fn as_wished(wish: &Wish) -> StatePatch {
    let show = |value: &Option<String>| value.clone().map(Some);
    StatePatch {
        model: show(&wish.model),
        variant: show(&wish.variant),
        agent_mode: show(&wish.agent_mode),
        permission_mode: show(&wish.permission_mode),
        ..StatePatch::default()
    }
}

/// What the later patch shows hides the same of the earlier one.
fn overlay(shown: &mut StatePatch, patch: StatePatch) {
    let StatePatch { model, variant, agent_mode, permission_mode, .. } = patch;
    shown.model = model.or(shown.model.take());
    shown.variant = variant.or(shown.variant.take());
    shown.agent_mode = agent_mode.or(shown.agent_mode.take());
    shown.permission_mode = permission_mode.or(shown.permission_mode.take());
}
