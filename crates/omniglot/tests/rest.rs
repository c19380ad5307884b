//! The routes as docs/REST.md specifies them, over a real daemon and a real agent process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use futures_util::StreamExt as _;
use omniglot_client::{EventsQuery, SessionFilter, SseItem, StreamFrom};
use omniglot_schema::{
    CreateSessionRequest, Delivered, Delivery, EventData, MessageRequest, PermissionReply, QueueOnCancel,
    SessionStatus, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, message, session_id};
use omniglot_timeline::check::Allow;
use reqwest::{RequestBuilder, Response};
use serde_json::json;

const OPEN_TURN: Allow = Allow { open_turn: true, unparsed: false };

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn get(daemon: &Daemon, path: &str) -> RequestBuilder {
    reqwest::Client::new().get(format!("{}{path}", daemon.url)).bearer_auth(&daemon.token)
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
}

/// Returns the next event of a stream.
async fn next(stream: &mut omniglot_client::EventStream) -> (String, UniversalEvent) {
    loop {
        match stream.next().await.expect("the stream stays open").expect("an event") {
            SseItem::Event { id, event, .. } => return (id, *event),
            SseItem::CaughtUp => {}
            SseItem::Deleted => panic!("the session was deleted"),
        }
    }
}

#[tokio::test]
async fn steering_an_agent_that_cannot_be_steered_queues_and_says_so() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    let steer = MessageRequest { delivery: Some(Delivery::Steer), ..message("[[text:1]]") };
    let response = reqwest::Client::new()
        .post(format!("{}/v1/sessions/s/messages", daemon.url))
        .bearer_auth(&daemon.token)
        .json(&steer)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status().as_u16(), 204);
    assert_eq!(header(&response, "omniglot-delivery"), "queued");
    let message_id = header(&response, "omniglot-message-id");
    let queue = daemon.client.detail(&session.id).await.unwrap().state.queue.unwrap();
    let queue = queue.inline().unwrap();
    assert_eq!(queue.iter().map(|queued| queued.message_id.as_str()).collect::<Vec<_>>(), [message_id]);
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let cancelled = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    session.wait_for(cancelled.sequence, is(UniversalEventType::TurnEnded)).await;
    // With no turn to join, it is a message like any other.
    let idle = daemon.client.post(&session.id, &steer, None).await.unwrap();
    assert_eq!(idle.delivered, Delivered::Started);
    session.history_with(OPEN_TURN).await;
}

#[tokio::test]
async fn models_and_modes_are_known_before_any_session_and_leave_no_process() {
    let daemon = daemon();
    let models = daemon.client.models("mock").await.unwrap();
    let modes = daemon.client.modes("mock").await.unwrap();
    daemon.descendants().into_iter().for_each(omniglot_testkit::daemon::wait_gone);
    let default = models.default_model.unwrap();
    assert!(models.models.iter().any(|model| model.id == default), "{default}");
    assert!(modes.modes.iter().any(|mode| mode.id == "plan"), "{modes:?}");
    assert!(daemon.client.list(&SessionFilter::default()).await.unwrap().is_empty());

    // Listed values can be requested.
    let model = models.models.last().unwrap().id.clone();
    let request = CreateSessionRequest {
        model: Some(model.clone()),
        agent_mode: Some("plan".into()),
        ..CreateSessionRequest::new("mock")
    };
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    let info = daemon.client.detail(&session.id).await.unwrap().info;
    assert_eq!((info.model, &*info.agent_mode), (Some(model), "plan"));
    session.history().await;
}

#[tokio::test]
async fn agents_are_asked_side_by_side_and_one_that_failed_is_left_alone_for_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display();
    // Each ends only when the other has been started, too.
    let agent = |own: &str, other: &str| {
        let script = format!("echo x >> {at}/{own}; until [ -e {at}/{other} ]; do sleep 0.02; done; exit 7");
        format!("[agents.{own}]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {script:?}]\n")
    };
    let config = agent("left", "right") + &agent("right", "left");
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    for _ in 0..2 {
        let listed = get(&daemon, "/v1/agents?config=true").send().await.unwrap();
        let listed: serde_json::Value = listed.json().await.unwrap();
        for agent in listed["agents"].as_array().unwrap() {
            let error = agent["configError"].as_str().unwrap_or_default();
            if agent["id"] == "left" || agent["id"] == "right" {
                assert!(error.contains("exited with code 7"), "{agent}");
            }
        }
    }
    for own in ["left", "right"] {
        assert_eq!(std::fs::read_to_string(dir.path().join(own)).unwrap(), "x\n", "asked once");
    }
}

#[tokio::test]
async fn the_list_is_newest_first_and_can_be_filtered() {
    let program = env!("CARGO_BIN_EXE_omniglot");
    let config = format!("[agents.other]\nprotocol = \"acp\"\ncommand = [{program:?}, \"mock-agent\"]\n");
    let daemon = Setup::new(program).config(config).start();
    for (name, agent) in [("a", "mock"), ("b", "other"), ("c", "mock"), ("d", "mock")] {
        SessionDriver::create_with(&daemon.client, name, &CreateSessionRequest::new(agent)).await;
    }
    daemon.client.terminate(&session_id("c")).await.unwrap();
    let list = async |filter: SessionFilter| {
        let listed = daemon.client.list(&filter).await.unwrap();
        listed.into_iter().map(|info| info.session_id.to_string()).collect::<String>()
    };
    let all = SessionFilter::default;
    assert_eq!(list(all()).await, "dcba");
    assert_eq!(list(SessionFilter { limit: Some(3), ..all() }).await, "dcb");
    assert_eq!(list(SessionFilter { after: Some(session_id("c")), ..all() }).await, "ba");
    assert_eq!(list(SessionFilter { after: Some(session_id("d")), limit: Some(1), ..all() }).await, "c");
    assert_eq!(list(SessionFilter { agent: Some("mock".into()), ..all() }).await, "dca");
    assert_eq!(list(SessionFilter { agent: Some("nobody".into()), ..all() }).await, "");
    assert_eq!(list(SessionFilter { ended: Some(true), ..all() }).await, "c");
    let running = SessionFilter { ended: Some(false), agent: Some("mock".into()), ..all() };
    assert_eq!(list(running).await, "da");
}

#[tokio::test]
async fn the_epoch_of_the_cursors_is_told_in_a_header() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let (id, event) = next(&mut session.watch(StreamFrom::Start).await).await;
    for path in ["events", "events/sse"] {
        let response = get(&daemon, &format!("/v1/sessions/s/{path}")).send().await.unwrap();
        assert_eq!(format!("{}.{}", header(&response, "omniglot-epoch"), event.sequence), id, "{path}");
    }
}

#[tokio::test]
async fn raw_is_the_native_frame_also_of_what_we_sent_and_null_where_there_is_none() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("say a canary [[text:1]]", PermissionReply::Once).await;
    let query = EventsQuery { include_raw: true, ..EventsQuery::default() };
    let events = daemon.client.events(&session.id, &query).await.unwrap().events;
    let raw = |event: &UniversalEvent| event.raw.as_ref().map(|raw| raw.get().to_owned());
    let started = events.iter().find(|event| event.kind() == UniversalEventType::TurnStarted).unwrap();
    assert!(started.synthetic);
    let sent = raw(started).unwrap();
    assert!(sent.contains("session/prompt") && sent.contains("say a canary"), "{sent}");
    let delta = events.iter().find(|event| event.kind() == UniversalEventType::ItemDelta).unwrap();
    assert!(raw(delta).unwrap().contains("agent_message_chunk"));
    let connected = events.iter().find(|event| match &event.data {
        EventData::SessionUpdated(patch) => patch.connection.is_some(),
        _ => false,
    });
    assert_eq!(raw(connected.unwrap()), None);

    // Without the parameter the member exists and is null.
    for path in ["/v1/sessions/s/events", "/v1/sessions/s/events?includeRaw=true"] {
        let page: serde_json::Value = get(&daemon, path).send().await.unwrap().json().await.unwrap();
        let events = page["events"].as_array().unwrap();
        assert!(events.iter().all(|event| event.as_object().unwrap().contains_key("raw")), "{path}");
        assert_eq!(events.iter().any(|event| !event["raw"].is_null()), path.ends_with("true"), "{path}");
    }
}

#[tokio::test]
async fn a_session_that_waits_is_served_as_its_events_tell_it() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[plan]] [[title]] [[usage]]", PermissionReply::Once).await;
    session.post("[[permission]]").await;
    session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    session.post("[[text:1]]").await;
    let events = session.history_with(OPEN_TURN).await;
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert_eq!(detail.info.event_count, events.len() as u64, "nothing has moved, so the state was compared");
    assert_eq!((detail.status, detail.pending.len()), (SessionStatus::Waiting, 1));
    assert!(detail.state.queue.is_some() && detail.state.title.is_some() && detail.state.todos.is_some());
}

#[tokio::test]
async fn questions_that_nobody_asked_are_not_found() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let answers = omniglot_schema::QuestionReplyRequest { answers: vec![vec!["yes".into()]] };
    let replied = daemon.client.reply_question(&session.id, "qst_none", &answers).await;
    assert_eq!(replied.unwrap_err().problem().unwrap().status, 404);
    let rejected = daemon.client.reject_question(&session.id, "qst_none").await;
    assert_eq!(rejected.unwrap_err().problem().unwrap().status, 404);
}

#[tokio::test]
async fn a_silent_stream_has_a_heartbeat() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let mut stream = get(&daemon, "/v1/sessions/s/events/sse").send().await.unwrap().bytes_stream();
    let mut text = String::new();
    let beat = async {
        while !text.ends_with("\n\n:\n\n") {
            let chunk = stream.next().await.expect("the stream stays open").expect("a chunk");
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    };
    // Ten seconds are promised; the rest is for a busy machine.
    tokio::time::timeout(std::time::Duration::from_secs(20), beat).await.expect("a heartbeat");
    let events = text.lines().filter(|line| line.starts_with("data: {\"event_id\"")).count();
    assert_eq!(events, session.history().await.len());
    assert_eq!(text.matches("event: caught_up").count(), 1, "{text}");
}

/// B15: what an agent does not take is no setting that somebody believes in.
#[tokio::test]
async fn b15_options_of_creation_are_refused_by_agents_that_do_not_take_them() {
    let daemon = daemon();
    let create = async |body: serde_json::Value| {
        let request = reqwest::Client::new().post(format!("{}/v1/sessions/s", daemon.url));
        let response = request.bearer_auth(&daemon.token).json(&body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    for (option, value, takers) in [
        ("systemPrompt", json!({ "append": "Be brief." }), "claude, codex, pi"),
        ("systemPrompt", json!({ "replace": "Be brief." }), "claude, codex, pi"),
        ("allowedTools", json!(["Read"]), "claude"),
        ("maxTurns", json!(2), "claude"),
    ] {
        let (status, told) = create(json!({ "agent": "mock", option: value })).await;
        assert!(status == 400 && told.contains(option) && told.contains(takers), "{status} {told}");
    }
    for wrong in [
        json!({ "agent": "claude", "systemPrompt": "Be brief." }),
        json!({ "agent": "claude", "systemPrompt": { "prepend": "Be brief." } }),
        json!({ "agent": "claude", "systemPrompt": { "append": "a\0b" } }),
        json!({ "agent": "claude", "systemPrompt": { "append": "a".repeat(101 << 10) } }),
        json!({ "agent": "claude", "maxTurns": 0 }),
    ] {
        let (status, told) = create(wrong).await;
        assert_eq!(status, 400, "{told}");
    }
    let agents = daemon.client.agents().await.unwrap().agents;
    let takes = agents.iter().filter(|agent| agent.capabilities.system_prompt).map(|agent| agent.id.as_str());
    assert_eq!(takes.collect::<Vec<_>>(), ["claude", "codex", "pi"]);
}
