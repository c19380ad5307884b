//! Settings that clients change: held against what the agent lists, asked of it between two turns, and kept
//! in the state for the agent's next process.

use std::future::pending;

use omniglot_agents::{
    Command, CommandAnswer, Lifetime, Refusal, SettingsPreview, SettingsRequest, StreamOutput,
};
use omniglot_schema::{ErrorCode, SessionPatch, SessionState, StatePatch, StatusLabel};
use omniglot_timeline::{Draft, Failure};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::undelivered::Effect;
use super::undo::Undo;
use super::{Answer, Session, answer};
use crate::agent::Translated;
use crate::error::RuntimeError;

/// Settings on their way to the agent.
#[derive(Debug, Default)]
pub(super) struct Configuring {
    /// The settings to request before the next prompt.
    later: Option<Later>,
    /// The agent was asked. No prompt overtakes its answer.
    asked: Option<SettingsInFlight>,
    heard: Option<Result<(), Refusal>>,
}

#[derive(Debug)]
struct Later {
    requested: SettingsRequest,
    /// The state that is shown until then.
    shown: StatePatch,
    /// The state that is still in force.
    undo: Undo,
}

#[derive(Debug)]
struct SettingsInFlight {
    due: Instant,
    /// Who waits for it; nobody when it was put off.
    client: Option<Client>,
    /// The undo of state that was shown before the agent confirmed it.
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

    pub(super) fn hear(&mut self, heard: &[Translated]) {
        for heard in heard {
            for output in &heard.stream {
                if let StreamOutput::Draft(Draft::State(told)) = output {
                    self.learn(told);
                }
            }
            for answer in &heard.answers {
                if let (CommandAnswer::Configured(outcome), true) = (answer, self.asked.is_some()) {
                    self.heard = Some(outcome.clone());
                }
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

/// The settings that a session has, as a settings request for its next process. A model that the agent has worked
/// with is not questioned.
pub(super) fn requested_of_state(state: &SessionState, was_open: bool) -> SettingsRequest {
    SettingsRequest {
        force_model: was_open,
        model: state.model.clone(),
        variant: state.variant.clone(),
        agent_mode: state.agent_mode.clone(),
        permission_mode: state.permission_mode.clone(),
    }
}

impl Session {
    /// Changes settings: at once where an agent is there and free, else before its next prompt.
    pub(super) fn configure(&mut self, patch: SessionPatch, reply: oneshot::Sender<Answer>) {
        let SessionPatch { title, model, force, variant, agent_mode, permission_mode, labels: _ } = patch;
        let requested = SettingsRequest { model, variant, agent_mode, permission_mode, force_model: force };
        let preview = match self.preview_settings(&requested) {
            Ok(preview) => preview,
            Err(error) => return answer(reply, Answer::Refused(error)),
        };
        if !requested.is_empty() && self.is_free() {
            self.ask_for(requested, Some(Client { reply, title }), Undo::default());
        } else {
            self.title_is(title);
            self.put_off(requested, preview);
            self.done(Effect::Done, reply);
        }
    }

    /// Returns the expected result of the settings request; an agent that was never open has no lists to check.
    fn preview_settings(&self, requested: &SettingsRequest) -> Result<SettingsPreview, RuntimeError> {
        let fold = self.timeline.fold();
        // An agent with a process for each turn has a native session only from its first turn on.
        let was_open =
            fold.native_session_id.is_some() || matches!(self.spec.lifetime(), Some(Lifetime::Turn));
        if requested.is_empty() || !was_open {
            return Ok(SettingsPreview { patch: as_requested(requested), warnings: vec![] });
        }
        let entry = self.spec.launcher.catalog.get(&self.spec.agent)?;
        (entry.adapter.preview_settings)(&fold.state, requested).map_err(RuntimeError::from)
    }

    fn is_free(&self) -> bool {
        let turn_runs = self.timeline.fold().open_turn.is_some() || self.cancelling.is_some();
        self.has_configurable_agent() && !turn_runs && self.queue.is_empty() && !self.configuring.is_pending()
    }

    /// Whether there is an agent that can be asked. A process that has had its one turn is about to leave.
    fn has_configurable_agent(&self) -> bool {
        self.agent.is_some() && !self.turn_process.is_used()
    }

    fn put_off(&mut self, requested: SettingsRequest, preview: SettingsPreview) {
        if requested.is_empty() {
            return;
        }
        let mut undo = self.configuring.later.as_mut().map(|later| std::mem::take(&mut later.undo));
        undo.get_or_insert_default().keep(&preview.patch, &self.timeline.fold().state);
        self.patch(preview.patch.clone());
        if self.agent.is_none() && self.opening.is_none() {
            // The next process is opened with what the state says.
            return self.warn(preview.warnings);
        }
        let (requested, mut shown) = match self.configuring.later.take() {
            Some(later) => (requested.or(later.requested), later.shown),
            None => (requested, StatePatch::default()),
        };
        overlay(&mut shown, preview.patch);
        self.configuring.later = Some(Later { requested, shown, undo: undo.unwrap_or_default() });
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
            self.patch(StatePatch { title: Some(title.clone()), ..StatePatch::default() });
            if let Some(title) = title {
                self.tell_agent(&Command::Rename { title });
            }
        }
    }

    fn ask_for(&mut self, requested: SettingsRequest, client: Option<Client>, undo: Undo) {
        let due = Instant::now() + self.spec.launcher.timeout;
        self.configuring.asked = Some(SettingsInFlight { due, client, undo });
        self.tell_agent(&Command::Configure(requested));
    }

    /// Asks for what was put off, and says whether prompts have to wait for an answer. Called between turns.
    pub(super) fn settings_first(&mut self) -> bool {
        if !self.configuring.is_asked()
            && self.has_configurable_agent()
            && let Some(later) = self.configuring.later.take()
        {
            self.ask_for(later.requested, None, later.undo);
            self.apply_settings();
        }
        self.configuring.is_asked()
    }

    /// Does what follows from the agent's answer, or from its end.
    pub(super) fn apply_settings(&mut self) {
        if self.agent.is_none() {
            self.settings_lost();
        }
        if let Some(later) = &self.configuring.later {
            // The agent may have told in the meantime what still is so.
            self.patch(later.shown.clone());
        }
        let Some(outcome) = self.configuring.heard.take() else { return };
        let Some(SettingsInFlight { client, undo, .. }) = self.configuring.asked.take() else { return };
        match (outcome, client) {
            (Ok(()), None) => {}
            (Ok(()), Some(client)) => {
                self.title_is(client.title);
                self.done(Effect::Done, client.reply);
            }
            (Err(refusal), Some(client)) => {
                answer(client.reply, Answer::Refused(refusal.into()));
            }
            (Err(refusal), None) => self.settings_refused(refusal.message, undo),
        }
    }

    /// Undoes refused settings; a queued prompt fails, since it must not run with other settings than requested.
    fn settings_refused(&mut self, message: String, undo: Undo) {
        let undo = undo.into_patch();
        // A settings request that came after this one hides it, too.
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
                agent: self.spec.agent.clone(),
                message: "its process ended before it took the settings".to_owned(),
                hint: None,
            };
            answer(client.reply, Answer::Refused(error));
        }
    }

    pub(super) fn settings_overdue(&mut self) {
        self.step.begin();
        let Some(SettingsInFlight { client, undo, .. }) = self.configuring.asked.take() else { return };
        let error = RuntimeError::AgentSilent {
            agent: self.spec.agent.clone(),
            what: "settings",
            seconds: self.spec.launcher.timeout.as_secs(),
            hint: None,
        };
        match client {
            Some(client) => answer(client.reply, Answer::Refused(error)),
            None => self.settings_refused(error.to_string(), undo),
        }
        self.drive();
    }
}

fn as_requested(requested: &SettingsRequest) -> StatePatch {
    let show = |value: &Option<String>| value.clone().map(Some);
    StatePatch {
        model: show(&requested.model),
        variant: show(&requested.variant),
        agent_mode: show(&requested.agent_mode),
        permission_mode: show(&requested.permission_mode),
        ..StatePatch::default()
    }
}

/// Overlays the fields of the later patch on the earlier one.
fn overlay(shown: &mut StatePatch, patch: StatePatch) {
    let StatePatch { model, variant, agent_mode, permission_mode, .. } = patch;
    shown.model = model.or(shown.model.take());
    shown.variant = variant.or(shown.variant.take());
    shown.agent_mode = agent_mode.or(shown.agent_mode.take());
    shown.permission_mode = permission_mode.or(shown.permission_mode.take());
}
