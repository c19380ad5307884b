//! The fold: what a session is now, computed from its events alone.
//!
//! The Timeline applies its own events to a fold as it makes them, and the store keeps the result, so
//! that nobody ever folds a whole log to serve a session.

use indexmap::IndexMap;
use jiff::Timestamp;
use omniglot_schema::{
    AgentCapabilities, ContentPart, EventData, EventSource, ItemId, ItemKind, ItemRole, MessageId,
    PendingRequest, PermissionStatus, RequestMetadata, SessionId, SessionState, SessionStats, SessionStatus,
    StatusLabel, TurnId, UniversalEvent, UniversalItem, Usage,
};
use serde::{Deserialize, Serialize};

use crate::ordered::Ordered;

/// Everything that the events of a session add up to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    pub last_seq: u64,
    pub last_time: Option<Timestamp>,
    pub started: bool,
    pub ended: bool,
    pub native_session_id: Option<String>,
    /// Since when the native session is this one.
    #[serde(default)]
    pub native_since: Option<Timestamp>,
    pub agent_version: Option<String>,
    /// The session that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// The first line that a person wrote, cut: the title of a session that has no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    pub state: SessionState,
    /// Somebody gave the session its title; what its agent calls it does not count any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub titled: bool,
    pub turns: u64,
    pub open_turn: Option<OpenTurn>,
    /// Open permissions and questions by id, oldest first.
    pub pending: Ordered<String, PendingRequest>,
    pub grants: Vec<Grant>,
    /// Late items that are open, with their text so far (T9): they alone may be open while no turn is.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub late: IndexMap<ItemId, UniversalItem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    pub turn_id: TurnId,
    /// The sequence of its `turn.started`.
    pub seq: u64,
    pub message_id: Option<MessageId>,
    /// The tokens of its own calls of the model that are over, without those of subagents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Usage>,
}

/// The calls that an `always` allows for the rest of the session (T11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub tool: String,
    pub pattern: String,
}

/// The state of a session that the store keeps beside its events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Makes the ids of this session unique.
    pub seed: String,
    pub fold: Fold,
    pub stats: SessionStats,
    /// Imported: the native session that its events name is another's, and not continued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The capabilities that the agent told in its last handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<AgentCapabilities>,
}

impl Fold {
    pub fn status(&self) -> SessionStatus {
        match (&self.open_turn, self.pending.is_empty()) {
            (None, _) => SessionStatus::Idle,
            (Some(_), true) => SessionStatus::Running,
            (Some(_), false) => SessionStatus::Waiting,
        }
    }

    pub fn granted(&self, tool: Option<&str>, pattern: Option<&str>) -> bool {
        let (Some(tool), Some(pattern)) = (tool, pattern) else { return false };
        self.grants.iter().any(|g| g.tool == tool && g.pattern == pattern)
    }

    pub fn apply(&mut self, event: &UniversalEvent) {
        self.last_seq = event.sequence;
        self.last_time = self.last_time.max(Some(event.time));
        self.first_prompt = self.first_prompt.take().or_else(|| prompt_title(&event.data));
        if event.copied_from().is_some() {
            return;
        }
        if event.native_session_id.is_some() && event.native_session_id != self.native_session_id {
            self.native_session_id.clone_from(&event.native_session_id);
            self.native_since = Some(event.time);
        }
        match &event.data {
            EventData::SessionStarted(data) => {
                (self.started, self.ended) = (true, false);
                let version = data.metadata.as_ref().and_then(|metadata| metadata.agent_version.clone());
                self.agent_version = version.or(self.agent_version.take());
                let forked_from = data.metadata.as_ref().and_then(|metadata| metadata.forked_from.clone());
                self.forked_from = forked_from.or(self.forked_from.take());
            }
            EventData::SessionEnded(_) => self.ended = true,
            EventData::SessionUpdated(patch) => {
                if let (EventSource::Daemon, Some(title)) = (event.source, &patch.title) {
                    self.titled = title.is_some();
                }
                self.state.apply(patch.clone());
            }
            EventData::TurnStarted(turn) => {
                self.turns += 1;
                self.open_turn = Some(OpenTurn {
                    turn_id: turn.turn_id.clone(),
                    seq: event.sequence,
                    message_id: turn.metadata.message_id.clone(),
                    steps: None,
                });
            }
            EventData::TurnEnded(turn) => {
                self.open_turn = None;
                let used = [turn.metadata.usage.clone(), turn.metadata.usage_subagents.clone()];
                self.state.usage = used.into_iter().fold(self.state.usage.take(), Usage::sum);
            }
            EventData::PermissionRequested(ask) => {
                self.pending.insert(ask.permission_id.to_string(), PendingRequest::Permission(ask.clone()));
            }
            EventData::QuestionRequested(ask) => {
                self.pending.insert(ask.question_id.to_string(), PendingRequest::Question(ask.clone()));
            }
            EventData::PermissionResolved(answer) => {
                self.pending.remove(answer.permission_id.as_str());
                if answer.status == PermissionStatus::AcceptForSession {
                    self.remember_grant(answer.metadata.as_ref());
                }
            }
            EventData::QuestionResolved(answer) => {
                self.pending.remove(answer.question_id.as_str());
            }
            EventData::ItemStarted(data) if is_late(&data.item) => {
                self.late.insert(data.item.item_id.clone(), data.item.clone());
            }
            EventData::ItemDelta(data) if !self.late.is_empty() => {
                if let Some(ContentPart::Status { detail, .. }) =
                    self.late.get_mut(&data.item_id).and_then(|item| item.content.first_mut())
                {
                    detail.get_or_insert_default().push_str(&data.delta);
                }
            }
            EventData::ItemCompleted(data) => {
                self.late.shift_remove(&data.item.item_id);
                if let (Some(turn), Some(usage)) = (&mut self.open_turn, step_usage(&data.item)) {
                    turn.steps = Usage::sum(turn.steps.take(), Some(usage.clone()));
                }
            }
            EventData::ItemStarted(_)
            | EventData::ItemDelta(_)
            | EventData::Error(_)
            | EventData::AgentUnparsed(_) => {}
        }
    }

    fn remember_grant(&mut self, metadata: Option<&RequestMetadata>) {
        let Some((tool, pattern)) = metadata.and_then(|m| m.tool.clone().zip(m.pattern.clone())) else {
            return;
        };
        let grant = Grant { tool, pattern };
        if !self.grants.contains(&grant) {
            self.grants.push(grant);
        }
    }
}

/// Returns the first line of a person's message, cut: the title of a session that has no other.
pub fn prompt_title(data: &EventData) -> Option<String> {
    let (EventData::ItemStarted(told) | EventData::ItemCompleted(told)) = data else { return None };
    let item = &told.item;
    let texts = item.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } if item.role == Some(ItemRole::User) => Some(text),
        _ => None,
    });
    texts.flat_map(|text| text.lines()).find_map(title_of)
}

/// Returns the line without its margins, cut to the length of a title; `None` when it is blank.
fn title_of(line: &str) -> Option<String> {
    const MAX: usize = 80;
    let line = line.trim();
    let mut title: String = line.chars().filter(|c| !c.is_control()).take(MAX).collect();
    if line.chars().count() > MAX {
        title.push('…');
    }
    (!title.is_empty()).then_some(title)
}

/// Returns the tokens of a call of the model, unless it is of a subagent.
fn step_usage(item: &UniversalItem) -> Option<&Usage> {
    match item.content.first() {
        Some(ContentPart::Status { usage, .. }) if item.parent_id.is_none() => usage.as_ref(),
        _ => None,
    }
}

/// Whether an item tells what came too late.
pub(crate) fn is_late(item: &UniversalItem) -> bool {
    let Some(ContentPart::Status { label, .. }) = item.content.first() else { return false };
    item.kind == ItemKind::Status && StatusLabel::of_label(label) == Some(StatusLabel::Late)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use omniglot_schema::{ErrorCode, SessionId, StatePatch, StopReason};

    use super::*;
    use crate::{
        Body, Draft, Failure, Identity, ItemEnd, ItemKey, Origin, Outcome, SessionStarted, Stamp, Timeline,
        TurnEnd,
    };

    fn timeline() -> Timeline {
        let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "a".into() };
        Timeline::new(identity, "s")
    }

    fn title(title: Option<&str>) -> Draft {
        let title = Some(title.map(str::to_owned));
        Draft::State(Box::new(StatePatch { title, ..StatePatch::default() }))
    }

    #[test]
    fn a_title_that_somebody_gave_is_kept_until_it_is_taken_back() {
        let (now, mut out) = (Timestamp::UNIX_EPOCH, vec![]);
        let (agent, person) = (Stamp::agent(now, 1), Stamp::daemon(now));
        let mut timeline = timeline();
        let mut say = |draft, stamp| {
            timeline.apply(draft, stamp, &mut out);
            timeline.fold().state.title.clone().unwrap_or_default()
        };
        assert_eq!(say(title(Some("the agent's")), agent), "the agent's");
        assert_eq!(say(title(Some("mine")), person), "mine");
        assert_eq!(say(title(Some("the agent's again")), agent), "mine");
        assert_eq!(say(title(None), agent), "mine");
        assert_eq!(say(title(None), person), "");
        assert_eq!(say(title(Some("another")), agent), "another");
    }

    /// A8: the tokens of a session are those of its turns, and a turn that was cut has those of its finished calls.
    #[test]
    fn tokens_are_summed_up_over_the_calls_of_a_cut_turn_and_over_all_turns() {
        let tokens = |input, output| {
            let (input_tokens, output_tokens) = (Some(input), Some(output));
            Some(Usage { input_tokens, output_tokens, ..Usage::default() }.with_total())
        };
        let step = |key: &str, usage| {
            let (key, outcome) = (ItemKey(key.to_owned()), Outcome::Completed);
            Draft::ItemCompleted(ItemEnd { key, outcome, body: Some(Body::Step { detail: None, usage }) })
        };
        let crashed = TurnEnd::failed(Failure::new(ErrorCode::AgentCrashed, "gone"));
        let told = TurnEnd {
            usage: tokens(100, 1),
            usage_subagents: tokens(1000, 1),
            ..TurnEnd::new(StopReason::EndTurn)
        };
        let (mut timeline, mut out) = (timeline(), vec![]);
        for draft in [
            Draft::SessionStarted(SessionStarted::default()),
            Draft::TurnStarted(Origin::Agent),
            step("one", tokens(3, 4)),
            step("two", tokens(10, 20)),
            step("cut", None),
            Draft::TurnEnded(crashed),
            Draft::TurnStarted(Origin::Agent),
            step("three", tokens(7, 7)),
            Draft::TurnEnded(told),
        ] {
            timeline.apply(draft, Stamp::agent(Timestamp::UNIX_EPOCH, 1), &mut out);
        }
        let ends = out.iter().filter_map(|event| match &event.event.data {
            EventData::TurnEnded(end) => Some(end.metadata.usage.clone()),
            _ => None,
        });
        assert_eq!(ends.collect::<Vec<_>>(), [tokens(13, 24), tokens(100, 1)]);
        assert_eq!(timeline.fold().state.usage, tokens(1113, 26));
    }

    #[test]
    fn the_age_of_a_native_session_is_known() {
        let mut timeline = timeline();
        let mut open = |native: &str, at: Timestamp| {
            let native_session_id = Some(native.to_owned());
            let started = SessionStarted { native_session_id, ..SessionStarted::default() };
            timeline.apply(Draft::SessionStarted(started), Stamp::agent(at, 1), &mut vec![]);
            let state = StatePatch { title: Some(Some(format!("{native} {at}"))), ..StatePatch::default() };
            timeline.apply(Draft::State(Box::new(state)), Stamp::agent(at, 2), &mut vec![]);
            timeline.fold().native_since
        };
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + SignedDuration::from_secs(60));
        assert_eq!(open("one", early), Some(early));
        assert_eq!(open("one", late), Some(early));
        assert_eq!(open("two", late), Some(late));
    }
}
