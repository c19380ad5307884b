//! Hooks over a real log with a scripted receiver and a paused clock.

use std::collections::HashMap;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use omniglot_agents::Registry;
use omniglot_runtime::{Backlog, Deadlines, HubConfig};
use omniglot_schema::{HookState, SessionId, UniversalEventType};
use omniglot_store::{Batch, NewEvent, NewSession, Options, RecordUpdate, SessionRecord};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::sender::Outcome;
use super::*;

/// Answers by the name of the hook, and keeps the ids of the calls.
struct Scripted {
    answers: Mutex<HashMap<String, fn() -> Outcome>>,
    calls: watch::Sender<Vec<(String, String)>>,
}

impl Transport for Scripted {
    fn call<'a>(&'a self, hook: &'a Hook, message: &'a Message) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let answer = self.answers.lock().unwrap().get(&hook.name).copied();
            self.calls.send_modify(|calls| calls.push((hook.name.clone(), message.id.clone())));
            match answer {
                None => Outcome::Taken(200),
                Some(answer) => match answer() {
                    // A receiver that hangs.
                    Outcome::Moot(_) => std::future::pending().await,
                    outcome => outcome,
                },
            }
        })
    }
}

impl Scripted {
    fn new() -> Arc<Self> {
        Arc::new(Self { answers: Mutex::default(), calls: watch::channel(vec![]).0 })
    }

    fn set(&self, hook: &str, answer: fn() -> Outcome) {
        self.answers.lock().unwrap().insert(hook.into(), answer);
    }

    fn mend(&self, hook: &str) {
        self.answers.lock().unwrap().remove(hook);
    }

    /// Waits until somebody is called at this time or later.
    async fn at(&self, time: Instant) {
        self.calls.subscribe().wait_for(|_| Instant::now() >= time).await.unwrap();
    }

    /// Waits until this hook was called this often, and returns the ids.
    async fn calls(&self, hook: &str, count: usize) -> Vec<String> {
        let of = |calls: &[(String, String)]| -> Vec<String> {
            calls.iter().filter(|(name, _)| name == hook).map(|(_, id)| id.clone()).collect()
        };
        let mut calls = self.calls.subscribe();
        let enough = calls.wait_for(|calls| of(calls).len() >= count).await.unwrap();
        of(&enough)
    }
}

struct Fixture {
    store: Store,
    hub: Hub,
    transport: Arc<Scripted>,
    _dir: tempfile::TempDir,
}

fn settings(more: &str, names: &[&str]) -> HookSettings {
    let hooks = names.iter().map(|name| {
        format!("[[hooks]]\nname = \"{name}\"\nurl = \"https://{name}.example/x\"\nsecret = \"a-secret-of-16-b\"\n")
    });
    let text = format!("{more}\n{}", hooks.collect::<String>());
    let config = Config::parse("omniglot.toml".as_ref(), &text, &Registry::default()).unwrap();
    HookSettings::of(&config).unwrap()
}

impl Fixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let config = HubConfig {
            data_dir: dir.path().to_owned(),
            program: "/bin/false".into(),
            config: Config::default(),
            registry: Registry::default(),
            store: store.clone(),
            deadlines: Deadlines::default(),
            backlog: Backlog::Deliver,
        };
        let hub = Hub::start(config).await.unwrap();
        Self { store, hub, transport: Scripted::new(), _dir: dir }
    }

    async fn start(&self, more: &str, names: &[&str]) -> Hooks {
        Hooks::start_with(&self.hub, &self.store, settings(more, names), self.transport.clone())
            .await
            .unwrap()
    }

    async fn session(&self, id: &str) -> SessionRecord {
        let id = SessionId::parse(id).unwrap();
        let fold = serde_json::to_string(&omniglot_timeline::Snapshot::default()).unwrap();
        let new = NewSession {
            events: vec![event(&id, 1, UniversalEventType::SessionStarted, json!({}))],
            id,
            agent: "mock".into(),
            request: json!({ "agent": "mock" }).to_string(),
            labels: Default::default(),
            created_ms: 1,
            record: RecordUpdate { fold, ended: false, open_from: None },
            frames: vec![],
            copied: 0,
            blobs: vec![],
        };
        self.store.create(new).await.unwrap().unwrap()
    }

    /// Appends the end of a turn; the id of its event is returned.
    async fn turn_ends(&self, session: &SessionRecord, seq: u64) -> String {
        let data = json!({ "phase": "ended", "turn_id": format!("turn_{seq}"),
            "metadata": { "stop_reason": "end_turn", "duration_ms": 1 } });
        let mut batch = Batch::new(session.no);
        batch.events.push(event(&session.id, seq, UniversalEventType::TurnEnded, data));
        self.store.append(batch).await.unwrap().unwrap();
        format!("evt_{}_{seq}", session.id)
    }
}

fn event(id: &SessionId, seq: u64, kind: UniversalEventType, data: Value) -> NewEvent {
    let json = json!({ "event_id": format!("evt_{id}_{seq}"), "sequence": seq, "time": "2026-11-16T00:00:00Z",
        "session_id": id, "source": "daemon", "synthetic": true, "type": kind, "data": data });
    NewEvent { seq, kind, time_us: 0, json: json.to_string().into(), frame_no: None }
}

/// Waits until the hook `a` is as wanted. The clock is paused: it jumps when nobody has anything else to do.
async fn until(hooks: &Hooks, wanted: impl Fn(&HookInfo) -> bool) -> HookInfo {
    loop {
        if let Some(info) = hooks.list().into_iter().find(|info| info.name == "a").filter(&wanted) {
            return info;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn error_500() -> Outcome {
    Outcome::Failed { why: "the receiver answered 500".into(), status: Some(500), after: None }
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_fails_for_a_day_leaves_dead_letters_and_slows_nobody() {
    let fixture = Fixture::new().await;
    fixture.transport.set("a", error_500);
    let hooks = fixture.start("", &["a", "b"]).await;
    let session = fixture.session("s").await;
    let begin = Instant::now();
    let mut ids = vec![];
    for seq in 2..5 {
        ids.push(fixture.turn_ends(&session, seq).await);
    }
    assert_eq!(fixture.transport.calls("b", 3).await, ids, "the other hook is called at once, in order");
    let day = Duration::from_secs(24 * 3600);
    fixture.transport.at(begin + day).await;
    let info = until(&hooks, |info| info.dead == 3).await;
    assert!(begin.elapsed() < day + Duration::from_secs(3600), "{:?}", begin.elapsed());
    assert_eq!((info.queued, info.state, info.delivered), (0, HookState::Failing, 0));
    let calls = fixture.transport.calls("a", 1).await;
    assert!(calls.len() > 20 && calls.len() < 1000, "{} calls in a day", calls.len());
    assert!(calls.iter().all(|id| *id == ids[0]), "no later call overtakes the first of its session");
    let (letters, _) = hooks.dead("a", 10).unwrap();
    assert_eq!(letters.iter().map(|letter| &*letter.id.0).collect::<Vec<_>>(), ids);
    assert_eq!(letters[0].reason, "the receiver answered 500");

    fixture.transport.mend("a");
    assert_eq!(hooks.retry("a", None).await, Some(3));
    let info = until(&hooks, |info| info.delivered == 3).await;
    assert_eq!((info.dead, info.state), (0, HookState::Active));
    let calls = fixture.transport.calls("a", calls.len() + 3).await;
    assert_eq!(calls[calls.len() - 3..], ids);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_hangs_holds_up_no_other_hook_and_no_end_of_the_daemon() {
    let fixture = Fixture::new().await;
    fixture.transport.set("a", || Outcome::Moot("hangs"));
    let hooks = fixture.start("", &["a", "b"]).await;
    let session = fixture.session("s").await;
    let id = fixture.turn_ends(&session, 2).await;
    fixture.transport.calls("a", 1).await;
    assert_eq!(fixture.transport.calls("b", 1).await, std::slice::from_ref(&id));
    hooks.finish().await;
    fixture.transport.mend("a");
    fixture.start("", &["a", "b"]).await;
    assert_eq!(fixture.transport.calls("a", 2).await, [id.clone(), id.clone()], "the same id again");
    let second = fixture.turn_ends(&session, 3).await;
    assert_eq!(fixture.transport.calls("b", 2).await, [id, second], "what was taken is not repeated");
}

#[tokio::test(start_paused = true)]
async fn a_410_disables_a_hook_until_it_is_retried_or_has_another_address() {
    let fixture = Fixture::new().await;
    fixture.transport.set("a", || Outcome::Gone);
    let hooks = fixture.start("", &["a"]).await;
    let session = fixture.session("s").await;
    let first = fixture.turn_ends(&session, 2).await;
    let info = until(&hooks, |info| info.state == HookState::Disabled).await;
    assert_eq!((info.dead, info.queued), (1, 0));
    fixture.turn_ends(&session, 3).await;
    hooks.finish().await;
    let hooks = fixture.start("", &["a"]).await;
    assert_eq!(until(&hooks, |_| true).await.state, HookState::Disabled, "also after a restart");
    fixture.transport.mend("a");
    assert_eq!(hooks.retry("a", None).await, Some(1));
    let third = fixture.turn_ends(&session, 4).await;
    assert_eq!(fixture.transport.calls("a", 3).await, [first.clone(), first, third]);
    hooks.finish().await;

    fixture.transport.set("a", || Outcome::Gone);
    let hooks = fixture.start("", &["a"]).await;
    fixture.turn_ends(&session, 5).await;
    until(&hooks, |info| info.state == HookState::Disabled).await;
    hooks.finish().await;
    let mut moved = settings("", &["a"]);
    moved.hooks.iter_mut().for_each(|hook| hook.url.set_path("/other"));
    let hooks =
        Hooks::start_with(&fixture.hub, &fixture.store, moved, fixture.transport.clone()).await.unwrap();
    assert_eq!(until(&hooks, |_| true).await.state, HookState::Active);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_full_makes_dead_letters_of_its_oldest_calls() {
    let fixture = Fixture::new().await;
    fixture.transport.set("a", error_500);
    let hooks = fixture.start("[limits]\nhook_queue = 2\n", &["a"]).await;
    let session = fixture.session("s").await;
    for seq in 2..7 {
        fixture.turn_ends(&session, seq).await;
    }
    let info = until(&hooks, |info| info.dead == 2).await;
    assert!(info.queued <= 2, "{info:?}");
    let (letters, _) = hooks.dead("a", 10).unwrap();
    assert!(
        letters.iter().any(|letter| letter.reason.contains("`hook_queue` of [limits] is 2")),
        "{letters:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_hook_is_called_for_what_happens_from_then_on() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s").await;
    fixture.turn_ends(&session, 2).await;
    let hooks = fixture.start("", &["a"]).await;
    let second = fixture.turn_ends(&session, 3).await;
    assert_eq!(fixture.transport.calls("a", 1).await, [second]);
    hooks.finish().await;
    let third = fixture.turn_ends(&session, 4).await;
    let hooks = fixture.start("", &["a"]).await;
    assert_eq!(fixture.transport.calls("a", 2).await[1..], [third], "also for what happened between");
    hooks.finish().await;
    fixture.start("", &[]).await;
    fixture.turn_ends(&session, 5).await;
    fixture.start("", &["a"]).await;
    let last = fixture.turn_ends(&session, 6).await;
    assert_eq!(fixture.transport.calls("a", 3).await[2..], [last], "a hook that was removed begins anew");
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_session_that_was_deleted_are_not_made() {
    let fixture = Fixture::new().await;
    fixture.transport.set("a", error_500);
    let hooks = fixture.start("", &["a"]).await;
    let (gone, kept) = (fixture.session("gone").await, fixture.session("kept").await);
    let first = fixture.turn_ends(&gone, 2).await;
    let second = fixture.turn_ends(&kept, 2).await;
    fixture.transport.calls("a", 1).await;
    fixture.store.delete(gone.no).await.unwrap().unwrap();
    fixture.transport.mend("a");
    until(&hooks, |info| info.queued == 0).await;
    let calls = fixture.transport.calls("a", 1).await;
    assert_eq!(calls.last(), Some(&second));
    assert!(calls.iter().filter(|id| **id != first).count() == 1, "{calls:?}");
}
