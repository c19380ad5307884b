//! The agents that exist without configuration: one line for each.
//!
//! The runtime, the command line and the contract suite (`tests/contract.rs`) read it. Whether a program is
//! installed is left to the runtime.

use crate::acp::quirks::{claude_acp, codex_acp, copilot, gemini, qwen};
use crate::acp::{self, unverified};
use crate::adapter::Adapter;
use crate::{amp, claude, codex, opencode, pi};

const ADAPTERS: &[Adapter] = &[
    acp::MOCK,
    claude::ADAPTER,
    codex::ADAPTER,
    opencode::ADAPTER,
    pi::ADAPTER,
    amp::ADAPTER,
    gemini::ADAPTER,
    qwen::ADAPTER,
    copilot::ADAPTER,
    claude_acp::ADAPTER,
    codex_acp::ADAPTER,
    unverified::GOOSE,
    unverified::CURSOR,
    unverified::CLINE,
    unverified::KIMI,
];

/// A list of agents; a test may add its own.
#[derive(Debug, Clone)]
pub struct Registry {
    adapters: Vec<Adapter>,
}

impl Default for Registry {
    fn default() -> Self {
        Self { adapters: ADAPTERS.to_vec() }
    }
}

impl Registry {
    #[must_use]
    pub fn with(mut self, adapter: Adapter) -> Self {
        self.adapters.push(adapter);
        self
    }

    /// The agent of this name.
    pub fn get(&self, id: &str) -> Option<&Adapter> {
        self.adapters.iter().find(|adapter| adapter.id == id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Adapter> {
        self.adapters.iter()
    }

    pub fn ids(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        self.iter().map(|adapter| adapter.id)
    }

    /// The adapter for an agent of which nothing but its protocol is known.
    pub fn of_protocol(&self, protocol: &str) -> Option<&Adapter> {
        match protocol {
            acp::PROTOCOL => Some(&acp::PLAIN),
            native => self.get(native).filter(|adapter| adapter.protocol == native),
        }
    }

    /// The protocols that a configuration may name.
    pub fn protocols(&self) -> Vec<&'static str> {
        let mut protocols: Vec<_> = self.iter().map(|adapter| adapter.protocol).collect();
        protocols.sort_unstable();
        protocols.dedup();
        protocols
    }

    /// The agent whose quirks a configuration may give to another ACP agent.
    pub fn quirks(&self, name: &str) -> Option<&Adapter> {
        self.get(name).filter(|_| self.quirk_names().any(|known| known == name))
    }

    /// The names of all sets of quirks.
    pub fn quirk_names(&self) -> impl Iterator<Item = &'static str> {
        acp::quirks::ALL.iter().map(|quirks| quirks.name)
    }
}
