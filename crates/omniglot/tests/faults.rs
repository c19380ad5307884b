//! Agents that misbehave: the stream stays lawful and the daemon stays up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    CreateSessionRequest, ErrorCode, EventData, PermissionReply, QueueOnCancel, StopReason, UniversalEvent,
    UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, session_id, text_of};
use omniglot_timeline::check::Allow;

const UNPARSED: Allow = Allow { open_turn: false, unparsed: true };

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn unparsed(events: &[UniversalEvent]) -> usize {
    events.iter().filter(|event| event.kind() == UniversalEventType::AgentUnparsed).count()
}

#[tokio::test]
async fn every_error_of_an_agent_has_its_code() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let table = [
        ("auth", ErrorCode::ProviderAuth),
        ("rate_limit", ErrorCode::RateLimit),
        ("context", ErrorCode::ContextOverflow),
        ("output_length", ErrorCode::OutputLength),
        ("api", ErrorCode::ApiError),
        ("execution", ErrorCode::ExecutionError),
        ("unknown", ErrorCode::Unknown),
    ];
    for (word, code) in table {
        let turn = session.turn(&format!("[[text:2]] [[error:{word}]]"), PermissionReply::Once).await;
        assert_eq!(turn.stop_reason(), StopReason::Error, "{word}");
        assert_eq!(turn.error().unwrap().code, Some(code), "{word}");
    }
    let stops = [
        ("max_tokens", StopReason::MaxTokens),
        ("max_turn_requests", StopReason::MaxTurns),
        ("refusal", StopReason::Refusal),
    ];
    for (word, stop) in stops {
        let turn = session.turn(&format!("[[stop:{word}]]"), PermissionReply::Once).await;
        assert_eq!((turn.stop_reason(), turn.error()), (stop, None), "{word}");
    }
    session.history().await;
}

#[tokio::test]
async fn garbage_is_recorded_and_the_turn_goes_on() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("[[garbage]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    assert!(!turn.text().is_empty());
    let events = session.history_with(UNPARSED).await;
    assert!(unparsed(&events) >= 4, "{}", unparsed(&events));
    let query = omniglot_client::EventsQuery {
        include_raw: true,
        types: vec![UniversalEventType::AgentUnparsed],
        ..Default::default()
    };
    let raw = daemon.client.events(&session.id, &query).await.unwrap().events;
    assert!(raw.iter().all(|event| event.raw.is_some()), "every one shows its bytes");
    assert!(
        raw.iter().any(|event| event.raw.as_ref().unwrap().get().contains("base64")),
        "also invalid UTF-8"
    );
}

#[tokio::test]
async fn a_line_over_the_limit_is_skipped_with_its_head_kept() {
    let daemon =
        Setup::new(env!("CARGO_BIN_EXE_omniglot")).config("[limits]\nmax_line_bytes = 1048576\n").start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("[[hugeline:3000000]] [[text:3]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let events = session.history_with(UNPARSED).await;
    assert_eq!(unparsed(&events), 1);
    assert!(!turn.text().is_empty());
    let whole = session.turn("[[hugeline:900000]]", PermissionReply::Once).await;
    assert!(whole.text().len() > 800_000, "{}", whole.text().len());
}

#[tokio::test]
async fn a_death_in_the_middle_of_a_line_closes_everything_once() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("[[tool:open]] [[crash:midline]]", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::AgentCrashed));
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let events = session.history_with(UNPARSED).await;
    assert_eq!(unparsed(&events), 1, "the half line is not lost");
}

#[tokio::test]
async fn odd_tool_calls_and_late_words_stay_lawful() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[tool:open]] [[tool:unannounced]] [[shell]] [[shell:fail]]", PermissionReply::Once).await;
    session
        .turn("[[reasoning]] [[plan]] [[commands]] [[mode]] [[title]] [[usage]]", PermissionReply::Once)
        .await;
    session.turn("[[late]]", PermissionReply::Once).await;
    let late = |event: &UniversalEvent| {
        matches!(&event.data, EventData::ItemStarted(data)
            if serde_json::to_string(&data.item.content).unwrap().contains("mock.late"))
    };
    let late = session.wait_for(0, late).await;
    session.wait_for(late.sequence, is(UniversalEventType::ItemDelta)).await;
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert!(detail.state.todos.is_some() && detail.state.commands.is_some() && detail.state.title.is_some());
    assert!(detail.state.context.is_some() && detail.state.cost_usd.is_some());
    session.history().await;
}

#[tokio::test]
async fn cancel_stops_a_silent_agent_and_resolves_what_is_open() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    let started = session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = session.wait_for(started.sequence, is(UniversalEventType::TurnEnded)).await;
    session.post("[[permission]]").await;
    let asked = session.wait_for(ended.sequence, is(UniversalEventType::PermissionRequested)).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = session.wait_for(asked.sequence, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &ended.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    session.history().await;
}

#[tokio::test]
async fn an_agent_deaf_to_everything_is_killed_and_the_session_goes_on() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[deaf]]").await;
    session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &ended.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    let turn = session.turn("[[recall]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let events = session.history().await;
    assert!(!events.iter().any(|event| event.kind() == UniversalEventType::SessionEnded));
}

#[tokio::test]
async fn a_process_that_leaves_by_itself_ends_the_session_but_not_its_future() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[stderr:100]] [[exit]]", PermissionReply::Once).await;
    let ended = session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let EventData::SessionEnded(data) = &ended.data else { unreachable!() };
    assert_eq!(data.exit_code, Some(0));
    let stderr = data.stderr.as_ref().unwrap();
    assert_eq!((stderr.truncated, stderr.total_lines), (true, Some(100)));
    let turn = session.turn("[[text:1]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    session.history().await;
}

#[tokio::test]
async fn an_agent_that_cannot_start_is_refused_and_no_session_exists() {
    let config = r#"
[agents.absent]
protocol = "acp"
command = ["no-such-program-anywhere"]

[agents.quitter]
protocol = "acp"
command = ["sh", "-c", "echo I do not want to >&2; exit 3"]

[agents.babbler]
protocol = "acp"
command = ["sh", "-c", "echo hello; exit 0"]
"#;
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    for (agent, status, says) in [
        ("absent", 404, "no-such-program-anywhere"),
        ("quitter", 500, "code 3"),
        ("babbler", 500, "code 0"),
        ("nobody", 400, "known agents"),
    ] {
        let refused =
            daemon.client.create(&session_id("s"), &CreateSessionRequest::new(agent)).await.unwrap_err();
        assert_eq!(refused.status(), Some(status), "{agent}");
        let problem = refused.problem().unwrap().clone();
        assert!(problem.detail.unwrap().contains(says), "{agent}");
        if agent == "quitter" {
            assert!(problem.hint.unwrap().contains("I do not want to"));
        }
    }
    assert!(daemon.client.list(&Default::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_prompt_that_could_never_be_sent_still_makes_a_whole_turn() {
    let flag = tempfile::tempdir().unwrap();
    let stop = flag.path().join("stop");
    let program = env!("CARGO_BIN_EXE_omniglot");
    let script = format!("[ -e {} ] && exit 9; exec {program} mock-agent", stop.display());
    let config = format!("[agents.moody]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {script:?}]\n");
    let daemon = Setup::new(program).config(config).start();
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("moody")).await;
    std::fs::write(&stop, "").unwrap();
    session.turn("[[exit]]", PermissionReply::Once).await;
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let turn = session.turn("hello?", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::AgentUnavailable));
    assert!(turn.events.iter().any(is(UniversalEventType::ItemCompleted)));
    std::fs::remove_file(&stop).unwrap();
    let turn = session.turn("[[text:1]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    session.history().await;
}

/// Returns the pid that `[[orphan]]` reports.
async fn orphan(session: &SessionDriver) -> u32 {
    let turn = session.turn("[[orphan]]", PermissionReply::Once).await;
    let text = text_of(&turn.events);
    let pid = text.split("orphan pid ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let pid = pid.and_then(|pid| pid.trim_end_matches(['.', ',']).parse().ok());
    let pid = pid.unwrap_or_else(|| panic!("no pid in {text:?}"));
    assert!(omniglot_testkit::daemon::is_alive(pid));
    pid
}

#[tokio::test]
async fn no_descendant_survives_the_daemon_however_it_ends() {
    let mut first = daemon();
    let session = SessionDriver::create(&first.client, "s").await;
    let (below, runaway) = (first.descendants(), orphan(&session).await);
    first.kill();
    below.into_iter().chain([runaway]).for_each(wait_gone);

    let mut second = first.restart();
    let session = SessionDriver::create(&second.client, "t").await;
    let (below, runaway) = (second.descendants(), orphan(&session).await);
    second.stop();
    below.into_iter().chain([runaway]).for_each(wait_gone);

    let third = second.restart();
    let session = SessionDriver::create(&third.client, "u").await;
    let runaway = orphan(&session).await;
    third.client.terminate(&session.id).await.unwrap();
    wait_gone(runaway);
}

#[tokio::test]
async fn a_full_database_makes_everybody_wait_and_loses_nothing() {
    let config = "[limits]\ndatabase_bytes = 1000000\n";
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let small = SessionDriver::create(&daemon.client, "small").await;
    small.turn("[[text:5]]", PermissionReply::Once).await;
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[flood:20000]]").await;
    // The daemon reports that it cannot write before a client notices.
    let reason = loop {
        match daemon.client.ready().await {
            Ok(()) => tokio::task::yield_now().await,
            Err(error) => break error.problem().unwrap().detail.clone().unwrap(),
        }
    };
    assert!(reason.contains("limit of 1000000 bytes"), "{reason}");
    let refused =
        daemon.client.post(&small.id, &omniglot_testkit::session_driver::message("hello"), None).await;
    assert!(matches!(refused.unwrap_err().status(), Some(429 | 503)));
    assert!(!small.history().await.is_empty(), "what is there stays readable");
    let served = session.history_with(Allow { open_turn: true, unparsed: false }).await.len();
    let mut daemon = daemon;
    daemon.kill();
    std::fs::write(daemon.data().join("omniglot.toml"), "").unwrap();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    assert!(session.history().await.len() > served);
    assert_eq!(session.turn("[[text:1]]", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn silence_before_the_handshake_is_a_timeout() {
    let config = "[limits]\nhandshake_seconds = 1\n\n[agents.mute]\nprotocol = \"acp\"\ncommand = [\"cat\", \"/dev/zero\"]\n\n[agents.still]\nprotocol = \"acp\"\ncommand = [\"tail\", \"-f\", \"/dev/null\"]\n";
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("still")).await;
    assert_eq!(refused.unwrap_err().status(), Some(504));
    // One endless line is no progress either, and takes no memory.
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("mute")).await;
    assert_eq!(refused.unwrap_err().status(), Some(504));
    assert!(daemon.rss() < 300 * 1024 * 1024, "{}", daemon.rss());
}

#[tokio::test]
async fn an_agent_that_dies_again_and_again_is_left_alone_until_a_turn_has_ended() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let why = async |text: &str| {
        let turn = session.turn(text, PermissionReply::Once).await;
        turn.error().map(|error| error.message.clone()).unwrap_or_default()
    };
    // One that works between its deaths is started as often as it is wanted.
    for _ in 0..6 {
        assert!(why("[[crash]]").await.contains("code 7"));
        assert_eq!(why("[[text:1]]").await, "");
    }
    for _ in 0..5 {
        assert!(why("[[crash]]").await.contains("code 7"));
    }
    let refused = why("[[text:1]]").await;
    assert!(refused.contains("its process ended 5 times within 10 minutes"), "{refused}");
    assert!(refused.contains("code 7"), "{refused}");
    let other = SessionDriver::create(&daemon.client, "other").await;
    assert_eq!(other.turn("[[text:1]]", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
}
