//! The current state of a session, and the merge patch that changes it.
//!
//! Both are made from one list of fields, so that a key of the state can always be patched.
//! `status` is computed from turns and requests and never carried.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::agent::{AgentModeInfo, AgentModelInfo};
use crate::ids::{MessageId, TurnId};
use crate::listed::Listed;
use crate::message::MessageAttachment;
use crate::usage::Usage;

macro_rules! state {
    ($($(#[$doc:meta])* $key:ident: $value:ty,)*) => {
        /// The folded state of a session.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        pub struct SessionState {
            $($(#[$doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<$value>,)*
        }

        /// A JSON merge patch of [`SessionState`]: changed keys only, null removes.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        pub struct StatePatch {
            $($(#[$doc])*
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
            #[schema(value_type = Option<$value>)]
            pub $key: Option<Option<$value>>,)*
        }

        impl SessionState {
            /// Applies `patch` and returns what it really changed.
            pub fn apply(&mut self, patch: StatePatch) -> StatePatch {
                let mut changed = StatePatch::default();
                $(if let Some(value) = patch.$key && self.$key != value {
                    self.$key.clone_from(&value);
                    changed.$key = Some(value);
                })*
                changed
            }
        }

        impl StatePatch {
            pub fn is_empty(&self) -> bool {
                $(self.$key.is_none())&&*
            }
        }
    };
}

state! {
    /// The title of the session: a person's, else the agent's.
    title: String,
    /// The model that really runs.
    model: String,
    /// The reasoning effort of the model.
    variant: String,
    /// The mode of the agent, such as `plan`.
    agent_mode: String,
    /// The rule by which permissions are asked for.
    permission_mode: String,
    /// The agent's activity beside the turn.
    activity: Activity,
    /// Absent while no process runs.
    connection: Connection,
    /// The agent's list of tasks.
    todos: Listed<Todo>,
    /// The plan of the agent.
    plan: Plan,
    /// The slash commands that the agent takes.
    commands: Listed<CommandInfo>,
    /// The modes that the agent can be switched to.
    modes: Listed<AgentModeInfo>,
    /// The models that the agent can be switched to.
    models: Listed<AgentModelInfo>,
    /// Whether the agent is logged in.
    auth: AuthState,
    /// How full the model's context is.
    context: ContextFill,
    /// The tokens of all turns of the session, subagents included, as far as they were told.
    usage: Usage,
    /// The cost of the session in US dollars.
    cost_usd: f64,
    /// Messages that wait for the end of the running turn.
    queue: Listed<QueuedMessage>,
    /// The turn from which on the conversation was taken back, and its changes of files with it. Clients hide what was
    /// said from there on, until it is restored or another turn begins.
    reverted_from: TurnId,
    /// The changes of the session in files, where the agent counts them.
    changes: FileChanges,
    /// The subagents that run, as the agent tells them.
    subagents: Listed<serde_json::Value>,
    /// Absent while there is no team.
    team: Team,
}

/// Distinguishes a key with the value null (remove) from an absent key (keep).
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(d).map(Some)
}

/// Whether a session works, waits for a person, or is idle. Computed, never carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    #[default]
    Idle,
    Running,
    Waiting,
}

/// The agent's activity beside the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    Compacting,
    Retrying,
}

/// Whether the agent's process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    Connected,
    Stale,
    Lost,
}

/// One entry of the agent's list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Todo {
    /// The task in words.
    pub text: String,
    /// How far the task is.
    pub status: TodoStatus,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// The plan of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The plan, as Markdown where the agent writes it so.
    pub text: String,
}

/// One slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommandInfo {
    /// The name, without the slash.
    pub name: String,
    /// The effect of the command, in a sentence.
    pub description: String,
    /// The arguments to type after the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Whether the agent is logged in, and how to log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuthState {
    /// Whether a login is needed.
    pub state: AuthStatus,
    /// The ways to log in.
    pub methods: Vec<AuthMethodInfo>,
}

/// Whether a login is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthStatus {
    Unknown,
    Required,
    Ready,
}

/// One way to log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuthMethodInfo {
    /// The agent's own name of the method.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The method in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How full the model's context is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContextFill {
    /// The tokens that are in use.
    pub used: u64,
    /// The tokens that fit.
    pub window: u64,
}

/// How many files a session has changed, and by how many lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChanges {
    /// The number of changed files.
    pub files: u64,
    /// The number of added lines.
    pub additions: u64,
    /// The number of removed lines.
    pub deletions: u64,
}

/// The agents with names that work together in a session, and their tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Team {
    /// The agents of the team.
    pub members: Vec<TeamMember>,
    /// The tasks of the team.
    pub tasks: Vec<TeamTask>,
}

impl Team {
    /// The team while its agent's process does not run: nobody works.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        let working = self.members.iter_mut().filter(|member| member.status == MemberStatus::Working);
        working.for_each(|member| member.status = MemberStatus::Idle);
        self
    }
}

/// One agent of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamMember {
    /// The agent's own id of it.
    pub id: String,
    /// The name of the member.
    pub name: String,
    /// Whether the member works.
    pub status: MemberStatus,
    /// The item of the call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_item: Option<String>,
}

/// Whether a member of a team works. One that is idle or has failed may be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    Working,
    Idle,
    Failed,
}

/// One task of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamTask {
    /// The agent's own id of the task.
    pub id: String,
    /// The task in words.
    pub text: String,
    /// How far the task is.
    pub status: TodoStatus,
    /// The name of the member that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// One message that waits for the end of the running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedMessage {
    /// The id of the message: the answer to its POST had it.
    pub message_id: MessageId,
    /// The text of the message.
    pub message: String,
    /// The files and images of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<MessageAttachment>,
    /// The posting client's own ids for the message and its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_ids: Vec<String>,
    /// The name of the token with which the message was posted; absent for the daemon's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_keeps_null_apart_from_absent() {
        let patch: StatePatch = serde_json::from_str(r#"{"title":null,"model":"m"}"#).unwrap();
        assert_eq!(patch.title, Some(None));
        assert_eq!(patch.model, Some(Some("m".into())));
        assert_eq!(serde_json::to_string(&patch).unwrap(), r#"{"title":null,"model":"m"}"#);
    }

    #[test]
    fn apply_returns_only_what_changed() {
        let mut state = SessionState { model: Some("m".into()), ..Default::default() };
        let patch =
            StatePatch { model: Some(Some("m".into())), title: Some(Some("t".into())), ..Default::default() };
        let changed = state.apply(patch);
        assert_eq!(serde_json::to_string(&changed).unwrap(), r#"{"title":"t"}"#);
        assert!(state.apply(changed).is_empty());
    }
}
