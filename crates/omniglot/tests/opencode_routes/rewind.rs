//! B5: the conversation is taken back from a message on, with its changes of files, and brought back.

use std::path::PathBuf;

use omniglot_testkit::daemon::Daemon;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Events, Face, daemon, event};

const FILE: &str = "README.md";

/// A session in which every turn adds a line to a file.
struct Edited {
    face: Face,
    session: String,
    events: Events,
    file: PathBuf,
}

impl Edited {
    async fn new(daemon: &Daemon) -> Self {
        let file = daemon.work().join(FILE);
        std::fs::write(&file, "old\n").unwrap();
        let face = Face::of_a_program(daemon);
        let session = face.session().await;
        let events = face.stream("/event").await;
        Self { face, session, events, file }
    }

    /// Returns the id of the message.
    async fn edit(&mut self) -> String {
        self.face.begin(&self.session, "[[edit]]").await;
        let asked = self.events.until("permission.asked").await;
        let id = event(asked.last().unwrap())["properties"]["id"].as_str().unwrap().to_owned();
        self.face.post(&format!("/permission/{id}/reply"), json!({ "reply": "once" })).await;
        self.events.until("session.idle").await;
        let messages = self.messages().await;
        let mut users = messages.iter().filter(|message| message["info"]["role"] == "user");
        users.next_back().unwrap()["info"]["id"].as_str().unwrap().to_owned()
    }

    async fn messages(&self) -> Vec<Value> {
        let messages = self.face.get(&format!("/session/{}/message", self.session)).await;
        messages.as_array().unwrap().clone()
    }

    fn path(&self, action: &str) -> String {
        format!("/session/{}/{action}", self.session)
    }

    async fn revert(&self, message: &str) -> Value {
        self.face.post(&self.path("revert"), json!({ "messageID": message })).await
    }

    async fn refused(&self, message: &str) -> (u16, String) {
        let body = Some(json!({ "messageID": message }));
        self.face.refused(Method::POST, &self.path("revert"), body).await
    }

    fn lines(&self) -> usize {
        std::fs::read_to_string(&self.file).unwrap().lines().count()
    }
}

#[tokio::test]
async fn messages_are_taken_back_and_brought_back_one_after_the_other() {
    let daemon = daemon();
    let mut it = Edited::new(&daemon).await;
    let (first, second, third) = (it.edit().await, it.edit().await, it.edit().await);
    assert_eq!(it.lines(), 4);
    let session = it.revert(&second).await;
    assert_eq!((&session["revert"]["messageID"], it.lines()), (&json!(second), 2), "{session}");
    let diff = session["revert"]["diff"].as_str().unwrap();
    assert!(diff.contains(&format!("+++ b/{FILE}")), "clients list the files of it: {diff}");
    assert_eq!(it.messages().await.len(), 6, "clients hide them, and can bring them back");
    let told = it.events.until("tui.toast.show").await;
    let toast = event(told.last().unwrap())["properties"]["message"].as_str().unwrap();
    assert!(toast.contains(FILE) && toast.contains("still remembers"), "{toast}");
    let told = it.events.until("session.updated").await;
    assert_eq!(event(told.last().unwrap())["properties"]["info"]["revert"]["messageID"], second);
    let listed = it.face.get("/session").await;
    assert_eq!(listed[0]["revert"]["messageID"], json!(second), "{listed}");
    it.revert(&first).await;
    assert_eq!(it.lines(), 1);
    // `/redo` names the next message that stays away.
    it.revert(&third).await;
    assert_eq!(it.lines(), 3);
    let session = it.face.post(&it.path("unrevert"), json!({})).await;
    assert_eq!((session.get("revert"), it.lines()), (None, 4), "{session}");
    let listed = it.face.get(&format!("/session/{}", it.session)).await;
    assert_eq!(listed.get("revert"), None);
}

#[tokio::test]
async fn a_new_prompt_removes_what_was_taken_back() {
    let daemon = daemon();
    let mut it = Edited::new(&daemon).await;
    let (first, second) = (it.edit().await, it.edit().await);
    let answer = it.messages().await.last().unwrap()["info"]["id"].as_str().unwrap().to_owned();
    let session = it.revert(&answer).await;
    assert_eq!(session["revert"]["messageID"], second, "an answer goes with its message");
    let third = it.edit().await;
    let ids: Vec<Value> = it.messages().await.iter().map(|message| message["info"]["id"].clone()).collect();
    assert_eq!((ids.len(), &ids[0], &ids[2]), (4, &json!(first), &json!(third)));
    let session = it.face.get(&format!("/session/{}", it.session)).await;
    assert_eq!((session.get("revert"), it.lines()), (None, 3));
    assert_eq!(it.refused(&second).await.0, 404);
    it.revert(&first).await;
    assert_eq!(it.lines(), 1);
}

#[tokio::test]
async fn a_file_that_somebody_has_changed_since_keeps_everything_as_it_is() {
    let daemon = daemon();
    let mut it = Edited::new(&daemon).await;
    let first = it.edit().await;
    std::fs::write(&it.file, "mine\n").unwrap();
    it.edit().await;
    assert_eq!(it.lines(), 2);
    // The second turn can be taken back, the first cannot: it stays at both.
    let (status, message) = it.refused(&first).await;
    assert!(status == 409 && message.contains(FILE), "{status} {message}");
    assert!(
        message.contains("omniglot sessions revert --force") && !message.contains("unrevert"),
        "{message}"
    );
    let told = it.events.until("tui.toast.show").await;
    assert_eq!(event(told.last().unwrap())["properties"]["message"], message);
    assert_eq!(it.lines(), 2);
    let session = it.face.get(&format!("/session/{}", it.session)).await;
    assert_eq!(session.get("revert"), None, "{session}");
}

#[tokio::test]
async fn nothing_is_taken_back_while_a_turn_runs() {
    let daemon = daemon();
    let mut it = Edited::new(&daemon).await;
    let first = it.edit().await;
    it.face.begin(&it.session, "[[text:1]] [[silence]]").await;
    it.events.until("message.part.delta").await;
    let (status, message) = it.refused(&first).await;
    assert_eq!(status, 409, "{message}");
    let told = it.events.until("tui.toast.show").await;
    assert_eq!(event(told.last().unwrap())["properties"]["message"], message);
    it.face.post(&it.path("abort"), json!({})).await;
}

#[tokio::test]
async fn a_message_that_is_not_there_or_only_a_part_of_one_is_refused() {
    let daemon = daemon();
    let mut it = Edited::new(&daemon).await;
    let message = it.edit().await;
    assert_eq!(it.refused("msg_none").await.0, 404);
    let body = Some(json!({ "messageID": message, "partID": "prt_1" }));
    let (status, said) = it.face.refused(Method::POST, &it.path("revert"), body).await;
    assert!(status == 400 && said.contains("partID"), "{status} {said}");
    assert_eq!(it.lines(), 2);
    // Nothing is taken back, so there is nothing to do.
    it.face.post(&it.path("unrevert"), json!({})).await;
    assert_eq!(it.lines(), 2);
}

/// Nothing can be restored where nothing is kept.
#[tokio::test]
async fn without_snapshots_an_undo_says_why() {
    let daemon = omniglot_testkit::daemon::Setup::new(env!("CARGO_BIN_EXE_omniglot"))
        .config("snapshots = false\n")
        .start();
    let mut it = Edited::new(&daemon).await;
    let first = it.edit().await;
    let (status, message) = it.refused(&first).await;
    assert!(status == 409 && message.contains("snapshots = false"), "{status} {message}");
}
