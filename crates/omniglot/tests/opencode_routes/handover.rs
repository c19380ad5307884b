//! A session without a turn moves to the agent that its first prompt names.

use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_schema::SessionId;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::message;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Face, daemon, kinds, said, text_prompt};

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

/// A daemon with a second agent.
fn with_agent(name: &str, command: &[&str]) -> Daemon {
    let toml = format!("[agents.{name}]\nprotocol = \"acp\"\ncommand = {}\n", json!(command));
    Setup::new(OMNIGLOT).config(toml).start()
}

/// A second agent, which reports its start and waits for a release.
pub(crate) struct Gate {
    dir: tempfile::TempDir,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("mkfifo").arg(dir.path().join("begun")).arg(dir.path().join("go")).status();
        assert!(made.unwrap().success());
        Self { dir }
    }

    pub(crate) fn daemon(&self) -> Daemon {
        let script = format!(
            "echo > {0}/begun; read line < {0}/go; exec {OMNIGLOT} mock-agent",
            self.dir.path().display()
        );
        with_agent("late", &["sh", "-c", &script])
    }

    pub(crate) async fn begun(&self) {
        self.wait("begun", |path| std::fs::read(path).map(drop)).await;
    }

    pub(crate) async fn open(&self) {
        self.wait("go", |path| std::fs::write(path, "\n")).await;
    }

    /// Waits for the other end of a pipe, which may take its time.
    async fn wait(&self, pipe: &str, act: fn(&Path) -> std::io::Result<()>) {
        let path: PathBuf = self.dir.path().join(pipe);
        tokio::task::spawn_blocking(move || act(&path)).await.unwrap().unwrap();
    }
}

fn prompt_for(agent: &str, text: &str) -> Value {
    let mut body = text_prompt(text);
    body["model"] = json!({ "providerID": agent, "modelID": "default" });
    body
}

fn ours(session: &str) -> SessionId {
    SessionId::parse(session.strip_prefix("ses_").unwrap()).unwrap()
}

#[tokio::test]
async fn nothing_is_lost_while_a_session_changes_hands() {
    let gate = Gate::new();
    let daemon = gate.daemon();
    let face = Face::at(&daemon, "/opencode/agents/mock");
    let session = face.post("/session", json!({ "title": "Kept" })).await;
    let session = session["id"].as_str().unwrap().to_owned();
    let path = format!("/session/{session}");
    let mut events = face.stream("/global/event").await;
    let prompt = tokio::spawn({
        let (face, path) = (face.clone(), format!("{path}/message"));
        async move { face.post(&path, prompt_for("late", "[[text:1]]")).await }
    });
    gate.begun().await;
    assert_eq!(face.get(&path).await["title"], "Kept", "it is there all the time");
    let other = tokio::spawn({
        let (client, id) = (daemon.client.clone(), ours(&session));
        async move { client.post(&id, &message("[[text:2]]"), None).await }
    });
    gate.open().await;
    let answer = prompt.await.unwrap();
    assert_eq!(answer["info"]["providerID"], "late", "{answer}");
    other.await.unwrap().expect("the message is taken");
    let mut seen = events.until("session.idle").await;
    seen.extend(events.until("session.idle").await);
    assert!(!kinds(&seen).contains(&"session.deleted"), "{seen:?}");
    let messages = face.get(&format!("{path}/message")).await;
    let messages = messages.as_array().unwrap();
    let mut asked: Vec<String> =
        messages.iter().filter(|message| message["info"]["role"] == "user").map(said).collect();
    asked.sort();
    assert_eq!(asked, ["[[text:1]]", "[[text:2]]"]);
    assert_eq!(face.get(&path).await["title"], "Kept");
}

#[tokio::test]
async fn a_session_stays_as_it_is_when_the_other_agent_does_not_start() {
    let daemon = with_agent("broken", &["false"]);
    let face = Face::at(&daemon, "/opencode/agents/mock");
    let session = face.session().await;
    let path = format!("/session/{session}/message");
    let body = Some(prompt_for("broken", "[[text:1]]"));
    let (status, message) = face.refused(Method::POST, &path, body).await;
    assert!(status >= 400 && message.contains("broken"), "{status} {message}");
    let answer = face.prompt(&session, "[[text:1]]").await;
    assert_eq!(answer["info"]["providerID"], "mock");
}

#[tokio::test]
async fn a_copy_belongs_to_its_agent_from_the_start() {
    let daemon = with_agent("other", &[OMNIGLOT, "mock-agent"]);
    let face = Face::at(&daemon, "/opencode/agents/mock");
    let session = face.session().await;
    face.prompt(&session, "[[text:1]]").await;
    let copy = face.post(&format!("/session/{session}/fork"), json!({})).await;
    let path = format!("/session/{}/message", copy["id"].as_str().unwrap());
    let body = Some(prompt_for("other", "[[text:1]]"));
    let (status, message) = face.refused(Method::POST, &path, body).await;
    assert_eq!((status, message.contains("driven by mock")), (400, true), "{message}");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_refused() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let path = format!("/session/{session}/message");
    let body = Some(prompt_for("nobody", "[[text:1]]"));
    let (status, message) = face.refused(Method::POST, &path, body).await;
    assert!(status >= 400 && message.contains("nobody"), "{status} {message}");
}
