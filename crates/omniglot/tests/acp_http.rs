//! ACP over HTTP, written by hand: failures that no library shows, because they occur between two of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "acp_http/meta.rs"]
mod meta;
#[path = "acp_http/streamable.rs"]
mod streamable;
#[path = "acp_http/wire.rs"]
mod wire;

use omniglot_client::EventsQuery;
use omniglot_schema::{EventData, PermissionReply, SessionId, SessionStatus, UniversalEventType};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use serde_json::{Value, json};
use wire::{Frame, Wire, asks, is_update};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn text(frames: &[Frame]) -> String {
    let updates = frames.iter().filter(|frame| is_update(&frame.message, "agent_message_chunk"));
    updates.filter_map(|frame| frame.message["params"]["update"]["content"]["text"].as_str()).collect()
}

#[tokio::test]
async fn a_stream_that_breaks_goes_on_where_it_was_and_says_nothing_twice() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    let prompt = wire.begin_prompt(&session, "[[text:60]]");
    let mut heard = vec![stream.find(|message| is_update(message, "agent_message_chunk")).await];
    let answer = prompt.await.unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    // The rest is sent to the next streams, one frame to each.
    drop(stream);
    while text(&heard).split_whitespace().count() < 60 {
        let mut next = wire.stream(Some(&heard.last().unwrap().id)).await;
        heard.push(next.find(|message| is_update(message, "agent_message_chunk")).await);
    }
    assert_eq!(text(&heard).split_whitespace().count(), 60);
}

#[tokio::test]
async fn a_prompt_whose_client_hangs_up_is_answered_on_the_stream() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    let mut asked = vec![];
    for number in 0..40 {
        let prompt = wire.request("session/prompt", wire::words(&session, "[[text:1]]"));
        let connection = wire.say(&prompt).await;
        // Most connections are closed while their message is being posted, some after it.
        if number % 8 == 0 {
            wire.servers().await;
        }
        drop(connection);
        asked.push(prompt["id"].clone());
    }
    let id = SessionId::parse(&session).unwrap();
    let answered = |stream: &wire::Stream| {
        let is_answer = |frame: &&Frame| asked.contains(&frame.message["id"]);
        stream.heard.iter().filter(is_answer).count()
    };
    // A client that closed before its message was accepted has no turn; every turn has an answer.
    loop {
        let detail = daemon.client.detail(&id).await.unwrap();
        let log = daemon.client.events(&id, &EventsQuery::default()).await.unwrap();
        let turns = log.events.iter().filter(|event| event.kind() == UniversalEventType::TurnStarted);
        let (turns, answered) = (turns.count(), answered(&stream));
        if detail.status == SessionStatus::Idle && turns == answered && answered > 0 {
            break;
        }
        stream.find(|_| true).await;
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_finds_the_answer_on_a_later_stream() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let prompt = wire.request("session/prompt", wire::words(&session, "[[permission]]"));
    let connection = wire.say(&prompt).await;
    let driver = SessionDriver::of(&daemon.client, &session);
    let asked = driver.wait_for(0, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    drop(connection);
    let EventData::PermissionRequested(asked) = asked.data else { panic!("no permission") };
    driver.reply(asked.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    driver.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let answer = wire.stream(None).await.find(|message| message["id"] == prompt["id"]).await;
    assert_eq!(answer.message["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn resuming_a_session_that_is_followed_skips_nothing_and_repeats_nothing() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    let prompt = wire.begin_prompt(&session, "[[text:60]]");
    let mut heard = vec![stream.find(|message| is_update(message, "agent_message_chunk")).await];
    drop(stream);
    prompt.await.unwrap();
    // No stream has sent the rest of the turn yet.
    let resume = json!({ "sessionId": session, "cwd": daemon.work() });
    assert!(wire.call("session/resume", resume).await["result"].is_object());
    let mut stream = wire.stream(Some(&heard[0].id)).await;
    while text(&heard).split_whitespace().count() < 60 {
        heard.push(stream.find(|message| is_update(message, "agent_message_chunk")).await);
    }
    assert_eq!(text(&heard).split_whitespace().count(), 60);
}

#[tokio::test]
async fn a_file_that_was_asked_for_is_asked_for_again_on_a_new_stream() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let can = json!({ "fs": { "readTextFile": true } });
    wire.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": can })).await;
    let session = wire.new_session(&daemon).await;
    let mut first = wire.stream(None).await;
    let prompt = wire.begin_prompt(&session, "[[fs]]");
    let wants = |message: &Value| message["method"] == "fs/read_text_file";
    let asked = first.find(wants).await;
    drop(first);
    let mut second = wire.stream(Some(&asked.id)).await;
    let again = second.find(wants).await;
    assert_eq!(again.message, asked.message);
    let answer = json!({ "jsonrpc": "2.0", "id": again.message["id"], "result": { "content": "unsaved" } });
    assert_eq!(wire.post(&answer).await.0, 202);
    assert_eq!(prompt.await.unwrap()["result"]["stopReason"], "end_turn");
    while !text(&second.heard).contains("7 characters") {
        second.find(|message| is_update(message, "agent_message_chunk")).await;
    }
    // An answered request is not sent again.
    let mut third = wire.stream(Some(&asked.id)).await;
    third.find(|message| is_update(message, "agent_message_chunk")).await;
    assert!(!third.heard.iter().any(|frame| wants(&frame.message)), "{:?}", third.heard);
}

#[tokio::test]
async fn a_session_that_is_wanted_again_under_the_same_key_is_the_first() {
    let mut daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    wire.hello().await;
    let new = wire.request("session/new", json!({ "cwd": daemon.work(), "mcpServers": [] }));
    let mut stream = wire.stream(None).await;
    let mut made = vec![];
    for _ in 0..2 {
        assert_eq!(wire.post_async(&new).await, 202);
        made.push(stream.find(|message| message["id"] == new["id"]).await.message);
    }
    daemon.stop();
    let daemon = daemon.restart();
    let wire = Wire::new(&daemon, "c");
    wire.hello().await;
    let mut stream = wire.stream(None).await;
    assert_eq!(wire.post_async(&new).await, 202);
    made.push(stream.find(|message| message["id"] == new["id"]).await.message);
    let ids: Vec<_> = made.iter().map(|made| &made["result"]["sessionId"]).collect();
    assert!(ids[0].is_string() && ids.iter().all(|id| *id == ids[0]), "{made:?}");
    let listed = wire.call("session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 1, "{listed}");
    // Another client's key is another key.
    let other = Wire::new(&daemon, "d");
    other.new_session(&daemon).await;
    let mut theirs = other.stream(None).await;
    assert_eq!(other.post_async(&new).await, 202);
    let theirs = theirs.find(|message| message["id"] == new["id"]).await.message;
    assert_ne!(theirs["result"]["sessionId"], *ids[0]);
}

#[tokio::test]
async fn a_cursor_survives_the_daemon() {
    let mut daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    wire.prompt(&session, "[[text]]").await;
    let last = stream.find(|message| is_update(message, "agent_message_chunk")).await;
    daemon.stop();
    let daemon = daemon.restart();
    let wire = Wire::new(&daemon, "c");
    let mut stream = wire.stream(Some(&last.id)).await;
    assert_eq!(wire.servers().await, ["c"], "the cursor made it known again");
    let answer = wire.prompt(&session, "[[text:3]]").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let mut said = vec![];
    while text(&said).split_whitespace().count() < 3 {
        said.push(stream.find(|message| is_update(message, "agent_message_chunk")).await);
    }
}

#[tokio::test]
async fn a_message_to_a_stored_session_makes_a_forgotten_client_known() {
    let mut daemon = daemon();
    let session = Wire::new(&daemon, "c").session(&daemon).await;
    daemon.stop();
    let daemon = daemon.restart();
    let wire = Wire::new(&daemon, "c");
    let answer = wire.prompt(&session, "[[text]]").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let mut stream = wire.stream(None).await;
    stream.find(|message| is_update(message, "agent_message_chunk")).await;
}

#[tokio::test]
async fn an_open_request_is_asked_again_on_a_new_stream_and_answered_once() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut first = wire.stream(None).await;
    let prompt = wire.begin_prompt(&session, "[[permission]]");
    let asked = first.find(asks).await;
    drop(first);
    let mut second = wire.stream(Some(&asked.id)).await;
    let again = second.find(asks).await;
    assert_eq!(again.message, asked.message);
    for _ in 0..2 {
        assert_eq!(wire.allow(&again.message).await, 202);
    }
    assert_eq!(prompt.await.unwrap()["result"]["stopReason"], "end_turn");
    // A later client does not receive a resolved request.
    let mut third = wire.stream(None).await;
    third.find(|message| is_update(message, "agent_message_chunk")).await;
    assert!(!third.heard.iter().any(|frame| asks(&frame.message)), "{:?}", third.heard);
}

#[tokio::test]
async fn a_request_that_somebody_else_answers_is_taken_back() {
    let daemon = daemon();
    let (wire, other) = (Wire::new(&daemon, "c"), Wire::new(&daemon, "d"));
    let session = wire.session(&daemon).await;
    other.call("session/resume", json!({ "sessionId": session, "cwd": daemon.work() })).await;
    let (mut stream, mut others) = (wire.stream(None).await, other.stream(None).await);
    let prompt = wire.begin_prompt(&session, "[[permission]]");
    let asked = stream.find(asks).await;
    let theirs = others.find(asks).await;
    assert_eq!(other.allow(&theirs.message).await, 202);
    let back = stream.find(|message| message["method"] == "$/cancel_request").await;
    assert_eq!(back.message["params"]["requestId"], asked.message["id"]);
    assert_eq!(prompt.await.unwrap()["result"]["stopReason"], "end_turn");
    // The other client receives the user's message; the client that sent it does not.
    let told = |stream: &wire::Stream| {
        stream.heard.iter().any(|frame| is_update(&frame.message, "user_message_chunk"))
    };
    assert!(told(&others));
    // The agent's next words and the request that is taken back come in either order.
    let said = |message: &Value| is_update(message, "agent_message_chunk");
    if !stream.heard.iter().any(|frame| said(&frame.message)) {
        stream.find(said).await;
    }
    assert!(!told(&stream));
}

/// An agent that asks for a permission and reads nothing any more.
const DEAF: &str = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read l; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x"}}'
read l; exec <&-
echo '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"t1","title":"do it","kind":"execute"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
exec sleep 600"#;

#[tokio::test]
async fn a_client_is_told_that_its_answer_was_not_taken() {
    let command = serde_json::to_string(DEAF).unwrap();
    let config = format!("[agents.deaf]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n");
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let mut wire = Wire::new(&daemon, "c");
    wire.agent = "deaf";
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    let prompt = wire.begin_prompt(&session, "hello");
    let asked = stream.find(asks).await;
    assert_eq!(wire.allow(&asked.message).await, 202);
    let told = stream.find(|message| is_update(message, "agent_thought_chunk")).await;
    let text = told.message["params"]["update"]["content"]["text"].as_str().unwrap();
    assert!(
        text.ends_with("was not taken: the agent reads nothing any more, and its process is ended"),
        "{text}"
    );
    prompt.abort();
}

#[tokio::test]
async fn loading_tells_the_whole_story_before_the_answer() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    wire.prompt(&session, "[[text]]").await;
    let other = Wire::new(&daemon, "d");
    other.hello().await;
    let mut stream = other.stream(None).await;
    let answer =
        other.call("session/load", json!({ "sessionId": session, "cwd": daemon.work(), "mcpServers": [] }));
    let answer = answer.await;
    assert!(answer["result"].is_object(), "{answer}");
    stream.find(|message| message["id"] == answer["id"]).await;
    let heard = |kind: &str| stream.heard.iter().any(|frame| is_update(&frame.message, kind));
    assert!(heard("user_message_chunk") && heard("agent_message_chunk"), "{:?}", stream.heard);
}

#[tokio::test]
async fn an_answer_that_is_not_waited_for_comes_on_the_stream_in_order() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let prompt = wire.request("session/prompt", wire::words(&session, "[[text]]"));
    assert_eq!(wire.post_async(&prompt).await, 202);
    let mut stream = wire.stream(None).await;
    let answer = stream.find(|message| message["id"] == prompt["id"]).await;
    assert_eq!(answer.message["result"]["stopReason"], "end_turn");
    assert!(!text(&stream.heard).is_empty());
    // The same prompt with the same key is the same prompt.
    assert_eq!(wire.post_async(&prompt).await, 202);
    stream.find(|message| message["id"] == prompt["id"]).await;
    let id = SessionId::parse(&session).unwrap();
    let log = daemon.client.events(&id, &EventsQuery::default()).await.unwrap();
    let turns = log.events.iter().filter(|event| event.kind() == UniversalEventType::TurnStarted);
    assert_eq!(turns.count(), 1);
}

#[tokio::test]
async fn what_is_said_next_comes_after_a_setting_that_is_not_waited_for() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    wire.hello().await;
    let made = wire.call("session/new", json!({ "cwd": daemon.work(), "mcpServers": [] })).await;
    let session = made["result"]["sessionId"].as_str().unwrap();
    let modes = made["result"]["modes"]["availableModes"].as_array().unwrap();
    let id = SessionId::parse(session).unwrap();
    for mode in modes.iter().cycle().take(10) {
        let set = wire.request("session/set_mode", json!({ "sessionId": session, "modeId": mode["id"] }));
        assert_eq!(wire.post_async(&set).await, 202);
        let detail = daemon.client.detail(&id).await.unwrap();
        assert_eq!(detail.state.agent_mode.as_deref(), mode["id"].as_str());
    }
}

#[tokio::test]
async fn two_readers_of_one_client_get_no_answers_of_each_other() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let (mut one, mut two) = (wire.stream(None).await, wire.stream(None).await);
    for _ in 0..2 {
        let answer = wire.prompt(&session, "[[text:3]]").await;
        assert_eq!(answer["result"]["stopReason"], "end_turn");
    }
    for stream in [&mut one, &mut two] {
        while text(&stream.heard).split_whitespace().count() < 6 {
            stream.find(|message| is_update(message, "agent_message_chunk")).await;
        }
        assert!(
            !stream.heard.iter().any(|frame| frame.message.get("result").is_some()),
            "{:?}",
            stream.heard
        );
    }
}

#[tokio::test]
async fn requests_of_the_same_id_get_each_its_own_answer() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let (one, two) = (wire.session(&daemon).await, wire.session(&daemon).await);
    let _streams = (wire.stream(None).await, wire.stream(None).await);
    let ask = |session: &str, text: &str| json!({ "jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": wire::words(session, text) });
    let (one, two) = (ask(&one, "[[text]]"), ask(&two, "[[stop:refusal]]"));
    let ((_, first), (_, second)) = tokio::join!(wire.post(&one), wire.post(&two));
    assert_eq!((&first["id"], &first["result"]["stopReason"]), (&json!(7), &json!("end_turn")));
    assert_eq!((&second["id"], &second["result"]["stopReason"]), (&json!(7), &json!("refusal")));
}

#[tokio::test]
async fn cancelling_answers_the_prompt_that_runs_and_those_behind_it() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    let running = wire.begin_prompt(&session, "[[permission]]");
    stream.find(asks).await;
    let waiting = wire.request("session/prompt", wire::words(&session, "[[text]]"));
    assert_eq!(wire.post_async(&waiting).await, 202);
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    assert_eq!(wire.post(&cancel).await.0, 202);
    assert_eq!(running.await.unwrap()["result"]["stopReason"], "cancelled");
    let answer = stream.find(|message| message["id"] == waiting["id"]).await;
    assert_eq!(answer.message["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn whatever_goes_wrong_is_an_error_under_200() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    wire.hello().await;
    let unknown = json!({ "sessionId": "nobody", "prompt": [{ "type": "text", "text": "hi" }] });
    let cases = [
        ("session/prompt", unknown, -32002),
        ("session/prompt", json!({}), -32602),
        ("session/new", json!({ "cwd": "/no/such/directory", "mcpServers": [] }), -32602),
        ("session/load", json!({ "sessionId": "?", "cwd": "/", "mcpServers": [] }), -32002),
        ("_vendor/thing", json!({}), -32601),
    ];
    for (method, params, code) in cases {
        let answer = wire.call(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    let session = wire.session(&daemon).await;
    let answer = wire.prompt(&session, "[[crash]]").await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let answer = wire.prompt(&session, "[[text]]").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "a dead agent is started again");
}

#[tokio::test]
async fn what_is_no_message_of_a_client_is_refused() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    assert_eq!(wire.post(&json!([])).await.0, 400);
    assert_eq!(wire.post(&json!({ "foo": 1 })).await.0, 400);
    assert_eq!(wire.raw("text/plain", "application/json", "{}").await, 415);
    assert_eq!(wire.raw("application/json", "text/html", "{}").await, 406);
    let (status, answer) = wire.post(&json!({ "id": 1, "method": 5 })).await;
    assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32600)));
    assert_eq!(wire.status_of_stream(Some("garbage")).await, 400);
}

#[tokio::test]
async fn a_client_that_leaves_leaves_its_sessions() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    assert_eq!(wire.servers().await, ["c"]);
    assert_eq!((wire.leave().await, wire.leave().await), (204, 204));
    while stream.next().await.is_some() {}
    assert!(wire.servers().await.is_empty());
    let listed = Wire::new(&daemon, "d").call("session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session.as_str());
}

#[tokio::test]
async fn a_stream_may_come_before_the_first_message() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let early = tokio::spawn({
        let wire = wire.clone();
        async move { wire.stream(None).await }
    });
    let session = wire.session(&daemon).await;
    let mut stream = early.await.unwrap();
    wire.prompt(&session, "[[text]]").await;
    stream.find(|message| is_update(message, "agent_message_chunk")).await;
}

#[tokio::test]
async fn a_client_has_one_agent_unless_a_session_names_another() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    wire.hello().await;
    assert_eq!(
        wire.post_to("nobody", &wire.request("initialize", json!({ "protocolVersion": 1 }))).await.0,
        200
    );
    assert_eq!(
        wire.post_to("claude", &wire.request("initialize", json!({ "protocolVersion": 1 }))).await.0,
        409
    );
    let meta = json!({ "sandbox-agent/agent": "nobody" });
    let new = json!({ "cwd": daemon.work(), "mcpServers": [], "_meta": meta });
    let answer = wire.call("session/new", new).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("nobody"), "{answer}");
}

#[tokio::test]
async fn sessions_are_listed_page_by_page_and_by_directory() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    for number in 0..3 {
        let directory = daemon.work().join(number.to_string());
        std::fs::create_dir(&directory).unwrap();
        let new = json!({ "cwd": directory, "mcpServers": [] });
        let made = wire.call("session/new", new).await;
        assert!(made["result"]["sessionId"].is_string(), "{made}");
    }
    let all = wire.call("session/list", json!({})).await;
    assert_eq!(all["result"]["sessions"].as_array().unwrap().len(), 3);
    let one = wire.call("session/list", json!({ "cwd": daemon.work().join("1") })).await;
    assert_eq!(one["result"]["sessions"].as_array().unwrap().len(), 1);
    let after = &all["result"]["sessions"][0]["sessionId"];
    let rest = wire.call("session/list", json!({ "cursor": after })).await;
    assert_eq!(rest["result"]["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_picture_inside_a_prompt_reaches_the_agent() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut stream = wire.stream(None).await;
    let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let prompt = json!([
        { "type": "text", "text": "[[attachments]]" },
        { "type": "image", "mimeType": "image/png", "data": picture },
    ]);
    wire.call("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
    stream.find(|message| is_update(message, "agent_message_chunk")).await;
    assert!(text(&stream.heard).contains("image"), "{}", text(&stream.heard));
    let kept = || std::fs::read_dir(daemon.data().join("shared/attachments")).unwrap().count();
    assert_eq!(kept(), 1);
    wire.call("session/delete", json!({ "sessionId": session })).await;
    assert_eq!(kept(), 0, "a file lasts as long as its session");
}

#[tokio::test]
async fn a_link_to_a_private_file_of_the_daemon_is_refused() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    std::os::unix::fs::symlink(daemon.data().join("private"), daemon.work().join("link")).unwrap();
    for path in [daemon.data().join("private/token"), daemon.work().join("link/token")] {
        let link =
            json!({ "type": "resource_link", "name": "t", "uri": format!("file://{}", path.display()) });
        let prompt = json!({ "sessionId": session, "prompt": [link] });
        let refused = wire.call("session/prompt", prompt).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("is private to the daemon"), "{refused}");
    }
}

#[tokio::test]
async fn a_session_that_is_closed_can_be_loaded_and_one_that_is_deleted_cannot() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    wire.prompt(&session, "[[text]]").await;
    let load = json!({ "sessionId": session, "cwd": daemon.work(), "mcpServers": [] });
    assert!(wire.call("session/close", json!({ "sessionId": session })).await["result"].is_object());
    assert!(wire.call("session/load", load.clone()).await["result"].is_object());
    for _ in 0..2 {
        assert!(wire.call("session/delete", json!({ "sessionId": session })).await["result"].is_object());
    }
    assert_eq!(wire.call("session/load", load).await["error"]["code"], -32002);
    let _: Value = wire.call("session/list", json!({})).await;
}
