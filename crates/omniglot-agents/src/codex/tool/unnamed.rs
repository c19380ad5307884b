//! Calls that Codex has no item for: they are known by what they do, or by the request that they make.

use serde::Serialize;
use serde_json::Value;

use super::shape::{Call, Done, call, named};
use crate::codex::tool_kinds;
use crate::codex::wire::{PermissionsApproval, PlanStep, TurnPlan, UserQuestion};

/// Input for a command that runs.
pub(crate) fn typed(stdin: &str) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        stdin: &'a str,
    }
    let call = named("write_stdin", &Arguments { stdin });
    (call, Done::whole(String::new()))
}

pub(crate) fn plan_update(plan: &TurnPlan) -> (Call, Done) {
    #[derive(Serialize)]
    struct Arguments<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        explanation: Option<&'a str>,
        plan: &'a [PlanStep],
    }
    let arguments = Arguments { explanation: plan.explanation.as_deref(), plan: &plan.plan };
    (call("update_plan", &arguments, tool_kinds::plan_update(plan)), Done::whole(String::new()))
}

pub(crate) fn questions(questions: &[UserQuestion]) -> Call {
    #[derive(Serialize)]
    struct Arguments<'a> {
        questions: &'a [UserQuestion],
    }
    Call { runs: false, ..named("request_user_input", &Arguments { questions }) }
}

pub(crate) fn permissions(ask: &PermissionsApproval) -> Call {
    #[derive(Serialize)]
    struct Arguments<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        permissions: &'a Value,
    }
    let arguments = Arguments { reason: ask.reason.as_deref(), permissions: &ask.permissions };
    Call { runs: false, ..call("request_permissions", &arguments, tool_kinds::permissions(ask)) }
}
