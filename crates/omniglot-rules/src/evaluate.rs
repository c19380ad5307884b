//! The decision about a call: floor, deny, ask, allow; nothing fits: ask. Grants of a session come between deny and
//! ask; those who keep them look there.

mod allow;
mod generous;
mod sight;

use omniglot_schema::{Decide, Rule};

use crate::policy::{Layer, Policy};
use crate::tool_call::{Call, Machine};
use sight::Sight;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// A decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub decision: Decision,
    /// The rule that decided, with its layer; `None` if none fits.
    pub rule: Option<(Layer, String)>,
    /// Whether a person who is asked may answer `always`.
    pub remember: bool,
    pub reason: String,
}

/// The name that the floor's decisions are told by.
const FLOOR: &str = "floor";

impl Policy {
    /// Decides about a call.
    pub fn evaluate(&self, call: &Call<'_>, machine: &Machine<'_>) -> Ruling {
        let sight = Sight::of(call, machine);
        if let Some(path) = self.floor.0.iter().find(|path| sight.touches(path)) {
            let reason = format!("{} belongs to the daemon; no rule lifts that", path.display());
            return Ruling::of(Decision::Deny, Some((Layer::Floor, FLOOR.to_owned())), reason);
        }
        if let Some((layer, rule)) = self.fitting(Decide::Deny, call, &sight, machine) {
            let reason = format!("rule `{}` denies it", rule.name);
            return Ruling::of(Decision::Deny, Some((layer, rule.name.clone())), reason);
        }
        if let Some((layer, rule)) = self.fitting(Decide::Ask, call, &sight, machine) {
            let reason = format!("rule `{}` asks about it", rule.name);
            let ruling = Ruling::of(Decision::Ask, Some((layer, rule.name.clone())), reason);
            return Ruling { remember: self.may_remember(call, &sight, machine), ..ruling };
        }
        match self.allowing(call, &sight, machine) {
            Ok((layer, name)) => {
                let reason = format!("rule `{name}` allows it");
                Ruling::of(Decision::Allow, Some((layer, name)), reason)
            }
            Err(reason) => Ruling::of(Decision::Ask, None, reason),
        }
    }

    fn fitting(
        &self,
        decide: Decide,
        call: &Call<'_>,
        sight: &Sight,
        machine: &Machine<'_>,
    ) -> Option<(Layer, &Rule)> {
        let fits =
            |(_, rule): &&(Layer, Rule)| rule.decide == decide && generous::fits(rule, call, sight, machine);
        self.rules.iter().find(fits).map(|(layer, rule)| (*layer, rule))
    }

    /// Whether every rule that asks about the call lets its answer be remembered.
    fn may_remember(&self, call: &Call<'_>, sight: &Sight, machine: &Machine<'_>) -> bool {
        let forgets = |rule: &Rule| rule.decide == Decide::Ask && rule.remember == Some(false);
        !self.rules.iter().any(|(_, rule)| forgets(rule) && generous::fits(rule, call, sight, machine))
    }
}

impl Ruling {
    fn of(decision: Decision, rule: Option<(Layer, String)>, reason: String) -> Self {
        Self { decision, rule, remember: true, reason }
    }
}
