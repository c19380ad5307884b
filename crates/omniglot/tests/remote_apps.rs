//! An app beside the daemon's machine: ids made by the daemon, uploads, open requests, lists with state, titles.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    ContentPart, CreateSessionRequest, EventData, MessageAttachment, MessageRequest, PermissionReply,
    SessionPatch, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, message, session_id, status_of};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn request(daemon: &Daemon, method: Method, path: &str) -> RequestBuilder {
    reqwest::Client::new().request(method, format!("{}{path}", daemon.url)).bearer_auth(&daemon.token)
}

async fn answer(request: RequestBuilder, status: u16) -> Value {
    let response = request.send().await.unwrap();
    let found = response.status().as_u16();
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_session_gets_an_id_that_nobody_has_used() {
    let daemon = daemon();
    let create = || request(&daemon, Method::POST, "/v1/sessions").json(&json!({"agent": "mock"}));
    let (first, second) = (answer(create(), 200).await, answer(create(), 200).await);
    assert_eq!(first["healthy"], true);
    let id = first["sessionId"].as_str().unwrap();
    assert!(id.starts_with("ses_") && first["sessionId"] != second["sessionId"], "{first} {second}");
    SessionDriver::of(&daemon.client, id).turn("[[text:1]]", PermissionReply::Once).await;
    answer(request(&daemon, Method::POST, "/v1/sessions").json(&json!({"agent": "nobody"})), 400).await;
    assert_eq!(daemon.client.list(&Default::default()).await.unwrap().len(), 2);
}

async fn upload(daemon: &Daemon, query: &str, mime: &str, bytes: Vec<u8>) -> reqwest::Response {
    let path = format!("/v1/sessions/s/uploads{query}");
    let request = request(daemon, Method::POST, &path).header("content-type", mime).body(bytes);
    request.send().await.unwrap()
}

#[tokio::test]
async fn an_uploaded_file_is_an_attachment_until_its_session_is_gone() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let response =
        upload(&daemon, "?name=../a%20note.txt", "text/plain", b"remember the milk".to_vec()).await;
    assert_eq!(response.status(), 200);
    let file: MessageAttachment = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!((file.mime.as_deref(), file.filename.as_deref()), (Some("text/plain"), Some("../a note.txt")));
    assert_eq!(std::fs::read(&file.path).unwrap(), b"remember the milk");
    assert!(file.path.starts_with(daemon.data().join("shared").to_str().unwrap()), "{}", file.path);
    let again = upload(&daemon, "?name=../a%20note.txt", "text/plain", b"remember the milk".to_vec()).await;
    let again: MessageAttachment = serde_json::from_str(&again.text().await.unwrap()).unwrap();
    assert_eq!(again, file, "the same content is the same file");
    let message = MessageRequest { attachments: vec![file.clone()], ..message("[[text:1]]") };
    let turn = session.turn_with(&message, PermissionReply::Once).await;
    let parts = turn.events.iter().find_map(|event| match &event.data {
        EventData::ItemStarted(data) => Some(data.item.content.clone()),
        _ => None,
    });
    let named = |part: &ContentPart| matches!(part, ContentPart::FileRef { path, .. } if *path == file.path);
    assert!(parts.unwrap().iter().any(named));
    daemon.client.delete(&session.id).await.unwrap();
    assert!(!std::path::Path::new(&file.path).exists());
}

#[tokio::test]
async fn an_upload_that_is_refused_leaves_nothing() {
    let daemon = daemon();
    assert_eq!(upload(&daemon, "", "text/plain", vec![]).await.status(), 404);
    SessionDriver::create(&daemon.client, "s").await;
    let form = upload(&daemon, "", "multipart/form-data; boundary=x", b"--x".to_vec()).await;
    assert_eq!(form.status(), 415);
    // The daemon may answer and close before the client has sent it all.
    let long =
        request(&daemon, Method::POST, "/v1/sessions/s/uploads").body(vec![0; (32 << 20) + 1]).send().await;
    assert!(long.is_err() || long.is_ok_and(|response| response.status() == 413));
    let folder = daemon.data().join("shared/attachments");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
    assert_eq!(files.count(), 0);
}

#[tokio::test]
async fn the_files_of_a_session_are_512_mib_at_most() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let file = upload(&daemon, "?name=a", "text/plain", b"first".to_vec()).await.text().await.unwrap();
    let file: MessageAttachment = serde_json::from_str(&file).unwrap();
    let folder = std::path::Path::new(&file.path).parent().unwrap().to_owned();
    let others = std::fs::File::create(folder.join("0000000000000000-others")).unwrap();
    others.set_len((512 << 20) - 5 - 10).unwrap();
    let full = upload(&daemon, "?name=b", "text/plain", b"eleven byte".to_vec()).await;
    assert_eq!(full.status(), 413);
    let problem = full.text().await.unwrap();
    assert!(problem.contains("the files of this session are more than 512 MiB"), "{problem}");
    let inline =
        MessageAttachment { path: "data:text/plain,eleven%20byte".into(), mime: None, filename: None };
    let inline = MessageRequest { attachments: vec![inline], ..message("[[text:1]]") };
    assert_eq!(status_of(daemon.client.post(&session.id, &inline, None).await), 413);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "what was refused is not kept");
    assert_eq!(upload(&daemon, "?name=b", "text/plain", b"ten bytes.".to_vec()).await.status(), 200);
    let other = SessionDriver::create(&daemon.client, "t").await;
    other.turn_with(&inline, PermissionReply::Once).await;
}

#[tokio::test]
async fn a_small_file_may_stand_in_its_message() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let inline = |path: String| MessageRequest {
        attachments: vec![MessageAttachment { path, mime: None, filename: Some("n.txt".into()) }],
        ..message("[[text:1]]")
    };
    let turn = session.turn_with(&inline("data:text/plain;base64,aGk=".into()), PermissionReply::Once).await;
    let told = turn.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect::<String>();
    assert!(told.contains("-n.txt") && !told.contains("base64"), "{told}");
    let refused =
        |path: String| async { status_of(daemon.client.post(&session.id, &inline(path), None).await) };
    assert_eq!(refused("data:text/plain;base64,!".into()).await, 400);
    assert_eq!(refused(format!("data:,{}", "x".repeat((4 << 20) + 1))).await, 413);
    session.history().await;
}

#[tokio::test]
async fn the_open_requests_of_all_sessions_are_listed_whole() {
    let daemon = daemon();
    for name in ["a", "b", "c"] {
        let session = SessionDriver::create(&daemon.client, name).await;
        let prompt = if name == "b" { "[[question]]" } else { "[[permission]]" };
        session.post(prompt).await;
        let asked = [UniversalEventType::PermissionRequested, UniversalEventType::QuestionRequested];
        session.wait_for(0, |event| asked.contains(&event.kind())).await;
    }
    let list = |query: &str| request(&daemon, Method::GET, &format!("/v1/requests{query}"));
    let all = answer(list(""), 200).await;
    let names = |page: &Value| {
        let requests = page["requests"].as_array().unwrap().clone();
        requests.iter().map(|r| format!("{} {}", r["sessionId"], r["request"]["type"])).collect::<Vec<_>>()
    };
    let expected = [r#""a" "permission""#, r#""b" "question""#, r#""c" "permission""#];
    assert_eq!((names(&all), &all["hasMore"]), (expected.map(str::to_owned).to_vec(), &json!(false)));
    assert_eq!(
        (&all["requests"][0]["title"], &all["requests"][0]["agent"]),
        (&json!("[[permission]]"), &json!("mock"))
    );
    let page = answer(list("?limit=2"), 200).await;
    assert_eq!((names(&page).len(), &page["hasMore"], &page["next"]), (2, &json!(true), &json!("b")));
    assert_eq!(names(&answer(list("?limit=2&after=b"), 200).await), expected[2..]);
    answer(list("?after=nobody"), 400).await;
    let permission = all["requests"][0]["request"]["permission_id"].as_str().unwrap().to_owned();
    SessionDriver::of(&daemon.client, "a").reply(&permission, PermissionReply::Once).await.unwrap();
    assert_eq!(names(&answer(list(""), 200).await), expected[1..]);
}

#[tokio::test]
async fn a_list_has_states_for_whoever_wants_them() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let list = |query: &str| request(&daemon, Method::GET, &format!("/v1/sessions{query}"));
    let plain = answer(list(""), 200).await;
    assert!(plain["sessions"][0].get("state").is_none());
    let whole = answer(list("?include=state"), 200).await;
    let detail = answer(request(&daemon, Method::GET, "/v1/sessions/s"), 200).await;
    assert_eq!(whole["sessions"][0]["state"], detail["state"]);
    answer(list("?include=everything"), 400).await;
}

#[tokio::test]
async fn a_session_is_named_by_a_person_else_its_agent_else_its_first_prompt() {
    let daemon = daemon();
    let title = async |name: &str| daemon.client.detail(&session_id(name)).await.unwrap().info.title;
    let session = SessionDriver::create(&daemon.client, "s").await;
    assert_eq!(title("s").await, None);
    session.turn("\n  Mend the roof [[text:1]]\nand the door", PermissionReply::Once).await;
    assert_eq!(title("s").await.as_deref(), Some("Mend the roof [[text:1]]"));
    session.turn(&format!("{} [[title]]", "long ".repeat(40)), PermissionReply::Once).await;
    let agents = title("s").await.unwrap();
    assert_ne!(agents, "Mend the roof [[text:1]]", "the agent's own title wins");
    let patch = SessionPatch { title: Some("Mine".into()), ..SessionPatch::default() };
    daemon.client.patch(&session.id, &patch).await.unwrap();
    assert_eq!(title("s").await.as_deref(), Some("Mine"));
    let long = SessionDriver::create(&daemon.client, "long").await;
    long.turn(&format!("{}[[text:1]]", "long ".repeat(40)), PermissionReply::Once).await;
    assert_eq!(title("long").await.unwrap().chars().count(), 81);
    let request = CreateSessionRequest { title: Some("Given".into()), ..CreateSessionRequest::new("mock") };
    let given = SessionDriver::create_with(&daemon.client, "given", &request).await;
    given.turn("[[text:1]]", PermissionReply::Once).await;
    assert_eq!(title("given").await.as_deref(), Some("Given"));
}
