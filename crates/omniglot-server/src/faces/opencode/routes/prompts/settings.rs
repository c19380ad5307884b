//! Changes a session to the settings of the next prompt: model, effort and mode are part of every prompt.

use omniglot_schema::{AgentModeInfo, Listed, SessionDetail, SessionPatch};

use crate::faces::opencode::project::{DEFAULT_MODE, DEFAULT_MODEL};
use crate::faces::opencode::routes::bodies::ModelChoice;
use crate::faces::opencode::routes::refusal::Refusal;

/// The settings of a prompt beside its text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) model: Option<ModelChoice>,
    pub(crate) variant: Option<String>,
    /// OpenCode's agent, which is our mode.
    pub(crate) mode: Option<String>,
}

/// Returns the change that is needed first; `None` when nothing must change.
pub(crate) fn patch(session: &SessionDetail, wanted: Wanted) -> Result<Option<SessionPatch>, Refusal> {
    let info = &session.info;
    if let Some(model) = &wanted.model
        && model.provider_id != info.agent
    {
        return Err(Refusal::invalid(format!(
            "this session is driven by {}; start a new session to use {}",
            info.agent, model.provider_id
        )));
    }
    let variant = wanted.variant.or_else(|| wanted.model.as_ref().and_then(|model| model.variant.clone()));
    let model = wanted.model.map(|model| model.model_id).filter(|model| model != DEFAULT_MODEL);
    let mode = wanted.mode.and_then(|mode| mode_for(session, mode));
    let patch = SessionPatch {
        model: model.filter(|model| Some(model) != info.model.as_ref()),
        variant: variant.filter(|variant| Some(variant) != info.variant.as_ref()),
        agent_mode: mode.filter(|mode| *mode != info.agent_mode),
        ..SessionPatch::default()
    };
    Ok((patch != SessionPatch::default()).then_some(patch))
}

/// The neutral mode is the agent's own default, so it changes nothing but a plan that was begun; every other
/// mode is the agent's own name for it.
fn mode_for(session: &SessionDetail, wanted: String) -> Option<String> {
    let modes = session.state.modes.as_ref().and_then(Listed::inline).unwrap_or_default();
    let named = |name: &str| modes.iter().find(|mode: &&AgentModeInfo| mode.id == name);
    if wanted != DEFAULT_MODE || named(DEFAULT_MODE).is_some() {
        return Some(wanted);
    }
    let plans = session.info.agent_mode == PLAN;
    let own = named("default").or(modes.iter().find(|mode| mode.id != PLAN));
    own.map(|mode| mode.id.clone()).filter(|_| plans)
}

const PLAN: &str = "plan";

#[cfg(test)]
mod tests {
    use super::*;

    fn session(agent_mode: &str, modes: &[&str]) -> SessionDetail {
        let mode = |id: &&str| serde_json::json!({ "id": id, "name": id, "description": "" });
        let modes: Vec<_> = modes.iter().map(mode).collect();
        let text = serde_json::json!({
            "sessionId": "s", "agent": "gemini", "agentMode": agent_mode, "permissionMode": "default",
            "model": "m", "variant": null, "nativeSessionId": null, "ended": false, "eventCount": 1,
            "createdAt": 0, "updatedAt": 0, "directory": "/", "title": null, "status": "idle",
            "state": { "modes": modes }, "pending": [], "stats": {},
        });
        serde_json::from_value(text).unwrap()
    }

    fn model(provider: &str, model: &str) -> Option<ModelChoice> {
        Some(ModelChoice { provider_id: provider.into(), model_id: model.into(), variant: None })
    }

    #[track_caller]
    fn mode(now: &str, modes: &[&str], wanted: &str) -> Option<String> {
        let wanted = Wanted { mode: Some(wanted.into()), ..Wanted::default() };
        patch(&session(now, modes), wanted).unwrap().and_then(|patch| patch.agent_mode)
    }

    #[test]
    fn what_is_wanted_already_changes_nothing() {
        let wanted = Wanted { model: model("gemini", "m"), mode: Some("build".into()), variant: None };
        assert_eq!(patch(&session("default", &["default", "plan"]), wanted).unwrap(), None);
        let wanted = Wanted { model: model("gemini", DEFAULT_MODEL), ..Wanted::default() };
        assert_eq!(patch(&session("default", &[]), wanted).unwrap(), None);
    }

    /// B3: an agent's own model `default` was taken for the model of an agent that lists none.
    #[test]
    fn a_model_named_default_is_one_that_can_be_chosen() {
        let wanted = Wanted { model: model("gemini", "default"), ..Wanted::default() };
        let patched = patch(&session("default", &[]), wanted).unwrap().unwrap();
        assert_eq!(patched.model.as_deref(), Some("default"));
    }

    #[test]
    fn another_model_is_a_change_and_another_agent_is_refused() {
        let wanted = Wanted { model: model("gemini", "n"), ..Wanted::default() };
        let patched = patch(&session("default", &[]), wanted).unwrap().unwrap();
        assert_eq!(patched.model.as_deref(), Some("n"));
        let wanted = Wanted { model: model("claude", "m"), ..Wanted::default() };
        assert!(patch(&session("default", &[]), wanted).is_err());
    }

    #[test]
    fn the_neutral_mode_ends_a_plan_and_leaves_every_other_mode_alone() {
        assert_eq!(mode("plan", &["ask", "default", "plan"], "build").as_deref(), Some("default"));
        assert_eq!(mode("plan", &["build", "plan"], "build").as_deref(), Some("build"));
        assert_eq!(mode("code", &["ask", "code"], "build"), None);
        assert_eq!(mode("code", &["ask", "code"], "ask").as_deref(), Some("ask"));
    }
}
