//! The connection to `codex app-server` that all sessions share: its handshake, and whose frame is whose.
//!
//! A session is a thread. Answers go where the request came from; notifications and requests of the server to
//! the session whose thread they name. A child agent has a thread of its own, which the item that starts it
//! names, or else the root of its turn; what it says goes to its parent's session.

use std::collections::HashMap;

use omniglot_schema::StderrOutput;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::adapter::INSTALL;
use super::wire::{Capabilities, ClientInfo, Initialize, Initialized};
use crate::contract::{Handshake, Link, Refusal, RefusalKind, Route, SlotId};
use crate::rpc::{Message, RpcError, RpcId, notification, refusal, request};

/// The oldest version that we expect to have every method that we call; 0.166 is what was recorded.
const OLDEST: (u64, u64) = (0, 160);

/// How programs without an app-server refuse the word.
const NO_SERVER: &[&str] = &["unrecognized subcommand", "unexpected argument", "stdin is not a terminal"];

/// The notifications that no session needs: most would go to every session, all of them often.
const OPTED_OUT: &[&str] = &[
    "account/rateLimits/updated",
    "remoteControl/status/changed",
    "thread/readState/changed",
    "turn/diff/updated",
    "deprecationNotice",
];

#[derive(Debug, Default)]
pub(crate) struct CodexLink {
    /// The id of our `initialize`, until it is answered.
    initialize: Option<RpcId>,
    /// Who asked, and whether the answer names a thread.
    asked: HashMap<RpcId, (SlotId, Opens)>,
    threads: HashMap<String, SlotId>,
    /// The newest turn of each session, which its child agents name as their root.
    turns: HashMap<SlotId, String>,
    /// Requests of the server that wait for an answer.
    requested: HashMap<RpcId, SlotId>,
    /// The last slot that a recording was given.
    recorded: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opens {
    Thread,
    Nothing,
}

/// As much of the parameters as routing needs.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head<'a> {
    thread_id: Option<String>,
    thread: Option<Named>,
    turn: Option<TurnHead>,
    #[serde(borrow)]
    item: Option<ItemHead<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TurnHead {
    id: String,
    root_turn_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ItemHead<'a> {
    r#type: std::borrow::Cow<'a, str>,
    receiver_thread_ids: Vec<String>,
    agent_thread_id: Option<String>,
}

impl Link for CodexLink {
    fn hello(&mut self) -> Vec<Box<RawValue>> {
        let id = RpcId::Text("hello".to_owned());
        let version = env!("CARGO_PKG_VERSION");
        let params = Initialize {
            client_info: ClientInfo { name: "omniglot", title: "Omniglot", version },
            capabilities: Capabilities { experimental_api: true, opt_out_notification_methods: OPTED_OUT },
        };
        let frame = request(&id, "initialize", &params);
        self.initialize = Some(id);
        frame.into_iter().collect()
    }

    /// One without an app-server takes the word for a prompt, or for a mistake.
    fn ended_early(&self, stderr: &StderrOutput) -> Option<Refusal> {
        let said = [&stderr.head, &stderr.tail].into_iter().flatten();
        let has_none = |text: &String| NO_SERVER.iter().any(|words| text.contains(words));
        let message = "this codex has no `app-server`; it is too old, or another program".to_owned();
        said.into_iter().any(has_none).then(|| unusable(message))
    }

    fn sent(&mut self, from: SlotId, frame: &RawValue) {
        match Message::parse(frame) {
            Ok(Message::Request { id, method, .. }) => {
                let opens = match &*method {
                    "thread/start" | "thread/resume" | "thread/fork" => Opens::Thread,
                    _ => Opens::Nothing,
                };
                self.asked.insert(id, (from, opens));
            }
            Ok(Message::Answer { id, .. }) => drop(self.requested.remove(&id)),
            Ok(Message::Notification { .. }) | Err(_) => {}
        }
    }

    fn route(&mut self, frame: &RawValue, reply: &mut Vec<Box<RawValue>>) -> Route {
        match Message::parse(frame) {
            Ok(Message::Answer { id, result }) if self.initialize.as_ref() == Some(&id) => {
                self.initialize = None;
                has_shaken_hands(result, reply)
            }
            Ok(Message::Answer { id, result }) => self.answered(&id, result),
            Ok(Message::Notification { params, .. }) => self.notified(params),
            Ok(Message::Request { id, method, params }) => self.requested(id, &method, params, reply),
            // Nobody can say whose it is, so everybody says that it was not understood.
            Err(_) => Route::All,
        }
    }

    fn left(&mut self, slot: SlotId) {
        self.asked.retain(|_, (asker, _)| *asker != slot);
        self.threads.retain(|_, owner| *owner != slot);
        self.turns.remove(&slot);
        self.requested.retain(|_, owner| *owner != slot);
    }

    fn recorded(&mut self, frame: &RawValue) -> Option<SlotId> {
        let slot = match Message::parse(frame).ok()? {
            Message::Request { id, method, .. } if method == "initialize" => {
                self.initialize = Some(id);
                return None;
            }
            Message::Request { method, params, .. } => self.speaker(&method, params)?,
            Message::Answer { id, .. } => self.requested.get(&id).copied()?,
            Message::Notification { .. } => return None,
        };
        self.sent(slot, frame);
        Some(slot)
    }
}

impl CodexLink {
    fn answered(&mut self, id: &RpcId, result: Result<&RawValue, RpcError>) -> Route {
        let Some((slot, opens)) = self.asked.remove(id) else { return Route::Nobody };
        let head: Head<'_> = result.ok().map(head).unwrap_or_default();
        if let Some(thread) = head.thread.filter(|_| opens == Opens::Thread) {
            self.threads.insert(thread.id, slot);
        }
        if let Some(turn) = head.turn {
            self.turns.insert(slot, turn.id);
        }
        Route::Session(slot)
    }

    fn notified(&mut self, params: &RawValue) -> Route {
        let head = head(params);
        let own = head.thread.map(|thread| thread.id);
        let Some(thread) = head.thread_id.or(own) else { return Route::All };
        let known = self.threads.get(&thread).copied();
        let root = head.turn.as_ref().and_then(|turn| turn.root_turn_id.as_ref());
        let Some(slot) = known.or_else(|| self.rooted(root?)) else { return Route::Nobody };
        if known.is_none() {
            self.threads.insert(thread, slot);
        }
        if let Some(turn) = head.turn.filter(|turn| turn.root_turn_id.as_ref() == Some(&turn.id)) {
            self.turns.insert(slot, turn.id);
        }
        for child in head.item.into_iter().flat_map(ItemHead::children) {
            self.threads.entry(child).or_insert(slot);
        }
        Route::Session(slot)
    }

    fn rooted(&self, turn: &str) -> Option<SlotId> {
        self.turns.iter().find(|(_, id)| *id == turn).map(|(slot, _)| *slot)
    }

    /// Nobody waits for us (T18): a request that reaches no session is refused here.
    fn requested(
        &mut self,
        id: RpcId,
        method: &str,
        params: &RawValue,
        reply: &mut Vec<Box<RawValue>>,
    ) -> Route {
        let thread = head(params).thread_id;
        match thread.as_ref().map(|thread| self.threads.get(thread)) {
            Some(Some(slot)) => {
                let slot = *slot;
                self.requested.insert(id, slot);
                Route::Session(slot)
            }
            owner => {
                reply.extend(refusal(&id, &RpcError::not_served(method)));
                // Without a thread it concerns the account; every session tells that it was refused.
                if owner.is_none() { Route::All } else { Route::Nobody }
            }
        }
    }

    /// Who wrote a request that a recording holds. Whoever opens a thread that nobody has is a new session.
    fn speaker(&mut self, method: &str, params: &RawValue) -> Option<SlotId> {
        let thread = head(params).thread_id.filter(|_| method != "thread/fork");
        let opens = matches!(method, "thread/start" | "thread/resume" | "thread/fork");
        match thread.and_then(|thread| self.threads.get(&thread).copied()) {
            Some(slot) => Some(slot),
            None if opens => {
                self.recorded += 1;
                Some(SlotId(self.recorded))
            }
            None => None,
        }
    }
}

impl ItemHead<'_> {
    /// The threads of the child agents that an item is about.
    fn children(self) -> Vec<String> {
        match &*self.r#type {
            "collabAgentToolCall" => self.receiver_thread_ids,
            "subAgentActivity" => self.agent_thread_id.into_iter().collect(),
            _ => vec![],
        }
    }
}

/// A body of another shape names no thread; its reader will say what is wrong with it.
fn head(params: &RawValue) -> Head<'_> {
    serde_json::from_str(params.get()).unwrap_or_default()
}

fn has_shaken_hands(result: Result<&RawValue, RpcError>, reply: &mut Vec<Box<RawValue>>) -> Route {
    let refused = |message: String| Route::Mine(Handshake::Refused(unusable(message)));
    let raw = match result {
        Ok(raw) => raw,
        Err(error) => return refused(format!("codex refused the handshake: {}", error.shown())),
    };
    let answer: Initialized = serde_json::from_str(raw.get()).unwrap_or_default();
    if let Some((version, numbers)) = version(&answer.user_agent)
        && numbers < OLDEST
    {
        return refused(format!("codex {version} is too old"));
    }
    reply.extend(notification::<()>("initialized", None));
    Route::Mine(Handshake::Done)
}

fn unusable(why: String) -> Refusal {
    let needed = format!("Codex {}.{} or newer", OLDEST.0, OLDEST.1);
    Refusal {
        kind: RefusalKind::Unavailable,
        message: format!("{why}; {needed} is needed"),
        hint: Some(INSTALL.advice(&format!("{needed},"))),
    }
}

/// The version in `omniglot/0.166.0 (Debian …)`; one that we cannot read is taken to be new enough.
fn version(user_agent: &str) -> Option<(&str, (u64, u64))> {
    let version = user_agent.split_once('/')?.1.split_whitespace().next()?;
    let mut numbers = version.split(['.', '-']).map(|part| part.parse().ok());
    Some((version, (numbers.next()??, numbers.next()??)))
}
