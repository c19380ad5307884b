//! Adding an agent is one value: a toy with a process for each turn, added to the registry and to nothing else.

use std::path::Path;
use std::time::Duration;

use omniglot_agents::adapter::{Adapter, Compact, CreationOptions, Lifetime, Program, SkillsDir, Steer};
use omniglot_agents::launch::{Install, LaunchSpec, Start};
use omniglot_agents::{
    Command, Draft, DropReason, Input, Open, Output, Registry, SettingsPreview, Translator, replay,
};
use omniglot_runtime::config::Config;
use omniglot_runtime::{Backlog, Deadlines, Hub, HubConfig};
use omniglot_schema::{
    AgentCapabilities, AgentStability, ContentPart, CreateSessionRequest, ErrorCode, EventData,
    MessageRequest, QueueOnCancel, Resume, SessionId, StatusLabel, StopReason, UniversalEvent,
};
use omniglot_store::{Next, Options, Store};
use omniglot_timeline::check::{Allow, check};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Origin, Outcome, SessionStarted, TurnEnd};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::{guard_program, within};

/// Reads its prompt to the end of stdin; then tells its thread and, in one line, its pid, the thread that it was
/// started with, and the prompt.
const SCRIPT: &str = r#"
prompt=$(cat)
case "$prompt" in
    *die*) echo dying >&2; kill -9 $$ ;;
    *hang*) exec sleep 1000 ;;
esac
echo "{\"thread\": \"${1:-thread-$$}\"}"
echo "[$$, \"$1\", $prompt]"
"#;

const START: Start = Start { command: &["sh", "-c", SCRIPT, "toy"], ..Start::NONE };

/// Every field is written out: this is all that the daemon knows of an agent.
fn toy() -> Adapter {
    Adapter {
        id: "toy",
        protocol: "toy",
        stability: AgentStability::Unverified,
        lifetime: Lifetime::Turn,
        program: Program::Installed(&START),
        launch,
        prepare: None,
        translator: || Box::new(Toy),
        capabilities: AgentCapabilities::default(),
        preview_settings: |_, _| Ok(SettingsPreview::default()),
        steer: Steer::Queued,
        compact: Compact::Command(|_| None),
        history: None,
        resumable_from: |_| None,
        tools: &[],
        install: Install::Unknown,
        credentials: &[],
        skills: SkillsDir::None,
        takes: CreationOptions::NONE,
    }
}

fn launch(base: &LaunchSpec, open: &Open) -> LaunchSpec {
    let mut launch = base.clone();
    launch.args.extend(open.resume.clone());
    launch.args.extend(open.fork.then(|| "copy".to_owned()));
    launch
}

struct Toy;

impl Translator for Toy {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            Input::Started { argv, .. } => out.push(Draft::SessionStarted(started(argv)).into()),
            Input::Command(Command::Prompt(prompt)) => {
                let message = serde_json::json!({ "prompt": prompt.text }).to_string();
                out.push(Output::send(RawValue::from_string(message).unwrap()));
                out.push(Output::close_stdin());
            }
            Input::Command(Command::Cancel) => out.push(Output::interrupt()),
            Input::Sent(prompt) => {
                let content = vec![ContentPart::text(prompt.get())];
                out.push(Draft::TurnStarted(Origin::User { message_id: None, content }).into());
            }
            Input::Frame(frame) => out.extend(said(frame.get()).into_iter().map(Output::from)),
            Input::Command(_) | Input::Garbage { .. } | Input::Host { .. } | Input::Exited { .. } => {
                out.push(Output::dropped(DropReason::Internal));
            }
        }
    }
}

/// A process that was given no thread learns its own only from its first prompt.
fn started(argv: &[String]) -> SessionStarted {
    let mut words = argv.iter().skip_while(|word| *word != "toy").skip(1);
    let (thread, copies) = (words.next(), words.next().is_some());
    SessionStarted {
        native_session_id: thread
            .map(|thread| if copies { format!("copy of {thread}") } else { thread.clone() }),
        agent_version: Some("1.2.3".into()),
        resume: thread.map(|_| Resume::Native),
        capabilities: None,
    }
}

fn said(frame: &str) -> Vec<Draft> {
    let value: Value = serde_json::from_str(frame).unwrap();
    if let Some(thread) = value["thread"].as_str() {
        let native_session_id = Some(thread.to_owned());
        return vec![Draft::SessionStarted(SessionStarted {
            native_session_id,
            ..SessionStarted::default()
        })];
    }
    let key = || ItemKey::from("answer");
    let start = ItemStart { key: key(), native_id: None, parent: None, body: Body::assistant_text(frame) };
    vec![
        Draft::ItemStarted(start),
        Draft::ItemCompleted(ItemEnd { key: key(), outcome: Outcome::Completed, body: None }),
        Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn)),
    ]
}

/// A hub with the toy, and a session of it.
struct Toys {
    hub: Hub,
    store: Store,
    id: SessionId,
    dir: tempfile::TempDir,
}

impl Toys {
    async fn start() -> Self {
        Self::with("toy", |_| Config::default()).await
    }

    async fn with(agent: &str, config: impl FnOnce(&Path) -> Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (hub, store) = hub(dir.path(), config(dir.path())).await;
        let id = SessionId::parse("s").unwrap();
        let request = serde_json::json!({ "agent": agent, "directory": dir.path() });
        let request: CreateSessionRequest = serde_json::from_value(request).unwrap();
        assert!(hub.create(id.clone(), request).await.unwrap().healthy);
        Self { hub, store, id, dir }
    }

    async fn restart(self) -> Self {
        let Self { hub: old, store, id, dir } = self;
        within(old.shutdown()).await;
        within(store.close()).await.unwrap();
        let (hub, store) = hub(dir.path(), Config::default()).await;
        Self { hub, store, id, dir }
    }

    async fn post(&self, text: &str) {
        let message = serde_json::json!({ "message": text });
        let message: MessageRequest = serde_json::from_value(message).unwrap();
        self.hub.post(&self.id, message, None).await.unwrap();
    }

    /// All events up to the first after which there were so many like this; they are lawful.
    async fn until(&self, count: usize, like: fn(&UniversalEvent) -> bool) -> Vec<UniversalEvent> {
        let record = self.hub.record(&self.id).await.unwrap();
        let mut log = self.hub.subscribe(&record, 0);
        let mut events: Vec<UniversalEvent> = vec![];
        while events.iter().filter(|event| like(event)).count() < count {
            let Next::Events(more) = within(log.next(1 << 20)).await.unwrap() else {
                panic!("the log ended")
            };
            events.extend(more.iter().map(|event| serde_json::from_slice(&event.json).unwrap()));
        }
        assert_lawful(&events);
        events
    }

    async fn until_turns(&self, turns: usize) -> Vec<UniversalEvent> {
        self.until(turns, |event| matches!(event.data, EventData::TurnEnded(_))).await
    }

    async fn stop(self) {
        within(self.hub.shutdown()).await;
        within(self.store.close()).await.unwrap();
        drop(self.dir);
    }
}

async fn hub(dir: &Path, config: Config) -> (Hub, Store) {
    let store = Store::open(dir, Options::default()).unwrap();
    // Nothing here waits for one of these.
    let never = Duration::from_secs(3600);
    let hub = Hub::start(HubConfig {
        data_dir: dir.to_owned(),
        program: guard_program(),
        config,
        registry: registry(),
        store: store.clone(),
        deadlines: Deadlines { interrupt_producing: never, interrupt_silent: never, ..Deadlines::default() },
        backlog: Backlog::Deliver,
    });
    (hub.await.unwrap(), store)
}

fn registry() -> Registry {
    Registry::default().with(toy())
}

fn configured(toml: &str, registry: &Registry) -> Config {
    Config::parse(Path::new("omniglot.toml"), toml, registry).unwrap()
}

fn assert_lawful(events: &[UniversalEvent]) {
    let report = check(events, Allow { open_turn: true, ..Allow::default() });
    assert!(report.is_lawful(), "{report}");
}

#[derive(Debug, serde::Deserialize)]
struct Answer {
    pid: u32,
    /// The thread that its process was started with.
    thread: String,
    prompt: Prompt,
}

#[derive(Debug, serde::Deserialize)]
struct Prompt {
    prompt: String,
}

fn answers(events: &[UniversalEvent]) -> Vec<Answer> {
    let texts = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) => data.item.content.iter().find_map(|part| match part {
            ContentPart::Text { text } => serde_json::from_str(text).ok(),
            _ => None,
        }),
        _ => None,
    });
    texts.collect()
}

fn errors(events: &[UniversalEvent]) -> Vec<ErrorCode> {
    let code = |event: &UniversalEvent| match &event.data {
        EventData::Error(error) => error.code,
        _ => None,
    };
    events.iter().filter_map(code).collect()
}

fn stops(events: &[UniversalEvent]) -> Vec<StopReason> {
    let stop = |event: &UniversalEvent| match &event.data {
        EventData::TurnEnded(end) => Some(end.metadata.stop_reason),
        _ => None,
    };
    events.iter().filter_map(stop).collect()
}

fn assert_goes_on(events: &[UniversalEvent]) {
    let ended = events.iter().any(|event| matches!(event.data, EventData::SessionEnded(_)));
    assert!(!ended, "an exit is no end of the session: {events:?}");
    let lost = |part: &ContentPart| matches!(part, ContentPart::Status { label, .. } if label.ends_with(StatusLabel::MemoryLost.as_str()));
    let forgets = |event: &UniversalEvent| matches!(&event.data, EventData::ItemCompleted(data) if data.item.content.iter().any(lost));
    assert!(!events.iter().any(forgets), "the agent remembers: {events:?}");
}

#[tokio::test]
async fn each_turn_has_a_process_that_is_started_with_the_thread_of_the_first() {
    let toys = Toys::start().await;
    for text in ["one", "two", "three"] {
        toys.post(text).await;
    }
    let events = toys.until_turns(3).await;
    assert_goes_on(&events);
    let answers = answers(&events);
    let texts: Vec<_> = answers.iter().map(|answer| answer.prompt.prompt.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert!(answers[0].pid != answers[1].pid && answers[1].pid != answers[2].pid);
    let thread = format!("thread-{}", answers[0].pid);
    let threads: Vec<_> = answers.iter().map(|answer| answer.thread.as_str()).collect();
    assert_eq!(threads, ["", &thread, &thread]);
    assert_eq!(toys.hub.detail(&toys.id).await.unwrap().info.native_session_id, Some(thread));
    toys.stop().await;
}

#[tokio::test]
async fn a_process_that_dies_in_its_turn_ends_the_turn_and_not_the_session() {
    let toys = Toys::start().await;
    toys.post("live").await;
    toys.post("die").await;
    toys.post("live again").await;
    let events = toys.until_turns(3).await;
    assert_goes_on(&events);
    assert_eq!(errors(&events), [ErrorCode::AgentCrashed]);
    let told = events.iter().find_map(|event| match &event.data {
        EventData::Error(error) => error.details.clone(),
        _ => None,
    });
    assert_eq!(told.unwrap()["stderr"]["head"].as_str().map(str::trim), Some("dying"));
    let answers = answers(&events);
    assert_eq!(answers[1].prompt.prompt, "live again");
    assert_eq!(answers[1].thread, format!("thread-{}", answers[0].pid));
    toys.stop().await;
}

#[tokio::test]
async fn a_copy_of_a_session_has_no_process_before_its_first_turn() {
    let mut toys = Toys::start().await;
    toys.post("one").await;
    let events = toys.until_turns(1).await;
    let copy = SessionId::parse("copy").unwrap();
    toys.hub.fork(&toys.id, copy.clone(), None).await.unwrap();
    toys.id = copy;
    assert_eq!(toys.hub.detail(&toys.id).await.unwrap().state.connection, None);
    toys.post("two").await;
    // The first turn is that of the origin.
    let events_of_copy = toys.until_turns(2).await;
    assert_goes_on(&events_of_copy);
    let thread = format!("copy of thread-{}", answers(&events)[0].pid);
    assert_eq!(answers(&events_of_copy)[1].thread, thread);
    toys.stop().await;
}

#[tokio::test]
async fn a_cancelled_turn_is_interrupted_at_once_and_the_session_goes_on() {
    let toys = Toys::start().await;
    toys.post("hang").await;
    toys.until(1, |event| matches!(event.data, EventData::TurnStarted(_))).await;
    toys.hub.cancel(&toys.id, QueueOnCancel::Keep).await.unwrap();
    toys.until_turns(1).await;
    toys.post("go on").await;
    let events = toys.until_turns(2).await;
    assert_eq!(stops(&events), [StopReason::Cancelled, StopReason::EndTurn]);
    assert!(!events.iter().any(|event| matches!(event.data, EventData::SessionEnded(_))));
    toys.stop().await;
}

#[tokio::test]
async fn the_thread_of_a_session_survives_the_daemon() {
    let toys = Toys::start().await;
    toys.post("one").await;
    toys.until_turns(1).await;
    let toys = toys.restart().await;
    toys.post("two").await;
    let events = toys.until_turns(2).await;
    assert_goes_on(&events);
    let answers = answers(&events);
    assert_eq!(answers[1].thread, format!("thread-{}", answers[0].pid));
    toys.stop().await;
}

#[tokio::test]
async fn another_agent_may_be_configured_to_speak_like_the_toy() {
    let toys = Toys::with("mine", |dir| {
        std::os::unix::fs::symlink("/bin/sh", dir.join("shell")).unwrap();
        let command = [dir.join("shell").to_str().unwrap(), "-c", SCRIPT, "toy"].map(str::to_owned);
        let toml =
            format!("default_agent = \"mine\"\n[agents.mine]\nprotocol = \"toy\"\ncommand = {command:?}\n");
        configured(&toml, &registry())
    });
    let toys = toys.await;
    assert_eq!(toys.hub.default_agent(), "mine");
    toys.post("one").await;
    assert_eq!(answers(&toys.until_turns(1).await)[0].prompt.prompt, "one");

    std::fs::remove_file(toys.dir.path().join("shell")).unwrap();
    toys.post("two").await;
    let events = toys.until_turns(2).await;
    assert_eq!(stops(&events), [StopReason::EndTurn, StopReason::Error]);
    assert_eq!(errors(&events), [ErrorCode::AgentUnavailable]);
    toys.stop().await;
}

#[test]
fn a_registered_agent_may_be_the_default() {
    let toml = "default_agent = \"toy\"\n";
    assert_eq!(configured(toml, &registry()).default_agent(), "toy");
    assert!(Config::parse(Path::new("omniglot.toml"), toml, &Registry::default()).is_err());
}

#[tokio::test]
async fn the_toy_is_listed_as_an_agent_that_nobody_has_tested_and_its_check_tells_its_version() {
    let toys = Toys::start().await;
    let listed = toys.hub.agents().into_iter().find(|agent| agent.id == "toy").unwrap();
    assert_eq!(listed.stability, Some(AgentStability::Unverified));
    assert!(listed.installed);
    let checked = within(toys.hub.check_agent("toy")).await.unwrap();
    assert!(checked.healthy);
    assert_eq!(checked.agent.version.as_deref(), Some("1.2.3"));
    toys.stop().await;
}

#[test]
fn a_recording_of_the_toy_is_one_session_of_several_processes() {
    let recording = r#"
        {"t":0,"ch":"proc","data":{"event":"spawn","argv":["toy"]}}
        {"t":1,"ch":"stdin","data":{"prompt":"die"}}
        {"t":2,"ch":"proc","data":{"event":"stdin_closed"}}
        {"t":3,"ch":"stdout","data":{"thread":"thread-7"}}
        {"t":4,"ch":"proc","data":{"event":"exit","code":-9}}
        {"t":5,"ch":"proc","data":{"event":"spawn","argv":["toy","thread-7"]}}
        {"t":6,"ch":"stdin","data":{"prompt":"live"}}
        {"t":7,"ch":"stdout","data":{"thread":"thread-7"}}
        {"t":8,"ch":"driver","data":"closes stdin"}
        {"t":9,"ch":"stdout","data":[8,"thread-7",{"prompt":"live"}]}
        {"t":10,"ch":"proc","data":{"event":"exit","code":0}}
    "#;
    let sessions = replay::sessions(&toy(), recording).unwrap();
    let events = replay::convert(&toy(), SessionId::parse("recorded").unwrap(), &sessions[0]).unwrap();
    assert_lawful(&events);
    assert_goes_on(&events);
    assert_eq!(stops(&events), [StopReason::Error, StopReason::EndTurn]);
    assert_eq!(errors(&events), [ErrorCode::AgentCrashed]);
    assert_eq!(answers(&events)[0].pid, 8);
    assert_eq!(events.last().unwrap().native_session_id.as_deref(), Some("thread-7"));
}
