//! Which of an agent's options each of our replies stands for.
//!
//! Options are chosen by kind, not by place: that differs per agent and version. Their ids count only where
//! the quirks say that an option allows too much.

use agent_client_protocol_schema::v1::{
    PermissionOption as WireOption, PermissionOptionId, PermissionOptionKind,
};
use omniglot_schema::{PermissionOption, PermissionReply};

use super::super::quirks::Quirks;
use super::super::tool::CallFacts;

#[derive(Debug)]
pub(super) struct Choices {
    options: Vec<WireOption>,
    /// The option for `always`, if the agent has one that lasts and allows no more than was asked.
    lasting: Option<PermissionOptionId>,
}

impl Choices {
    /// Of several lasting options nobody can tell which one `always` means, and a mode is never chosen for good.
    pub(super) fn new(options: Vec<WireOption>, asked: &CallFacts, quirks: &Quirks) -> Self {
        let mut lasting = options.iter().filter(|option| {
            option.kind == PermissionOptionKind::AllowAlways && !quirks.allows_too_much(&option.option_id.0)
        });
        let lasting = match (lasting.next(), lasting.next()) {
            (Some(only), None) if !asked.switches_mode => Some(only.option_id.clone()),
            _ => None,
        };
        Self { options, lasting }
    }

    /// Without an option to pick, `cancelled` is the only answer, and it says no.
    pub(super) fn pick(&self, reply: PermissionReply) -> Option<&WireOption> {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        match reply {
            PermissionReply::Once => self.first(AllowOnce),
            PermissionReply::Always => {
                let lasting = self.lasting.as_ref().and_then(|id| self.by_id(id));
                lasting.or_else(|| self.first(AllowOnce)).or_else(|| self.first(AllowAlways))
            }
            PermissionReply::Reject => self.first(RejectOnce).or_else(|| self.first(RejectAlways)),
        }
    }

    pub(super) fn by_id(&self, id: &PermissionOptionId) -> Option<&WireOption> {
        self.options.iter().find(|option| option.option_id == *id)
    }

    /// The options without those that no reply of ours picks, so that nobody is promised another `always`.
    pub(super) fn shown(&self) -> Vec<PermissionOption> {
        let always = self.pick(PermissionReply::Always);
        let is_always =
            |option: &WireOption| always.is_some_and(|picked| picked.option_id == option.option_id);
        let within_reach =
            |option: &&WireOption| option.kind != PermissionOptionKind::AllowAlways || is_always(option);
        self.options.iter().filter(within_reach).map(shown).collect()
    }

    fn first(&self, kind: PermissionOptionKind) -> Option<&WireOption> {
        self.options.iter().find(|option| option.kind == kind)
    }
}

fn shown(option: &WireOption) -> PermissionOption {
    let kind = match option.kind {
        PermissionOptionKind::AllowOnce => "allow_once",
        PermissionOptionKind::AllowAlways => "allow_always",
        PermissionOptionKind::RejectOnce => "reject_once",
        PermissionOptionKind::RejectAlways => "reject_always",
        _ => "other",
    };
    PermissionOption { id: option.option_id.0.to_string(), name: option.name.clone(), kind: kind.to_owned() }
}

#[cfg(test)]
mod tests {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    use omniglot_schema::ToolKind;
    use omniglot_timeline::ItemKey;

    use super::super::super::quirks::{CODEX_ACP, GEMINI, NONE};
    use super::*;
    use crate::about::About;

    fn asked(switches_mode: bool) -> CallFacts {
        CallFacts {
            call: ItemKey("c".into()),
            title: None,
            name: "n".into(),
            pattern: None,
            switches_mode,
            detail: None,
            files: vec![],
            about: About::of(ToolKind::Other),
        }
    }

    fn options(options: &[(&str, PermissionOptionKind)]) -> Vec<WireOption> {
        options.iter().map(|(id, kind)| WireOption::new((*id).to_owned(), *id, *kind)).collect()
    }

    /// Returns the options for `once` and `always`, and the shown list.
    fn picked(choices: &Choices) -> (Option<String>, Option<String>, String) {
        let pick = |reply| choices.pick(reply).map(|option| option.option_id.to_string());
        let shown: Vec<_> = choices.shown().into_iter().map(|option| option.id).collect();
        (pick(PermissionReply::Once), pick(PermissionReply::Always), shown.join(" "))
    }

    fn words(
        once: Option<&str>,
        always: Option<&str>,
        shown: &str,
    ) -> (Option<String>, Option<String>, String) {
        (once.map(Into::into), always.map(Into::into), shown.into())
    }

    #[test]
    fn always_takes_the_option_that_allows_no_more_than_was_asked() {
        let gemini = [
            ("proceed_always_server", AllowAlways),
            ("proceed_always_tool", AllowAlways),
            ("proceed_once", AllowOnce),
            ("cancel", RejectOnce),
        ];
        let choices = Choices::new(options(&gemini), &asked(false), &GEMINI);
        let shown = "proceed_always_tool proceed_once cancel";
        assert_eq!(picked(&choices), words(Some("proceed_once"), Some("proceed_always_tool"), shown));
        let codex = [
            ("approved", AllowOnce),
            ("approved-for-session", AllowAlways),
            ("approved-always", AllowAlways),
        ];
        let choices = Choices::new(options(&codex), &asked(false), &CODEX_ACP);
        let shown = "approved approved-for-session";
        assert_eq!(picked(&choices), words(Some("approved"), Some("approved-for-session"), shown));
    }

    #[test]
    fn always_is_said_once_where_several_options_last_or_the_only_one_outlasts_the_session() {
        let several = [("a", AllowAlways), ("b", AllowAlways), ("once", AllowOnce), ("no", RejectOnce)];
        let choices = Choices::new(options(&several), &asked(false), &NONE);
        assert_eq!(picked(&choices), words(Some("once"), Some("once"), "once no"));
        let stored = [("approved", AllowOnce), ("approved-execpolicy-amendment", AllowAlways)];
        let choices = Choices::new(options(&stored), &asked(false), &CODEX_ACP);
        assert_eq!(picked(&choices), words(Some("approved"), Some("approved"), "approved"));
    }

    #[test]
    fn a_mode_is_never_chosen_for_good() {
        let plan =
            [("exit-plan-default", AllowOnce), ("exit-plan-auto", AllowAlways), ("reject", RejectOnce)];
        let choices = Choices::new(options(&plan), &asked(true), &NONE);
        let once = Some("exit-plan-default");
        assert_eq!(picked(&choices), words(once, once, "exit-plan-default reject"));
    }

    #[test]
    fn once_never_picks_what_lasts() {
        let lasting = [("a", AllowAlways), ("b", AllowAlways), ("no", RejectOnce)];
        let choices = Choices::new(options(&lasting), &asked(false), &NONE);
        assert_eq!(picked(&choices), words(None, Some("a"), "a no"));
    }
}
