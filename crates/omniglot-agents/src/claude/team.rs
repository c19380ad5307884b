//! The team of a session: agents that were given a name, and the tasks that have an owner.
//!
//! A member is known from the call that began it and from the CLI's lines about its task. It can be continued by
//! `SendMessage` after it has ended, so that it stays a member; the message counts when its result says that it was
//! delivered.

use indexmap::IndexMap;
use omniglot_schema::{MemberStatus, StatePatch, Team, TeamMember};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Claude;
use super::todos::typed;
use crate::contract::{Carryover, Output};

/// The members of the team, by the CLI's ids of them.
#[derive(Debug, Default)]
pub(crate) struct Members(IndexMap<String, TeamMember>);

/// The input of `Agent`.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// The input of `SendMessage`.
#[derive(Deserialize)]
struct Addressed {
    to: String,
}

#[derive(Deserialize)]
struct Delivered {
    success: bool,
}

impl Members {
    /// The members that an earlier process of the session has left.
    pub(crate) fn left(carryover: &Carryover) -> Self {
        let members = carryover.team.iter().flat_map(|team| &team.members);
        Self(members.map(|member| (member.id.clone(), member.clone())).collect())
    }

    /// Returns whether the status of a member has changed.
    fn set(&mut self, is_it: impl Fn(&TeamMember) -> bool, status: MemberStatus) -> bool {
        let member = self.0.values_mut().find(|member| is_it(member) && member.status != status);
        member.map(|member| member.status = status).is_some()
    }
}

impl Claude {
    /// An agent has begun to work, for the first time or again.
    pub(crate) fn member_works(&mut self, task: &str, call: Option<&str>, out: &mut Vec<Output>) {
        let is_known = self.members.0.contains_key(task);
        let named: Option<Named> = call.and_then(|call| typed(self.tools.input_of(call)));
        if let Some(Named { name }) = named.filter(|_| !is_known) {
            let parent = call.and_then(|call| self.tools.call_of(call));
            let (id, parent_item) = (task.to_owned(), parent.map(|key| key.0));
            let member = TeamMember { id, name, status: MemberStatus::Working, parent_item };
            self.members.0.insert(task.to_owned(), member);
            self.show_team(out);
        } else if self.members.set(|member| member.id == task, MemberStatus::Working) {
            self.show_team(out);
        }
    }

    /// The work of an agent has ended; the CLI's word for how is `status`.
    pub(crate) fn member_rests(&mut self, task: &str, status: Option<&str>, out: &mut Vec<Output>) {
        let status = match status {
            Some("failed" | "killed" | "stopped") => MemberStatus::Failed,
            _ => MemberStatus::Idle,
        };
        // The end is told twice, and the first line counts.
        let works = |member: &TeamMember| member.id == task && member.status == MemberStatus::Working;
        if self.members.set(works, status) {
            self.show_team(out);
        }
    }

    /// Takes into account that a call of these has succeeded.
    pub(crate) fn team_learns(
        &mut self,
        tool: &str,
        input: Option<&RawValue>,
        result: Option<&RawValue>,
        out: &mut Vec<Output>,
    ) {
        let delivered: Option<Delivered> = typed(result).filter(|_| tool == "SendMessage");
        let addressed: Option<Addressed> =
            typed(input).filter(|_| delivered.is_some_and(|done| done.success));
        let continued = addressed.is_some_and(|Addressed { to }| {
            self.members.set(|member| member.id == to || member.name == to, MemberStatus::Working)
        });
        if continued || tool.starts_with("Task") {
            self.show_team(out);
        }
    }

    /// Tells the team, once there is one.
    fn show_team(&mut self, out: &mut Vec<Output>) {
        let tasks = self.todos.of_team();
        let is_team = !self.members.0.is_empty() || tasks.iter().any(|task| task.owner.is_some());
        let team = is_team.then(|| Team { members: self.members.0.values().cloned().collect(), tasks });
        if team != self.team {
            self.team.clone_from(&team);
            self.state(StatePatch { team: Some(team), ..StatePatch::default() }, out);
        }
    }
}
