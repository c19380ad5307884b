//! Settings: the mode of Amp, which chooses its model, is the variant; the permission mode is ours.

use omniglot_schema::{AgentModeInfo, AgentModelInfo, SessionState, StatePatch};

use crate::contract::{Refusal, RefusalKind, SettingsPreview, SettingsRequest};

/// The modes that Amp's own help lists. Others may come from plugins, and its server decides.
const VARIANTS: [&str; 4] = ["low", "medium", "high", "ultra"];
const PERMISSION_MODES: [&str; 4] = ["default", "acceptEdits", "plan", "bypass"];
/// The one model: Amp chooses the real one by its mode.
const MODEL: &str = "default";

pub(crate) fn check(requested: &SettingsRequest) -> Result<(), Refusal> {
    if let Some(model) = requested.model.as_deref().filter(|model| *model != MODEL) {
        let message = format!("Amp has no model {model}: it chooses one by its mode, which is the variant");
        return Err(bad(message, &format!("model {MODEL}, variant {}", VARIANTS.join(", "))));
    }
    if let Some(mode) = requested.agent_mode.as_deref().filter(|mode| *mode != "build") {
        return Err(bad(format!("Amp has no agent mode {mode}; it has build"), "build"));
    }
    let unknown = requested.permission_mode.as_deref().filter(|mode| !PERMISSION_MODES.contains(mode));
    unknown.map_or(Ok(()), |mode| {
        let listed = PERMISSION_MODES.join(", ");
        Err(bad(format!("Amp has no permission mode {mode}; its modes are {listed}"), &listed))
    })
}

fn bad(message: String, allowed: &str) -> Refusal {
    Refusal { kind: RefusalKind::BadMode, message, hint: Some(format!("use one of: {allowed}")) }
}

/// Returns the state of a session that was opened with these settings.
pub(crate) fn offers(requested: &SettingsRequest) -> StatePatch {
    let build = AgentModeInfo {
        id: "build".to_owned(),
        name: "Build".to_owned(),
        description: "Works, and asks according to the permission mode".to_owned(),
    };
    let model = AgentModelInfo {
        id: MODEL.to_owned(),
        name: Some("Chosen by the variant".to_owned()),
        variants: Some(VARIANTS.map(str::to_owned).to_vec()),
        default_variant: Some("medium".to_owned()),
    };
    let mode = requested.permission_mode.as_deref().unwrap_or("default");
    StatePatch {
        agent_mode: Some(Some(build.id.clone())),
        permission_mode: Some(Some(mode.to_owned())),
        modes: Some(Some(vec![build].into())),
        model: Some(Some(MODEL.to_owned())),
        models: Some(Some(vec![model].into())),
        variant: requested.variant.clone().map(Some),
        ..StatePatch::default()
    }
}

/// Returns the expected result of a settings request, without asking the agent.
pub(crate) fn preview_settings(
    _: &SessionState,
    requested: &SettingsRequest,
) -> Result<SettingsPreview, Refusal> {
    check(requested)?;
    let patch = StatePatch {
        model: requested.model.clone().map(Some),
        variant: requested.variant.clone().map(Some),
        permission_mode: requested.permission_mode.clone().map(Some),
        ..StatePatch::default()
    };
    let unlisted = requested.variant.as_deref().filter(|variant| !VARIANTS.contains(variant));
    let warning = |variant| format!("Amp does not list the mode {variant}; it lists {}", VARIANTS.join(", "));
    Ok(SettingsPreview { patch, warnings: unlisted.map(warning).into_iter().collect() })
}
