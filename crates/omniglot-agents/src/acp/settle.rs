//! Settings on their way to the agent, until all of them are answered: at the opening of a session, and when
//! somebody changes them.
//!
//! Mode and model go first; the effort waits for the model, whose answer lists the efforts that it has.
//! `session.started` waits for the last answer, so that no prompt overtakes a setting.

use std::collections::HashSet;

use omniglot_schema::{Resume, StatePatch, StatusLabel};
use omniglot_timeline::SessionStarted;

use super::Acp;
use super::settings::Control;
use super::settings_change::{Occasion, SettingsChange, wanted_variant};
use crate::contract::{DropReason, Output, Refusal, RefusalKind, SettingsRequest};
use crate::rpc::RpcId;

/// A method that no agent has: the answer is all that is wanted of it.
pub(crate) const REPLAYED: &str = "_omniglot/replayed";

#[derive(serde::Serialize)]
struct Nothing {}

/// The requests that are not all answered.
#[derive(Debug)]
pub(crate) struct Settling {
    purpose: Purpose,
    waiting: HashSet<RpcId>,
    /// The request for the mode. A session that works in another mode than asked for is no session.
    mode: Option<RpcId>,
    /// The request for the model. One that has worked with another model before goes on.
    model: Option<RpcId>,
    /// The effort, until the model is settled.
    variant: Option<String>,
    permission_mode: Option<String>,
    warnings: Vec<String>,
    refusal: Option<Refusal>,
    /// How much of the past had come when it was last asked whether there is more.
    replayed: Option<u64>,
}

#[derive(Debug)]
enum Purpose {
    Open(Box<SessionStarted>),
    /// The session was open before, and has come back.
    Reopen(Box<SessionStarted>),
    Change,
}

impl Purpose {
    fn occasion(&self) -> Occasion {
        match self {
            Self::Open(_) => Occasion::New,
            Self::Reopen(_) => Occasion::Return,
            Self::Change => Occasion::Change,
        }
    }
}

impl Acp {
    /// Asks for the settings that the session was opened with, if it has others.
    pub(crate) fn settle_opened(&mut self, started: SessionStarted, out: &mut Vec<Output>) {
        let open = self.open.take().unwrap_or_default();
        let started = Box::new(started);
        let purpose = match open.resume {
            Some(_) => Purpose::Reopen(started),
            None => Purpose::Open(started),
        };
        self.settle(purpose, open.requested, out);
    }

    pub(crate) fn configure(&mut self, requested: &SettingsRequest, out: &mut Vec<Output>) {
        self.settle(Purpose::Change, requested.clone(), out);
    }

    fn settle(&mut self, purpose: Purpose, requested: SettingsRequest, out: &mut Vec<Output>) {
        let (change, refusal) = match SettingsChange::of(
            &requested,
            &self.session.settings,
            self.agent.quirks,
            purpose.occasion(),
        ) {
            Ok(change) => (change, None),
            Err(refusal) => (SettingsChange::default(), Some(refusal)),
        };
        let returns = purpose.occasion() == Occasion::Return;
        let mode = self.ask_for(change.mode, out);
        let model = self.ask_for(change.model, out);
        let mut warnings = std::mem::take(&mut self.session.warnings);
        warnings.extend(change.warnings);
        self.settling = Some(Settling {
            purpose,
            waiting: mode.iter().chain(&model).cloned().collect(),
            mode,
            model: model.filter(|_| !returns),
            variant: requested.variant,
            permission_mode: requested.permission_mode,
            warnings,
            refusal,
            replayed: None,
        });
        self.settle_on(out);
    }

    fn ask_for(&mut self, requested: Option<(Control, String)>, out: &mut Vec<Output>) -> Option<RpcId> {
        let (control, value) = requested?;
        let (id, request) = self.set(&control, &value);
        out.push(request);
        Some(id)
    }

    /// One of the settings was answered; `refused` says why it was not taken.
    pub(crate) fn setting_answered(&mut self, id: &RpcId, refused: Option<String>, out: &mut Vec<Output>) {
        let Some(settling) = &mut self.settling else {
            if let Some(warning) = refused {
                self.status(StatusLabel::Warning, Some(warning), out);
            }
            return;
        };
        settling.waiting.remove(id);
        match refused {
            Some(message) if settling.mode.as_ref() == Some(id) || settling.model.as_ref() == Some(id) => {
                settling.refusal = Some(Refusal { kind: RefusalKind::BadMode, message, hint: None });
            }
            refused => settling.warnings.extend(refused),
        }
        self.settle_on(out);
    }

    /// Goes on once everything asked for so far is answered.
    fn settle_on(&mut self, out: &mut Vec<Output>) {
        let Some(mut settling) = self.settling.take_if(|settling| settling.waiting.is_empty()) else {
            return;
        };
        if settling.refusal.is_none()
            && let Some(variant) = settling.variant.take()
            && let Some(id) = self.want_variant(&variant, &mut settling, out)
        {
            settling.waiting.insert(id);
            self.settling = Some(settling);
            return;
        }
        if self.may_still_replay(&settling) {
            settling.replayed = Some(self.session.replayed);
            let (id, request) = self.calls.request(REPLAYED, &Nothing {});
            out.push(request);
            settling.waiting.insert(id);
            self.settling = Some(settling);
            return;
        }
        self.settled(settling, out);
    }

    /// A prompt must not overtake the past, or that would look like the answer. An agent that still tells it
    /// tells some of it before it answers anything else, if only that it does not know the method.
    fn may_still_replay(&self, settling: &Settling) -> bool {
        let late = self.agent.quirks.repairs.late_replay;
        let loaded =
            matches!(&settling.purpose, Purpose::Reopen(started) if started.resume == Some(Resume::Load));
        late && loaded && settling.refusal.is_none() && settling.replayed != Some(self.session.replayed)
    }

    pub(crate) fn replay_answered(&mut self, id: &RpcId, out: &mut Vec<Output>) {
        out.push(Output::dropped(DropReason::Internal));
        if let Some(settling) = &mut self.settling {
            settling.waiting.remove(id);
        }
        self.settle_on(out);
    }

    fn want_variant(
        &mut self,
        variant: &str,
        settling: &mut Settling,
        out: &mut Vec<Output>,
    ) -> Option<RpcId> {
        match wanted_variant(variant, &self.session.settings) {
            Ok(requested) => return self.ask_for(requested, out),
            // A model that the agent does not list may have efforts that it does not list either.
            Err(refusal) if self.session.settings.has_unlisted_model() => {
                settling.warnings.push(refusal.message)
            }
            Err(refusal) if settling.purpose.occasion() == Occasion::Return => {
                settling.warnings.push(refusal.message);
            }
            Err(refusal) => settling.refusal = Some(refusal),
        }
        None
    }

    fn settled(&mut self, settling: Settling, out: &mut Vec<Output>) {
        let Settling { purpose, permission_mode, warnings, refusal, .. } = settling;
        match (purpose, refusal) {
            (Purpose::Open(_) | Purpose::Reopen(_), Some(refusal)) => self.refuse(refusal, out),
            (Purpose::Open(started) | Purpose::Reopen(started), None) => {
                self.session.permission_mode = permission_mode;
                self.start(*started, out);
                self.warn(warnings, out);
            }
            (Purpose::Change, refusal) => {
                match refusal {
                    None => self.permission_mode_is(permission_mode, out),
                    // Somebody may have been shown what was requested.
                    Some(_) => {
                        let permission_mode = Some(self.session.permission_mode.clone());
                        self.state(StatePatch { permission_mode, ..self.session.settings.patch() }, out);
                    }
                }
                self.warn(warnings, out);
                out.push(Output::configured(refusal.map_or(Ok(()), Err)));
            }
        }
    }

    fn warn(&mut self, warnings: Vec<String>, out: &mut Vec<Output>) {
        for warning in warnings {
            self.status(StatusLabel::Warning, Some(warning), out);
        }
    }

    fn permission_mode_is(&mut self, mode: Option<String>, out: &mut Vec<Output>) {
        if mode.is_some() {
            self.session.permission_mode.clone_from(&mode);
            self.state(StatePatch { permission_mode: Some(mode), ..StatePatch::default() }, out);
        }
    }

    /// The permission mode that a session was given follows the agent's mode, of which it is another name.
    pub(crate) fn permission_mode_follows(&mut self, patch: &mut StatePatch) {
        let (Some(Some(mode)), Some(shown)) = (&patch.agent_mode, &self.session.permission_mode) else {
            return;
        };
        let follows = self.agent.quirks.permission_mode_of(mode);
        if shown != mode && shown != follows {
            self.session.permission_mode = Some(follows.to_owned());
            patch.permission_mode = Some(self.session.permission_mode.clone());
        }
    }
}
