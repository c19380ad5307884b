//! The two event streams.

use serde_json::{Value, json};

use super::support::{Face, daemon, encoded, event, kinds, text_prompt};

#[tokio::test]
async fn one_stream_shows_one_directory_and_the_other_shows_all() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let other = daemon.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let there = face.post(&format!("/session?directory={}", encoded(&other)), json!({})).await;
    let there = there["id"].as_str().unwrap().to_owned();
    let here = face.session().await;
    let mut one = face.stream(&format!("/event?directory={}", encoded(&other))).await;
    let mut all = face.stream("/global/event").await;
    face.prompt(&here, "[[text:1]]").await;
    face.prompt(&there, "[[text:1]]").await;
    let seen = one.until("session.idle").await;
    assert_eq!(seen[0]["type"], "server.connected");
    assert!(seen[1..].iter().all(|frame| frame.to_string().contains(&there)), "{seen:?}");
    let first = all.until("session.idle").await;
    assert!(first[0].get("directory").is_none());
    let work = daemon.work().canonicalize().unwrap();
    assert_eq!(first[1]["directory"], work.to_str().unwrap());
    let second = all.until("session.idle").await;
    assert_eq!(second.last().unwrap()["directory"], other.canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn what_other_faces_do_is_seen_as_it_happens() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let mut events = face.stream("/global/event").await;
    let session = omniglot_testkit::session_driver::SessionDriver::create(&daemon.client, "from-v1").await;
    session.turn("[[text:2]]", omniglot_schema::PermissionReply::Once).await;
    let seen = events.until("session.idle").await;
    let kinds = kinds(&seen);
    assert_eq!(kinds.iter().filter(|kind| **kind == "session.created").count(), 1, "{kinds:?}");
    assert!(kinds.contains(&"message.part.delta"));
    let ids: Vec<&str> = seen[1..].iter().map(|frame| event(frame)["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[tokio::test]
async fn a_stream_that_comes_in_the_middle_goes_on_where_the_messages_end() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut first = face.stream("/event").await;
    face.begin(&session, "[[text:2]] [[permission]] [[text:3]]").await;
    first.until("permission.asked").await;
    let mut second = face.stream("/event").await;
    let seen = second.until("permission.asked").await;
    let heard = kinds(&seen);
    assert_eq!(heard[..3], ["server.connected", "session.status", "message.updated"]);
    assert!(!heard.contains(&"message.part.delta"), "what was said so far comes whole: {heard:?}");
    let messages = face.get(&format!("/session/{session}/message")).await;
    let parts: Vec<_> = seen.iter().filter_map(|frame| event(frame)["properties"].get("part")).collect();
    let kept: Vec<_> =
        messages.as_array().unwrap().iter().flat_map(|m| m["parts"].as_array().unwrap()).collect();
    assert_eq!(parts, kept);
    let id = event(seen.last().unwrap())["properties"]["id"].as_str().unwrap().to_owned();
    face.post(&format!("/permission/{id}/reply"), json!({ "reply": "once" })).await;
    let (a, b) = (first.until("session.idle").await, second.until("session.idle").await);
    assert_eq!(a, b, "from there on both hear the same");
}

#[tokio::test]
async fn streams_tell_how_a_turn_ended_when_the_daemon_stops() {
    let mut daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    face.begin(&session, "[[text:1]] [[silence]]").await;
    events.until("message.part.delta").await;
    daemon.stop();
    let seen = events.until("session.idle").await;
    assert!(kinds(&seen).contains(&"session.error"), "{seen:?}");
    while events.next().await.is_some() {}
    let daemon = daemon.restart();
    let face = Face::of(&daemon);
    let messages = face.get(&format!("/session/{session}/message")).await;
    assert!(messages[1]["info"]["error"].is_object(), "{messages}");
    face.post(&format!("/session/{session}/message"), text_prompt("[[text:1]]")).await;
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_is_alive() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let (mut one, mut all) = (face.stream("/event").await, face.stream("/global/event").await);
    let (one, all) = tokio::join!(one.until("server.heartbeat"), all.until("server.heartbeat"));
    assert_eq!(kinds(&one), ["server.connected", "server.heartbeat"]);
    assert_eq!(kinds(&all), ["server.connected", "server.heartbeat"]);
}

#[tokio::test]
async fn a_session_that_rested_while_many_others_worked_is_told_once_and_whole() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let first = face.session().await;
    let mut events = face.stream("/global/event").await;
    face.prompt(&first, "[[text:1]]").await;
    events.until("session.idle").await;
    // More sessions than are kept while they are idle.
    for _ in 0..20 {
        let other = face.session().await;
        face.prompt(&other, "[[text:1]]").await;
        events.until("session.idle").await;
    }
    let answer = face.prompt(&first, "[[text:2]]").await;
    let seen = events.until("session.idle").await;
    let seen: Vec<_> = seen.iter().filter(|frame| frame.to_string().contains(&first)).map(event).collect();
    let mut ids: Vec<&str> = seen.iter().map(|event| event["id"].as_str().unwrap()).collect();
    let told = ids.len();
    ids.dedup();
    assert!(ids.len() == told && ids.is_sorted(), "{ids:?}");
    let last = answer["parts"].as_array().unwrap().iter().rfind(|part| part["type"] == "text").unwrap();
    assert!(seen.iter().any(|event| event["properties"]["part"] == *last), "{seen:?}");
    let other = face.session().await;
    face.prompt(&other, "[[text:1]]").await;
    let seen = events.until("session.idle").await;
    let again = seen.iter().filter(|frame| frame.to_string().contains(&first)).map(event);
    assert!(again.clone().all(|event| event["id"].as_str() > ids.last().copied()), "{again:?}");
}

/// Posts to a route of a new session at the moment at which a stream is opened, as `opencode run` does.
async fn hears_the_whole_turn(route: &str, body: Value) {
    let daemon = daemon();
    let (script, program) = (Face::of(&daemon), Face::of_a_program(&daemon));
    // A stream that opens looks at every session that has an agent: a short turn has time to end meanwhile.
    for _ in 0..8 {
        let other = script.session().await;
        script.prompt(&other, "[[text:1]]").await;
    }
    let path = format!("/session/{}/{route}", script.session().await);
    let (mut events, answer) = tokio::join!(program.stream("/event"), program.post(&path, body));
    let seen = events.until("session.idle").await;
    let told: Vec<_> = seen.iter().map(|frame| &event(frame)["properties"]["part"]).collect();
    for part in answer["parts"].as_array().unwrap() {
        assert!(told.contains(&part), "{part} is missing: {seen:?}");
    }
}

#[tokio::test]
async fn a_program_that_prompts_while_its_stream_opens_hears_the_whole_turn() {
    hears_the_whole_turn("message", text_prompt("[[text:1]]")).await;
}

#[tokio::test]
async fn a_program_that_sends_a_command_while_its_stream_opens_hears_the_whole_turn() {
    hears_the_whole_turn("command", json!({ "command": "say", "arguments": "[[text:1]]" })).await;
}
