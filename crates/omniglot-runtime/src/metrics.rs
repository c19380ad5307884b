//! Counts what happens with each agent, on the path of its events and without locks.
//!
//! The agents are those of the catalog, which never changes while a daemon runs; so the names are as few as they are.

use std::collections::BTreeMap;

use omniglot_agents::StreamOutput;
use omniglot_schema::{EventData, StopReason, UniversalEvent};
use omniglot_store::Counter;
use omniglot_timeline::DropReason;

/// The counters of all agents.
#[derive(Debug, Default)]
pub struct Metrics {
    agents: BTreeMap<String, AgentMetrics>,
    /// For sessions whose agent is not configured any more.
    others: AgentMetrics,
}

/// The counters of one agent.
#[derive(Debug, Default)]
pub struct AgentMetrics {
    turns: [Counter; STOPS.len()],
    drops: [Counter; DROPS.len()],
    unparsed: Counter,
    first_starts: Counter,
    restarts: Counter,
}

const STOPS: [(StopReason, &str); 7] = [
    (StopReason::EndTurn, "end_turn"),
    (StopReason::MaxTokens, "max_tokens"),
    (StopReason::MaxTurns, "max_turns"),
    (StopReason::MaxBudget, "max_budget"),
    (StopReason::Refusal, "refusal"),
    (StopReason::Cancelled, "cancelled"),
    (StopReason::Error, "error"),
];

const DROPS: [DropReason; 7] = [
    DropReason::Heartbeat,
    DropReason::Echo,
    DropReason::Duplicate,
    DropReason::Internal,
    DropReason::Extension,
    DropReason::Superseded,
    DropReason::Replay,
];

/// Whether a process continues what an earlier one has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    First,
    Again,
}

impl Metrics {
    pub(crate) fn new(agents: impl Iterator<Item = String>) -> Self {
        let agents = agents.map(|agent| (agent, AgentMetrics::default())).collect();
        Self { agents, others: AgentMetrics::default() }
    }

    pub(crate) fn of(&self, agent: &str) -> &AgentMetrics {
        self.agents.get(agent).unwrap_or(&self.others)
    }

    /// Returns all agents by name; those that are not configured any more together as `other`.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &AgentMetrics)> {
        let known = self.agents.iter().map(|(name, agent)| (name.as_str(), agent));
        known.chain([("other", &self.others)])
    }
}

impl AgentMetrics {
    /// Returns the turns that have ended, by stop reason.
    pub fn turns(&self) -> impl Iterator<Item = (&'static str, u64)> {
        STOPS.iter().zip(&self.turns).map(|((_, name), count)| (*name, count.get()))
    }

    /// Returns the native messages that carried nothing for the stream, by reason.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DROPS.iter().zip(&self.drops).map(|(reason, count)| (reason.as_str(), count.get()))
    }

    /// Returns how many native messages were not understood.
    pub fn unparsed(&self) -> u64 {
        self.unparsed.get()
    }

    /// Returns the processes that were started, by whether they are the first of their session or server.
    pub fn starts(&self) -> [(&'static str, u64); 2] {
        [("first", self.first_starts.get()), ("again", self.restarts.get())]
    }

    pub(crate) fn started(&self, start: Start) {
        match start {
            Start::First => self.first_starts.add(1),
            Start::Again => self.restarts.add(1),
        }
    }

    pub(crate) fn dropped(&self, reason: DropReason, times: u64) {
        if let Some((_, count)) = DROPS.iter().zip(&self.drops).find(|(known, _)| **known == reason) {
            count.add(times);
        }
    }

    pub(crate) fn heard<'a>(&self, outputs: impl Iterator<Item = &'a StreamOutput>) {
        for output in outputs {
            if let StreamOutput::Dropped(reason) = output {
                self.dropped(*reason, 1);
            }
        }
    }

    pub(crate) fn emitted(&self, event: &UniversalEvent) {
        match &event.data {
            EventData::TurnEnded(end) => {
                let stops = STOPS.iter().zip(&self.turns);
                let same = stops.filter(|((reason, _), _)| *reason == end.metadata.stop_reason);
                same.for_each(|(_, count)| count.add(1));
            }
            EventData::AgentUnparsed(_) => self.unparsed.add(1),
            _ => {}
        }
    }
}
