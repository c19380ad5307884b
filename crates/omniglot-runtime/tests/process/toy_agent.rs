//! Adding an agent is one value: a toy with a process for each turn, added to the registry and to nothing else.

use std::path::Path;

use omniglot_agents::adapter::{Adapter, Lifetime, Program};
use omniglot_agents::launch::{Install, Start};
use omniglot_agents::{Command, Draft, DropReason, Input, Output, Registry, Translator, acp};
use omniglot_runtime::config::Config;
use omniglot_runtime::{Backlog, Deadlines, Hub, HubConfig};
use omniglot_schema::{
    AgentStability, ContentPart, CreateSessionRequest, ErrorCode, EventData, MessageRequest, Resume,
    SessionId, StopReason, UniversalEvent,
};
use omniglot_store::{Next, Options, Store};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Origin, Outcome, SessionStarted, TurnEnd};
use serde_json::value::RawValue;

use crate::support::{guard_program, within};

/// Says its pid and the prompt in one line, and exits; the prompt `die` kills it.
const SCRIPT: &str = r#"read -r prompt; case "$prompt" in *die*) kill -9 $$;; esac; echo "[$$, $prompt]""#;

const START: Start =
    Start { command: &["sh", "-c", SCRIPT], env: &[], settings: None, install: Install::Unknown, login: "" };

const TOY: Adapter = Adapter {
    id: "toy",
    protocol: "toy",
    stability: AgentStability::Unverified,
    lifetime: Lifetime::Turn,
    program: Program::Installed(&START),
    translator: || Box::new(Toy),
    ..acp::PLAIN
};

struct Toy;

impl Translator for Toy {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        let item = || ItemKey::from("answer");
        match input {
            Input::Started { .. } => out.push(Draft::SessionStarted(started()).into()),
            Input::Command(Command::Prompt(prompt)) => {
                let text = serde_json::to_string(&prompt.text).unwrap();
                out.push(Output::send(RawValue::from_string(text).unwrap()));
            }
            Input::Sent(prompt) => {
                let content = vec![ContentPart::text(prompt.get())];
                out.push(Draft::TurnStarted(Origin::User { message_id: None, content }).into());
            }
            Input::Frame(frame) => {
                let body = Body::assistant_text(frame.get());
                let start = ItemStart { key: item(), native_id: None, parent: None, body };
                out.push(Draft::ItemStarted(start).into());
                let end = ItemEnd { key: item(), outcome: Outcome::Completed, body: None };
                out.push(Draft::ItemCompleted(end).into());
                out.push(Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn)).into());
            }
            Input::Command(_) | Input::Garbage { .. } | Input::Host { .. } | Input::Exited { .. } => {
                out.push(Output::dropped(DropReason::Internal));
            }
        }
    }
}

fn started() -> SessionStarted {
    SessionStarted {
        native_session_id: Some("native".into()),
        resume: Some(Resume::Native),
        ..SessionStarted::default()
    }
}

struct Toys {
    hub: Hub,
    store: Store,
    id: SessionId,
    dir: tempfile::TempDir,
}

impl Toys {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let hub = Hub::start(HubConfig {
            data_dir: dir.path().to_owned(),
            program: guard_program(),
            config: Config::default(),
            registry: Registry::default().with(TOY),
            store: store.clone(),
            deadlines: Deadlines::default(),
            backlog: Backlog::Deliver,
        });
        let hub = hub.await.unwrap();
        let id = SessionId::parse("s").unwrap();
        let request = request(dir.path());
        assert!(hub.create(id.clone(), request).await.unwrap().healthy);
        Self { hub, store, id, dir }
    }

    async fn post(&self, text: &str) {
        let message = serde_json::json!({ "message": text });
        let message: MessageRequest = serde_json::from_value(message).unwrap();
        self.hub.post(&self.id, message, None).await.unwrap();
    }

    /// All events up to the end of this many turns.
    async fn until_turns(&self, turns: usize) -> Vec<UniversalEvent> {
        let record = self.hub.record(&self.id).await.unwrap();
        let mut log = self.hub.subscribe(&record, 0);
        let mut events: Vec<UniversalEvent> = vec![];
        let ended = |event: &UniversalEvent| matches!(event.data, EventData::TurnEnded(_));
        while events.iter().filter(|event| ended(event)).count() < turns {
            let Next::Events(more) = within(log.next(1 << 20)).await.unwrap() else {
                panic!("the log ended")
            };
            events.extend(more.iter().map(|event| serde_json::from_slice(&event.json).unwrap()));
        }
        events
    }

    async fn stop(self) {
        within(self.hub.shutdown()).await;
        within(self.store.close()).await.unwrap();
        drop(self.dir);
    }
}

fn request(dir: &Path) -> CreateSessionRequest {
    serde_json::from_value(serde_json::json!({ "agent": "toy", "directory": dir })).unwrap()
}

fn answers(events: &[UniversalEvent]) -> Vec<(u32, String)> {
    let texts = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) => data.item.content.iter().find_map(|part| match part {
            ContentPart::Text { text } => serde_json::from_str(text).ok(),
            _ => None,
        }),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn an_agent_with_a_process_for_each_turn_goes_on_after_its_exits() {
    let toys = Toys::start().await;
    for text in ["one", "two", "three"] {
        toys.post(text).await;
    }
    let events = toys.until_turns(3).await;
    let answers = answers(&events);
    assert_eq!(answers.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["one", "two", "three"]);
    assert!(answers[0].0 != answers[1].0 && answers[1].0 != answers[2].0, "each turn has its own process");
    let ends =
        |event: &UniversalEvent| matches!(event.data, EventData::SessionEnded(_) | EventData::Error(_));
    assert!(!events.iter().any(ends), "an exit after its turn is no end of the session");
    toys.stop().await;
}

#[tokio::test]
async fn a_process_that_dies_in_its_turn_ends_the_turn_and_not_the_session() {
    let toys = Toys::start().await;
    toys.post("die").await;
    toys.post("live").await;
    let events = toys.until_turns(2).await;
    let errors = events.iter().filter_map(|event| match &event.data {
        EventData::Error(error) => error.code,
        _ => None,
    });
    assert_eq!(errors.collect::<Vec<_>>(), [ErrorCode::AgentCrashed]);
    assert!(!events.iter().any(|event| matches!(event.data, EventData::SessionEnded(_))));
    assert_eq!(answers(&events).last().unwrap().1, "live");
    toys.stop().await;
}

#[tokio::test]
async fn the_toy_is_listed_as_an_agent_that_nobody_has_tested() {
    let toys = Toys::start().await;
    let listed = toys.hub.agents().into_iter().find(|agent| agent.id == "toy").unwrap();
    assert_eq!(listed.stability, Some(AgentStability::Unverified));
    assert!(listed.installed);
    toys.stop().await;
}
