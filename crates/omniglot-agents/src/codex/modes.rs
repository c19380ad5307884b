//! Maps our permission and agent modes to Codex's approval policy, sandbox and collaboration mode.
//!
//! Codex has no list of permission modes; its own words for policies and sandboxes are taken as well.

use omniglot_schema::AgentModeInfo;
use serde_json::{Map, Value};

use super::wire::SandboxPolicy;
use crate::contract::{Refusal, RefusalKind};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PermissionMode {
    pub(crate) name: &'static str,
    pub(crate) approval: &'static str,
    /// Without one, what the user has configured.
    pub(crate) sandbox: Option<Sandbox>,
    /// Patches that Codex asks about are accepted by us.
    pub(crate) takes_patches: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    FullAccess,
}

impl Sandbox {
    /// As `thread/start` spells it.
    pub(crate) fn mode(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "danger-full-access",
        }
    }

    /// As settings and answers spell it.
    fn policy_type(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::WorkspaceWrite => "workspaceWrite",
            Self::FullAccess => "dangerFullAccess",
        }
    }

    pub(crate) fn policy(self) -> SandboxPolicy {
        SandboxPolicy { r#type: self.policy_type().to_owned(), rest: Map::new() }
    }
}

const fn mode(
    name: &'static str,
    approval: &'static str,
    sandbox: Option<Sandbox>,
    takes_patches: bool,
) -> PermissionMode {
    PermissionMode { name, approval, sandbox, takes_patches }
}

const MODES: &[PermissionMode] = &[
    mode("default", "on-request", None, false),
    mode("acceptEdits", "on-request", Some(Sandbox::WorkspaceWrite), true),
    mode("plan", "untrusted", Some(Sandbox::ReadOnly), false),
    mode("bypass", "never", Some(Sandbox::FullAccess), false),
    mode("untrusted", "untrusted", None, false),
    mode("on-request", "on-request", None, false),
    mode("never", "never", None, false),
    mode("read-only", "on-request", Some(Sandbox::ReadOnly), false),
    mode("workspace-write", "on-request", Some(Sandbox::WorkspaceWrite), false),
    mode("danger-full-access", "on-request", Some(Sandbox::FullAccess), false),
];

impl PermissionMode {
    pub(crate) fn named(name: &str) -> Result<&'static Self, Refusal> {
        let known = MODES.iter().find(|mode| mode.name == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = MODES.iter().map(|mode| mode.name).collect();
            bad(format!("Codex has no permission mode {name}"), &names.join(", "))
        })
    }

    /// The mode that a thread is in, by what Codex says of it; finer rules have no name.
    pub(crate) fn of(approval: &Value, sandbox: Option<&SandboxPolicy>) -> Option<&'static Self> {
        let approval = approval.as_str()?;
        let exact = |mode: &&Self| {
            mode.sandbox.is_some_and(|known| Some(known.policy_type()) == sandbox.map(|s| s.r#type.as_str()))
        };
        match approval {
            "on-request" => Self::named("default").ok(),
            approval => {
                let told: Vec<&'static Self> =
                    MODES.iter().filter(|mode| mode.approval == approval).collect();
                let named = || told.iter().find(|mode| mode.name == approval);
                told.iter().find(|mode| exact(mode)).or_else(named).copied()
            }
        }
    }

    /// Whether what Codex says of a thread is what this mode asks for.
    pub(crate) fn fits(&self, approval: &Value, sandbox: &SandboxPolicy) -> bool {
        approval == self.approval && self.sandbox.is_none_or(|known| known.policy_type() == sandbox.r#type)
    }
}

/// How a thread works: at once, or on a plan first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Collaboration {
    #[default]
    Build,
    Plan,
}

impl Collaboration {
    pub(crate) fn named(name: &str) -> Result<Self, Refusal> {
        match name {
            "build" | "default" => Ok(Self::Build),
            "plan" => Ok(Self::Plan),
            _ => Err(bad(format!("Codex has no mode {name}"), "build, plan")),
        }
    }

    /// As Codex spells it; its other modes all build.
    pub(crate) fn of(native: &str) -> Self {
        if native == "plan" { Self::Plan } else { Self::Build }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Plan => "plan",
        }
    }

    pub(crate) fn native(self) -> &'static str {
        match self {
            Self::Build => "default",
            Self::Plan => "plan",
        }
    }

    pub(crate) fn list() -> Vec<AgentModeInfo> {
        let info = |id: &str, name: &str, description: &str| AgentModeInfo {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
        };
        vec![
            info("build", "Build", "Works on the task at once"),
            info("plan", "Plan", "Asks and proposes a plan before it changes anything"),
        ]
    }
}

pub(crate) fn bad(message: String, allowed: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::BadMode,
        message: format!("{message}; it has {allowed}"),
        hint: Some(format!("use one of: {allowed}")),
    }
}
