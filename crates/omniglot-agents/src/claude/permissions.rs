//! `can_use_tool` as a permission: what is asked, and what `once`, `always` and `reject` say to the CLI.

use omniglot_schema::{PermissionReply, PermissionStatus};
use omniglot_timeline::{ItemKey, PermissionAsk};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::requests::Details;
use super::wire::control::{Allow, Answer, Deny, Rule, success};
use super::wire::{CanUseTool, PermissionUpdate};
use super::{Claude, diff, tool_kinds};
use crate::contract::{Draft, Output, Unparsed};
use crate::conversation::requests::options;

/// A permission that is asked for.
#[derive(Debug)]
pub(crate) struct Permission {
    tool: String,
    input: Map<String, Value>,
    suggestions: Vec<PermissionUpdate>,
    /// The native id of the call that waits.
    pub(crate) call: Option<String>,
}

impl Claude {
    pub(crate) fn ask_permission(
        &mut self,
        id: String,
        ask: CanUseTool,
        call: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        let name = ask.display_name.unwrap_or_else(|| ask.tool_name.clone());
        let permission = Permission {
            tool: ask.tool_name,
            input: ask.input,
            suggestions: ask.permission_suggestions.unwrap_or_default(),
            call: ask.tool_use_id,
        };
        let input = serde_json::to_string(&permission.input).unwrap_or_default();
        let about = tool_kinds::about(&permission.tool, &input);
        let asked = PermissionAsk {
            key: crate::contract::RequestKey(String::new()),
            native_id: Some(id.clone().into()),
            action: permission.action(&name),
            call,
            tool: Some(permission.tool.clone()),
            pattern: Some(permission.pattern()),
            options: options([
                ("once", "Allow once"),
                ("always", &permission.always()),
                ("reject", "Reject"),
            ]),
            files: diff::asked(&permission.tool, &permission.input),
            detail: None,
            kind: Some(about.kind),
            subject: about.subject.boxed(),
        };
        let key = self.requests.add(id, Details::Permission(permission));
        out.push(Draft::PermissionRequested(PermissionAsk { key, ..asked }).into());
    }
}

impl Permission {
    /// Returns the requested action in words.
    fn action(&self, name: &str) -> String {
        match self.argument(&["command", "file_path", "notebook_path", "url", "path", "query"]) {
            Some(subject) => format!("{name}: {subject}"),
            None => name.to_owned(),
        }
    }

    /// Returns the pattern of an `always`: the CLI's own rule where it suggests one, else the command or the file.
    fn pattern(&self) -> String {
        let rules = self.suggestions.iter().flat_map(|update| update.rules.iter().flatten());
        let suggested: Vec<&str> = rules.map(|rule| rule.rule_content.as_deref().unwrap_or("*")).collect();
        if !suggested.is_empty() {
            return suggested.join(", ");
        }
        self.argument(&["command", "file_path", "notebook_path"]).unwrap_or("*").to_owned()
    }

    /// Returns the first of these arguments that the call has. A tool that we do not know may have them, too.
    fn argument(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.input.get(*name)?.as_str())
    }

    fn always(&self) -> String {
        let mode = self.suggestions.iter().find_map(|update| update.more.get("mode")?.as_str());
        match mode {
            Some("acceptEdits") => "Allow all edits in this session".to_owned(),
            Some(mode) => format!("Switch to {mode} for this session"),
            None => format!("Allow {} ({}) in this session", self.tool, self.pattern()),
        }
    }

    pub(crate) fn answer(
        &self,
        id: &str,
        reply: PermissionReply,
        message: Option<&str>,
    ) -> Result<Box<RawValue>, Unparsed> {
        let updated_permissions = match reply {
            PermissionReply::Once => vec![],
            PermissionReply::Always => self.for_session(),
            PermissionReply::Reject => {
                let message = message.filter(|words| !words.is_empty()).unwrap_or(REJECTED);
                return success(id, Deny { behavior: "deny", message, interrupt: false });
            }
        };
        success(id, Allow { behavior: "allow", updated_input: &self.input, updated_permissions })
    }

    /// The suggestions, kept within the session; without any, a rule of our own.
    fn for_session(&self) -> Vec<PermissionUpdate> {
        let session = || Some("session".to_owned());
        if self.suggestions.is_empty() {
            let rule_content = self.argument(&["command"]).map(str::to_owned);
            return vec![PermissionUpdate {
                r#type: "addRules".to_owned(),
                rules: Some(vec![Rule { tool_name: self.tool.clone(), rule_content }]),
                behavior: Some("allow".to_owned()),
                destination: session(),
                more: Map::new(),
            }];
        }
        let here = |update: &PermissionUpdate| PermissionUpdate { destination: session(), ..update.clone() };
        self.suggestions.iter().map(here).collect()
    }

    /// Returns the status of an answer; one that the CLI does not accept refuses the tool.
    pub(crate) fn status(&self, answer: Option<&RawValue>) -> (PermissionStatus, Option<String>) {
        let answer = answer.and_then(|raw| serde_json::from_str::<Answer>(raw.get()).ok());
        match answer {
            Some(Answer { behavior, updated_input: Some(_), updated_permissions, .. })
                if behavior == "allow" =>
            {
                let lasting = !updated_permissions.is_empty();
                let status =
                    if lasting { PermissionStatus::AcceptForSession } else { PermissionStatus::Accept };
                (status, None)
            }
            Some(answer) => (PermissionStatus::Reject, answer.message),
            None => (PermissionStatus::Reject, None),
        }
    }
}

/// Refuses the tool and ends the turn.
pub(crate) fn interrupt(id: &str) -> Result<Box<RawValue>, Unparsed> {
    success(id, Deny { behavior: "deny", message: REJECTED, interrupt: true })
}

/// The reason that the model gets when the person gives none.
const REJECTED: &str = "The user rejected this.";
