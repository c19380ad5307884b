//! The plan of the agent that plans: written to a file with its own tools, approved by a question (T12).
//!
//! OpenCode has this only where its variable `OPENCODE_EXPERIMENTAL_PLAN_MODE` is set.

use omniglot_schema::{Plan, QuestionInfo, StatePatch};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::OpenCode;
use super::translate::state;
use crate::contract::Output;

/// The tool that hands in the plan, and asks about it.
pub(crate) const HANDS_IN: &str = "plan_exit";

/// The known content of a plan file.
#[derive(Debug)]
pub(crate) struct PlanFile {
    path: String,
    text: String,
}

/// The arguments of the tools that change a file.
#[derive(Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Change {
    Write { file_path: String, content: String },
    Edit { file_path: String, old_string: String, new_string: String },
}

impl OpenCode {
    /// A tool has changed a file with these arguments, which may be that of the plan.
    pub(crate) fn note_plan(&mut self, arguments: &RawValue) {
        match serde_json::from_str(arguments.get()) {
            Ok(Change::Write { file_path: path, content: text }) if is_plan(&path) => {
                self.plan = Some(PlanFile { path, text });
            }
            Ok(Change::Edit { file_path, old_string, new_string }) => {
                if let Some(plan) = self.plan.as_mut().filter(|plan| plan.path == file_path) {
                    plan.text = plan.text.replacen(&old_string, &new_string, 1);
                }
            }
            Ok(Change::Write { .. }) | Err(_) => {}
        }
    }

    /// Shows the plan to the person who is asked to approve it.
    pub(crate) fn show_plan(&mut self, questions: &mut [QuestionInfo], out: &mut Vec<Output>) {
        let (Some(plan), Some(question)) = (&self.plan, questions.first_mut()) else { return };
        question.detail = Some(plan.text.clone());
        let plan = Plan { text: plan.text.clone() };
        state(StatePatch { plan: Some(Some(plan)), ..StatePatch::default() }, out);
    }
}

/// In the project, or in OpenCode's own directory.
fn is_plan(path: &str) -> bool {
    path.contains("opencode/plans/") && path.ends_with(".md")
}
