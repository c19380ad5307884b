//! Pictures, long lists and attached files, over real HTTP and a real child process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    CommandInfo, ContentPart, CreateSessionRequest, EventData, ItemKind, ItemRole, MessageAttachment,
    MessageRequest, PermissionReply, UniversalEvent,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, message, status_of, text_of};
use serde_json::{Value, json};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// The images of completed items, with the kind of each item.
fn images(events: &[UniversalEvent]) -> Vec<(ItemKind, Option<ItemRole>, String)> {
    let mut found = vec![];
    for event in events {
        let EventData::ItemCompleted(data) = &event.data else { continue };
        for part in &data.item.content {
            if let ContentPart::Image { path, mime } = part {
                assert_eq!(mime.as_deref(), Some("image/png"));
                found.push((data.item.kind, data.item.role, path.clone()));
            }
        }
    }
    found
}

async fn get(daemon: &Daemon, path: &str, etag: Option<&str>) -> reqwest::Response {
    let request = reqwest::Client::new().get(format!("{}{path}", daemon.url)).bearer_auth(&daemon.token);
    let request = etag.into_iter().fold(request, |request, etag| request.header("If-None-Match", etag));
    request.send().await.unwrap()
}

fn header<'a>(response: &'a reqwest::Response, name: &str) -> &'a str {
    response.headers().get(name).unwrap().to_str().unwrap()
}

#[tokio::test]
async fn a_picture_is_kept_once_and_served_to_those_with_the_token() {
    let mut daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[image]] [[image:tool]] [[image]]", PermissionReply::Once).await;
    let shown = images(&session.history().await);
    let kinds: Vec<_> = shown.iter().map(|(kind, role, _)| (*kind, role.unwrap())).collect();
    let (said, made) = ((ItemKind::Message, ItemRole::Assistant), (ItemKind::ToolResult, ItemRole::Tool));
    assert_eq!(kinds, [said, made, said]);
    let path = shown[0].2.clone();
    assert!(path.starts_with("/v1/sessions/s/blobs/") && path.ends_with(".png"), "{path}");
    assert!(shown.iter().all(|(_, _, other)| *other == path), "the same picture has one name");

    let response = get(&daemon, &path, None).await;
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, "content-type"), "image/png");
    assert_eq!(header(&response, "x-content-type-options"), "nosniff");
    assert!(header(&response, "cache-control").contains("immutable"));
    let etag = header(&response, "etag").to_owned();
    assert!(response.bytes().await.unwrap().starts_with(b"\x89PNG"));
    assert_eq!(get(&daemon, &path, Some(&etag)).await.status(), 304);
    let unknown = get(&daemon, "/v1/sessions/s/blobs/none.png", None).await;
    assert_eq!(
        (unknown.status().as_u16(), header(&unknown, "content-type")),
        (404, "application/problem+json")
    );
    let anonymous = reqwest::get(format!("{}{path}", daemon.url)).await.unwrap();
    assert_eq!(anonymous.status(), 401);

    daemon.kill();
    let daemon = daemon.restart();
    assert!(daemon.client.blob(&path).await.unwrap().starts_with(b"\x89PNG"));
    daemon.client.delete(&session.id).await.unwrap();
    assert_eq!(status_of(daemon.client.blob(&path).await), 404);
}

#[tokio::test]
async fn a_long_list_is_a_path_in_event_and_state_alike() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[commands:1000]]", PermissionReply::Once).await;
    let events = session.history().await;
    let told = events.iter().rev().find_map(|event| match &event.data {
        EventData::SessionUpdated(patch) => patch.commands.clone().flatten(),
        _ => None,
    });
    let state = daemon.client.detail(&session.id).await.unwrap().state;
    assert_eq!(told, state.commands);
    let path = state.commands.as_ref().unwrap().path().expect("too long to stand in place").to_owned();
    let commands: Vec<CommandInfo> =
        serde_json::from_slice(&daemon.client.blob(&path).await.unwrap()).unwrap();
    assert_eq!((commands.len(), commands[999].name.as_str()), (1000, "command-999"));

    session.turn("[[commands:2]]", PermissionReply::Once).await;
    let state = daemon.client.detail(&session.id).await.unwrap().state;
    assert_eq!(state.commands.unwrap().inline().unwrap().len(), 2);
    session.history().await;
}

fn attach(text: &str, paths: &[&str]) -> MessageRequest {
    let file = |path: &&str| MessageAttachment { path: (*path).to_owned(), mime: None, filename: None };
    MessageRequest { attachments: paths.iter().map(file).collect(), ..message(text) }
}

fn ended(event: &UniversalEvent) -> bool {
    matches!(event.data, EventData::TurnEnded(_))
}

const PIXEL: &[u8] = b"\x89PNG not really";

#[tokio::test]
async fn attachments_reach_the_agent_in_their_own_form_and_the_user_item_shows_them() {
    let daemon = daemon();
    let work = daemon.work();
    std::fs::write(work.join("a.png"), PIXEL).unwrap();
    std::fs::write(work.join("notes.txt"), "remember the milk").unwrap();
    std::fs::write(work.join("data.bin"), b"\0\xff").unwrap();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let request = attach("[[attachments]]", &["a.png", "notes.txt", "data.bin"]);
    session.client.post(&session.id, &request, None).await.unwrap();
    session.wait_for(0, ended).await;
    let events = session.history().await;
    let work = work.canonicalize().unwrap();
    let uri = |name: &str| format!("file://{}", work.join(name).display());
    let said = format!(
        "Attachments: image image/png of 20 base64 bytes from {}; text of 17 bytes from {}; link data.bin to {}",
        uri("a.png"),
        uri("notes.txt"),
        uri("data.bin"),
    );
    assert_eq!(text_of(&events), said);

    let user = events.iter().find_map(|event| match &event.data {
        EventData::ItemCompleted(data) if data.item.role == Some(ItemRole::User) => Some(&data.item.content),
        _ => None,
    });
    let [ContentPart::Text { .. }, ContentPart::Image { path, .. }, file, other] = &user.unwrap()[..] else {
        panic!("{user:?}")
    };
    assert_eq!(daemon.client.blob(path).await.unwrap(), PIXEL);
    for (part, name) in [(file, "notes.txt"), (other, "data.bin")] {
        let ContentPart::FileRef { path, .. } = part else { panic!("{part:?}") };
        assert_eq!(std::path::Path::new(path), work.join(name));
    }
}

#[tokio::test]
async fn attachments_of_a_message_that_waited_are_read_again_after_a_restart() {
    let mut daemon = daemon();
    std::fs::write(daemon.work().join("notes.txt"), "remember the milk").unwrap();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    let request = attach("[[attachments]]", &["notes.txt"]);
    session.client.post(&session.id, &request, None).await.unwrap();
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let stopped = session.wait_for(0, ended).await;
    session.wait_for(stopped.sequence, ended).await;
    let said = text_of(&session.history().await);
    assert!(said.starts_with("Attachments: text of 17 bytes from file://"), "{said}");
}

#[tokio::test]
async fn a_message_whose_agent_does_not_start_still_shows_its_picture() {
    let script = format!("test -e gone && exit 1; exec '{}' mock-agent", env!("CARGO_BIN_EXE_omniglot"));
    let config = format!("[agents.brief]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\n");
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    std::fs::write(daemon.work().join("a.png"), PIXEL).unwrap();
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("brief")).await;
    session.turn("[[exit]]", PermissionReply::Once).await;
    let over = session.wait_for(0, |event| matches!(event.data, EventData::SessionEnded(_))).await;
    std::fs::write(daemon.work().join("gone"), "").unwrap();
    session.client.post(&session.id, &attach("look", &["a.png"]), None).await.unwrap();
    session.wait_for(over.sequence, ended).await;
    let shown = images(&session.history().await);
    assert_eq!(daemon.client.blob(&shown[0].2).await.unwrap(), PIXEL);
}

/// Returns a script that asks for a write of `text`, and reports it when it is allowed.
fn writes(text: &str) -> String {
    let diff = json!([{"type": "diff", "path": "/w/big.txt", "oldText": null, "newText": text}]);
    let options = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "c", "content": diff});
    let update = |update: Value| json!({"send": {"method": "session/update", "params": {"sessionId": "${session}", "update": update}}});
    let lines = [
        json!({"wait": {"method": "session/prompt"}}),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write", "kind": "edit", "status": "pending"}),
        ),
        json!({"send": {"id": "ask", "method": "session/request_permission", "params": {"sessionId": "${session}", "toolCall": call, "options": options}}}),
        json!({"wait": {"answer": "ask"}}),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": diff}),
        ),
        json!({"send": {"id": "${prompt_id}", "result": {"stopReason": "end_turn"}}}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A9: the request for a large edit, the reply and the result name one blob.
#[tokio::test]
async fn the_diff_of_a_large_write_is_kept_once() {
    const SIZE: usize = 4 * 1024 * 1024;
    let text: String = (0..).map(|n| format!("{n:015}\n")).take(SIZE / 16).collect();
    let script = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&script, writes(&text)).unwrap();
    let program = env!("CARGO_BIN_EXE_omniglot");
    let config = format!(
        "[agents.scripted]\nprotocol = \"acp\"\ncommand = [{program:?}, \"mock-agent\", \"--script\", {:?}]\n",
        script.path()
    );
    let mut daemon = Setup::new(program).config(config).start();
    let session =
        SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("scripted")).await;
    session.turn("write", PermissionReply::Once).await;
    let mut paths = vec![];
    for mut event in session.history().await {
        assert!(serde_json::to_string(&event).unwrap().len() < 64 * 1024, "an event has the diff");
        event.data.visit_blob_paths(&mut |path| {
            paths.push(path.to_owned());
            None
        });
    }
    assert_eq!(paths.len(), 3, "the request, the reply and the result: {paths:?}");
    assert!(paths.iter().all(|path| *path == paths[0] && path.ends_with(".diff")), "{paths:?}");
    let diff = daemon.client.blob(&paths[0]).await.unwrap();
    assert_eq!(diff.iter().filter(|byte| **byte == b'\n').count(), SIZE / 16 + 3);
    daemon.stop();
    let kept = std::fs::read_dir(daemon.data().join("private")).unwrap();
    let kept: u64 = kept.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(kept < 2 * SIZE as u64, "{kept} bytes are kept of {SIZE}");
}
