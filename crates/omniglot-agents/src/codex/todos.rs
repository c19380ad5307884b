//! Plans: the steps that Codex keeps a list of. The plan of the plan mode is a message (`items`).

use omniglot_schema::{StatePatch, Todo, TodoStatus};

use super::Codex;
use super::tool::unnamed;
use super::wire::{PlanStep, TurnPlan};
use crate::contract::Output;
use crate::fault::unparsed;

impl Codex {
    /// The tool that changes the list has no item; why it was changed stands in its call alone.
    pub(crate) fn plan_updated(&mut self, plan: TurnPlan, out: &mut Vec<Output>) {
        self.without_item(&plan.thread_id, None, unnamed::plan_update(&plan), out);
        if !self.is_child(&plan.thread_id) {
            self.todos(plan.plan, out);
        }
    }

    fn todos(&mut self, steps: Vec<PlanStep>, out: &mut Vec<Output>) {
        let mut todos = Vec::with_capacity(steps.len());
        for PlanStep { step, status } in steps {
            let status = match status.as_str() {
                "pending" => TodoStatus::Pending,
                "inProgress" => TodoStatus::InProgress,
                "completed" => TodoStatus::Completed,
                unknown => {
                    let fault = unparsed("turn/plan/updated", format!("unknown status {unknown}"));
                    out.push(Output::unparsed(fault));
                    continue;
                }
            };
            todos.push(Todo { text: step, status });
        }
        self.state(StatePatch { todos: Some(Some(todos.into())), ..StatePatch::default() }, out);
    }
}
