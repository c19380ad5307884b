//! One server for all sessions: each session receives only its own events, and none is lost with the server.

use omniglot_schema::{
    CreateSessionRequest, ErrorCode, EventData, PermissionReply, Resume, ServerStatus, ServerStatusInfo,
    StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone, without_forked};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Gate, Model, Reply, Request};
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{SessionDriver, text_of};

use crate::{CODEX, ended_so, is, shell};

/// Returns the servers of Codex below the daemon.
fn servers(daemon: &Daemon) -> Vec<u32> {
    without_forked(daemon.descendants(), |pid| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        program.ends_with("bin/codex") && line.contains("app-server")
    })
}

async fn status(daemon: &Daemon) -> ServerStatusInfo {
    let agents = daemon.client.agents().await.unwrap().agents;
    agents.into_iter().find(|agent| agent.id == "codex").and_then(|agent| agent.server_status).unwrap()
}

async fn another(fixture: &Fixture, name: &str) -> SessionDriver {
    SessionDriver::create_with(&fixture.daemon.client, name, &CreateSessionRequest::new("codex")).await
}

/// An answer to the session whose prompt has this word, which stops in the middle.
fn halved(word: &'static str, first: &str, second: &str) -> (Reply, Gate) {
    let (half, gate) = Reply::text(first).hold();
    (half.and_text(second).when(of(word)), gate)
}

fn of(word: &'static str) -> impl Fn(&Request) -> bool + Send + Sync + 'static {
    move |request| request.text().contains(word)
}

#[tokio::test]
async fn two_sessions_share_one_process_and_never_hear_each_other() {
    let fixture = CODEX.fixture([]).await;
    let (first, second) = (&fixture.session, another(&fixture, "other").await);
    let server = servers(&fixture.daemon);
    assert_eq!(server.len(), 1, "one server for both");
    let (alpha, alpha_gate) = halved("apple", "Alpha begins.", "Alpha ends.");
    let (beta, beta_gate) = halved("banana", "Beta begins.", "Beta ends.");
    fixture.model.push(alpha);
    fixture.model.push(beta);
    first.post("Speak of the apple.").await;
    alpha_gate.reached().await;
    second.post("Speak of the banana.").await;
    beta_gate.reached().await;
    beta_gate.open();
    second.wait_for(0, ended_so(StopReason::EndTurn)).await;
    alpha_gate.open();
    first.wait_for(0, ended_so(StopReason::EndTurn)).await;
    let [of_first, of_second] = [first.history().await, second.history().await];
    assert_eq!(text_of(&of_first), "Alpha begins.Alpha ends.");
    assert_eq!(text_of(&of_second), "Beta begins.Beta ends.");
    let threads = |events: &[UniversalEvent]| {
        let ids = events.iter().filter_map(|event| event.native_session_id.clone());
        ids.collect::<std::collections::HashSet<_>>()
    };
    assert!(threads(&of_first).is_disjoint(&threads(&of_second)));
    assert_eq!(servers(&fixture.daemon), server);
}

/// When the server is killed every turn on it ends and the next message resumes.
#[tokio::test]
async fn resume_after_a_crash() {
    let fixture = CODEX
        .fixture([Reply::text("Noted.").when(of("apple")), Reply::text("Noted.").when(of("banana"))])
        .await;
    let (first, second) = (&fixture.session, another(&fixture, "other").await);
    let talk = async |session: &SessionDriver, text: &str| session.turn(text, PermissionReply::Once).await;
    talk(first, "Remember the apple.").await;
    talk(&second, "Remember the banana.").await;
    let gates = ["apple", "banana"].map(|word| {
        let (reply, gate) = halved(word, "It takes", "a while");
        fixture.model.push(reply);
        gate
    });
    first.post("Talk long.").await;
    second.post("Talk long, too.").await;
    for gate in &gates {
        gate.reached().await;
    }
    let [server] = servers(&fixture.daemon).try_into().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &server.to_string()]).status().unwrap();
    assert!(killed.success());
    for session in [first, &second] {
        session.wait_for(0, ended_so(StopReason::Error)).await;
        let ended = session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
        let events = session.history().await;
        let error = events.iter().find_map(|event| match &event.data {
            EventData::Error(error) => error.code,
            _ => None,
        });
        assert_eq!(error, Some(ErrorCode::AgentCrashed), "{ended:?}");
    }
    wait_gone(server);
    assert_eq!(status(&fixture.daemon).await.status, ServerStatus::Error);
    for (session, word) in [(first, "apple"), (&second, "banana")] {
        fixture.model.push(Reply::text("I know."));
        let turn = talk(session, "What was it?").await;
        assert_eq!((turn.text().as_str(), turn.stop_reason()), ("I know.", StopReason::EndTurn), "{turn}");
        assert!(fixture.model.last().text().contains(&format!("Remember the {word}.")));
        let events = session.history().await;
        let resumed = events.iter().rev().find_map(|event| match &event.data {
            EventData::SessionStarted(data) => data.metadata.as_ref()?.resume,
            _ => None,
        });
        assert_eq!(resumed, Some(Resume::Native));
    }
    let now = status(&fixture.daemon).await;
    assert_eq!((now.status, now.restart_count), (ServerStatus::Running, 1));
}

#[tokio::test]
async fn the_status_of_the_server_is_told_with_the_agent() {
    let fixture = CODEX.fixture([]).await;
    let now = status(&fixture.daemon).await;
    assert_eq!((now.status, now.restart_count, now.last_error), (ServerStatus::Running, 0, None));
    assert!(now.uptime_ms.is_some());
}

#[tokio::test]
async fn a_session_that_comes_back_has_its_sandbox_and_its_approvals_again() {
    let read_only = |model: &_| RealAgent::codex(model).arg("-c").arg("sandbox_mode=\"read-only\"");
    let agent = Dialect { agent: read_only, ..CODEX };
    let writes =
        |request: &mut CreateSessionRequest| request.permission_mode = Some("acceptEdits".to_owned());
    let fixture = agent.fixture_with([shell("touch before"), Reply::text("Made.")], writes).await;
    let turn = fixture.turn("Make a file.").await;
    assert!(fixture.file("before").exists(), "{turn}");
    let careful = CreateSessionRequest {
        permission_mode: Some("untrusted".to_owned()),
        ..CreateSessionRequest::new("codex")
    };
    let asking = SessionDriver::create_with(&fixture.daemon.client, "asking", &careful).await;
    fixture.model.push(Reply::text("Hello."));
    asking.turn("Say hello.", PermissionReply::Once).await;

    let asked = fixture.model.conversation().len();
    let fixture = fixture.restart();
    fixture.model.push(shell("touch after"));
    let turn = fixture.answered("Make another.", Reply::text("Made again.")).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("Made again.", 0), "{turn}");
    assert!(fixture.file("after").exists(), "{turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.permission_mode.as_deref(), Some("acceptEdits"));
    // The model is informed of every change of the sandbox; after the restart there was none.
    let heard = &fixture.model.conversation()[asked];
    assert!(heard.text().contains("Make a file.") && heard.text().contains("Make another."));
    assert!(heard.system.contains("`sandbox_mode` is `workspace-write`"), "{}", heard.system);
    assert!(!heard.system.contains("`sandbox_mode` is `read-only`"), "{}", heard.system);

    let asking = SessionDriver::of(&fixture.daemon.client, "asking");
    fixture.model.push(shell("true"));
    fixture.model.push(Reply::text("It ran."));
    let turn = asking.turn("Run it.", PermissionReply::Once).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("It ran.", 1), "{turn}");
}

#[tokio::test]
async fn a_session_that_rests_leaves_the_server_and_comes_back_to_it() {
    let model = Model::responses().start();
    let agent = RealAgent::codex(&model);
    let config = format!("[limits]\nidle_seconds = 1\n{}", agent.toml());
    let daemon = Setup::new(CODEX.program).config(config).start();
    let busy = SessionDriver::create_with(&daemon.client, "busy", &CreateSessionRequest::new("codex")).await;
    let (held, gate) = Reply::text("Busy.").when(of("work")).hold();
    model.push(held);
    busy.post("Go to work.").await;
    gate.reached().await;
    let server = servers(&daemon);
    let session =
        SessionDriver::create_with(&daemon.client, "resting", &CreateSessionRequest::new("codex")).await;
    model.push(Reply::text("Noted."));
    let turn = session.turn("Remember the walrus.", PermissionReply::Once).await;
    let rests = |event: &UniversalEvent| match &event.data {
        EventData::SessionUpdated(patch) => patch.connection == Some(None),
        _ => false,
    };
    session.wait_for(turn.last_sequence(), rests).await;
    model.push(Reply::text("The walrus."));
    let turn = session.turn("What was it?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "The walrus.", "{turn}");
    assert!(model.last().text().contains("Remember the walrus."));
    assert_eq!(servers(&daemon), server, "a server that is used stays");
    gate.open();
    busy.wait_for(0, ended_so(StopReason::EndTurn)).await;
}
