//! Tests of items that last as long as an agent's process, and of those that end with it.

use jiff::Timestamp;
use omniglot_schema::{
    Activity, EventData, ItemId, MemberStatus, SessionId, StatePatch, StopReason, Team, TeamMember,
};

use crate::draft::{
    Body, CallEnd, CallStart, Draft, Failure, ItemKey, ItemStart, Origin, Outcome, ToolCall, ToolResult,
    TurnEnd,
};
use crate::timeline::{Emitted, Identity, SessionEnd, Stamp, Timeline};

struct Harness {
    timeline: Timeline,
    out: Vec<Emitted>,
}

impl Harness {
    fn new() -> Self {
        let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "claude".into() };
        Self { timeline: Timeline::new(identity, "t"), out: vec![] }
    }

    fn apply(&mut self, draft: Draft) {
        self.timeline.apply(draft, stamp(), &mut self.out);
    }

    fn turn(&mut self, within: impl FnOnce(&mut Self)) {
        self.apply(Draft::TurnStarted(Origin::Agent));
        within(self);
        self.apply(Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn)));
    }

    fn begin(&mut self, key: &str, parent: Option<&str>, body: Body) {
        let parent = parent.map(|key| ItemKey(key.into()));
        self.apply(Draft::ItemStarted(ItemStart { key: ItemKey(key.into()), native_id: None, parent, body }));
    }

    fn last_json(&self) -> String {
        serde_json::to_string(&self.out.last().unwrap().event).unwrap()
    }

    /// The item that was begun last, and its parent.
    fn last_item(&self) -> (ItemId, Option<ItemId>) {
        let begun = self.out.iter().rev().find_map(|emitted| match &emitted.event.data {
            EventData::ItemStarted(data) => Some((data.item.item_id.clone(), data.item.parent_id.clone())),
            _ => None,
        });
        begun.unwrap()
    }
}

fn stamp() -> Stamp {
    Stamp::agent(Timestamp::UNIX_EPOCH, 1)
}

#[test]
fn what_a_call_began_in_the_background_belongs_to_it_in_any_later_turn() {
    let mut harness = Harness::new();
    let mut call = None;
    harness.turn(|harness| {
        let (key, begun) = (ItemKey::from("call"), ToolCall::new("Agent", "{}"));
        let start = CallStart { key: key.clone(), native_id: None, parent: None, call: begun };
        harness.apply(Draft::CallStarted(start));
        call = Some(harness.last_item().0);
        let result = ToolResult { goes_on: true, ..ToolResult::default() };
        harness.apply(Draft::CallEnded(CallEnd { key, outcome: Outcome::Completed, result }));
    });
    for _ in 0..3 {
        harness.turn(|_| {});
    }
    harness.turn(|harness| {
        harness.begin("words", Some("call"), Body::assistant_text("Done."));
        assert_eq!(harness.last_item().1, call);
    });
    harness.timeline.forget_run(stamp(), &mut harness.out);
    harness.turn(|harness| {
        harness.begin("others", Some("call"), Body::assistant_text("Who?"));
        assert_eq!(harness.last_item().1, None, "keys mean nothing to another process");
    });
}

/// A9: a command in the background has not failed when its turn ends, and its end is told when it comes.
#[test]
fn a_call_that_goes_on_keeps_its_output_and_is_told_to_the_end() {
    let mut harness = Harness::new();
    let key = ItemKey::from("call");
    let end = |result| Draft::CallEnded(CallEnd { key: key.clone(), outcome: Outcome::Completed, result });
    harness.turn(|harness| {
        let call = ToolCall::new("shell", "{}");
        harness.apply(Draft::CallStarted(CallStart {
            key: key.clone(),
            native_id: None,
            parent: None,
            call,
        }));
        harness.apply(Draft::CallOutput { key: key.clone(), delta: "one".into() });
        harness.apply(end(ToolResult { goes_on: true, ..ToolResult::default() }));
        let result = harness.last_json();
        assert!(result.contains(r#""output":"one\nit goes on in the background""#), "{result}");
        assert!(result.contains(r#""status":"completed""#), "{result}");
    });
    harness.turn(|_| {});
    harness.apply(end(ToolResult { output: "one\ntwo".into(), exit_code: Some(0), ..ToolResult::default() }));
    let late = harness.last_json();
    assert!(late.contains("late") && late.contains("two"), "{late}");
}

fn busy() -> Harness {
    let mut harness = Harness::new();
    let patch = StatePatch {
        activity: Some(Some(Activity::Retrying)),
        subagents: Some(Some(vec![serde_json::json!({ "id": "a" })].into())),
        ..StatePatch::default()
    };
    harness.apply(Draft::State(Box::new(patch)));
    harness
}

#[test]
fn what_an_agent_was_busy_with_is_over_when_its_process_has_died() {
    let mut harness = busy();
    let crash = SessionEnd::Crashed { message: "gone".into(), exit_code: None, stderr: None };
    harness.timeline.end_session(crash, stamp(), &mut harness.out);
    let state = &harness.timeline.fold().state;
    assert_eq!((state.activity, &state.subagents), (None, &None));
    assert!(matches!(harness.out.last().unwrap().event.data, EventData::SessionEnded(_)));
}

#[test]
fn what_an_agent_was_busy_with_is_over_when_the_daemon_has_died() {
    let mut harness = busy();
    harness.timeline.recover(Failure::daemon_restarted(), stamp(), &mut harness.out);
    let state = &harness.timeline.fold().state;
    assert_eq!((state.activity, &state.subagents), (None, &None));
}

/// A team of one member, as an adapter tells it.
fn team(status: MemberStatus) -> Draft {
    let (id, name, parent_item) = ("k".to_owned(), "scout".to_owned(), Some("call".to_owned()));
    let members = vec![TeamMember { id, name, status, parent_item }];
    let team = Some(Some(Team { members, tasks: vec![] }));
    Draft::State(Box::new(StatePatch { team, ..StatePatch::default() }))
}

#[test]
fn a_team_rests_with_its_process_and_knows_the_items_of_its_members() {
    let mut harness = Harness::new();
    let mut call = None;
    harness.turn(|harness| {
        let (key, begun) = (ItemKey::from("call"), ToolCall::new("Agent", "{}"));
        harness.apply(Draft::CallStarted(CallStart { key, native_id: None, parent: None, call: begun }));
        call = Some(harness.last_item().0.0);
        harness.apply(team(MemberStatus::Working));
    });
    harness.timeline.forget_run(stamp(), &mut harness.out);
    let member = |harness: &Harness| harness.timeline.fold().state.team.as_ref().unwrap().members[0].clone();
    let resting = member(&harness);
    assert_eq!((resting.status, &resting.parent_item), (MemberStatus::Idle, &call));
    harness.apply(team(MemberStatus::Working));
    assert_eq!(member(&harness).parent_item, call, "the key is forgotten, the item is not");
}
