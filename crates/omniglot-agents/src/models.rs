//! A requested model, held against the models that an agent lists.

use crate::contract::{Refusal, RefusalKind, SettingsRequest};
use crate::nearest::did_you_mean;

/// So many names of a list are shown.
const SHOWN: usize = 20;

/// Refuses a model that is not listed, unless the request insists: then it returns a warning. An agent that lists
/// nothing may have any.
pub(crate) fn check_model<'a>(
    requested: &SettingsRequest,
    listed: impl Iterator<Item = &'a str> + Clone,
) -> Result<Option<String>, Refusal> {
    let Some(model) = requested.model.as_deref() else { return Ok(None) };
    if listed.clone().next().is_none() || listed.clone().any(|known| known == model) {
        return Ok(None);
    }
    let shown = shown(listed.clone());
    if requested.force_model {
        return Ok(Some(format!("the agent does not list the model {model}; it lists {shown}")));
    }
    let meant = did_you_mean(model, listed);
    Err(Refusal {
        kind: RefusalKind::BadMode,
        message: format!("the agent does not list the model {model}{meant}"),
        hint: Some(format!("use one of: {shown}; `force` (`--force-model`) passes any other name")),
    })
}

fn shown<'a>(listed: impl Iterator<Item = &'a str> + Clone) -> String {
    let names = listed.clone().take(SHOWN).collect::<Vec<_>>().join(", ");
    match listed.skip(SHOWN).count() {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(model: &str, force_model: bool, listed: &[&str]) -> Result<Option<String>, Refusal> {
        let requested = SettingsRequest { model: Some(model.into()), force_model, ..Default::default() };
        check_model(&requested, listed.iter().copied())
    }

    /// B9: a wrong model is no other model.
    #[test]
    fn an_unlisted_model_is_refused_with_the_nearest_names_unless_it_is_forced() {
        let listed = ["gpt-5.5", "gpt-5.5-mini"];
        let refusal = check("gtp-5.5", false, &listed).unwrap_err();
        assert_eq!(refusal.message, "the agent does not list the model gtp-5.5; did you mean gpt-5.5?");
        assert!(refusal.hint.unwrap().contains("gpt-5.5, gpt-5.5-mini; `force`"));
        let warning = check("nosuch", true, &listed).unwrap().unwrap();
        assert_eq!(warning, "the agent does not list the model nosuch; it lists gpt-5.5, gpt-5.5-mini");
        assert_eq!(check("gpt-5.5", false, &listed), Ok(None));
        assert_eq!(check("nosuch", false, &[]), Ok(None));
    }

    #[test]
    fn a_long_list_is_not_shown_whole() {
        let names: Vec<String> = (0..300).map(|n| format!("model-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let refusal = check("nosuch", false, &names).unwrap_err();
        assert!(refusal.hint.unwrap().contains("model-19 and 280 more"));
    }
}
