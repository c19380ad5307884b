//! The agents that this daemon can start: the built-in one and those of the configuration.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use omniglot_agents::registry::{self, Program, Protocol};
use omniglot_agents::{LaunchSpec, Open, Translator, acp};
use omniglot_schema::AgentInfo;

use crate::config::Config;
use crate::error::RuntimeError;
use crate::process::Launch;

/// How one agent is started and spoken to.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    pub protocol: Protocol,
    pub launch: LaunchSpec,
}

#[derive(Debug, Clone)]
pub struct Catalog {
    entries: IndexMap<String, Entry>,
}

impl Catalog {
    /// `own_program` is this binary, which is also the built-in agent; it keeps its sessions below `data_dir`.
    pub fn new(config: &Config, own_program: &Path, data_dir: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let built_in = registry::AGENTS.iter().map(|agent| {
            let launch = match agent.program {
                Program::Own => acp::mock(text(own_program), text(&data_dir.join("mock-agent"))),
            };
            Entry { name: agent.id.to_owned(), protocol: agent.protocol, launch }
        });
        let configured = config.agents.iter().filter_map(|(name, agent)| {
            let launch = acp::custom(&agent.command, agent.env.clone())?;
            Some(Entry { name: name.clone(), protocol: agent.protocol, launch })
        });
        Self { entries: built_in.chain(configured).map(|entry| (entry.name.clone(), entry)).collect() }
    }

    pub fn get(&self, name: &str) -> Result<&Entry, RuntimeError> {
        self.entries.get(name).ok_or_else(|| RuntimeError::UnsupportedAgent {
            name: name.to_owned(),
            known: self.entries.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

impl Entry {
    pub fn translator(&self) -> Box<dyn Translator> {
        registry::translator(self.protocol)
    }

    /// What starts it for this session.
    pub(crate) fn launch_for(&self, open: &Open) -> LaunchSpec {
        registry::launch(self.protocol, &self.launch, open)
    }

    /// Where its program is, if it is installed.
    pub fn path(&self) -> Option<PathBuf> {
        Launch::new(self.launch.clone(), PathBuf::from(".")).resolve().ok()
    }

    pub fn info(&self, version: Option<String>, credentials: bool) -> AgentInfo {
        let path = self.path();
        AgentInfo {
            id: self.name.clone(),
            installed: path.is_some(),
            credentials_available: credentials,
            version,
            path: path.map(|path| path.to_string_lossy().into_owned()),
            capabilities: registry::capabilities(self.protocol),
            server_status: None,
        }
    }
}
