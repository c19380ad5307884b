//! Agents of a few lines of shell, each with one fault that the built-in agent does not have.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_client::StreamFrom;
use omniglot_schema::{
    AgentStability, ContentPart, CreateSessionRequest, Delivery, ErrorCode, EventData, ItemId,
    MessageRequest, PermissionReply, PermissionStatus, QueueOnCancel, ResolvedBy, StopReason, UniversalEvent,
    UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, message, session_id, status_of};
use omniglot_timeline::check::Allow;

const OPEN: &str = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read l; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x"}}'
"#;
const END: &str = r#"echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;
const ASK: &str = r#"echo '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"t1","title":"do it","kind":"execute"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
"#;

/// Sends a text chunk of the agent.
fn says(text: &str) -> String {
    format!(
        r#"echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"x","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}'
"#
    )
}

/// A daemon whose agent `odd` runs `script`.
fn daemon(script: &str, more: &str) -> Daemon {
    let command = toml_string(script);
    let config = format!("{more}\n[agents.odd]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n");
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

fn toml_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

async fn odd(daemon: &Daemon) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

/// The late item that begins here.
fn late(event: &UniversalEvent) -> Option<ItemId> {
    let EventData::ItemStarted(data) = &event.data else { return None };
    let is_late =
        |part: &ContentPart| matches!(part, ContentPart::Status { label, .. } if label == "odd.late");
    data.item.content.iter().any(is_late).then(|| data.item.item_id.clone())
}

fn warning(event: &UniversalEvent) -> Option<String> {
    let EventData::ItemCompleted(data) = &event.data else { return None };
    data.item.content.iter().find_map(|part| match part {
        ContentPart::Status { label, detail, .. } if label == "odd.warning" => detail.clone(),
        _ => None,
    })
}

#[tokio::test]
async fn the_capabilities_of_an_agent_that_nobody_has_tested_are_those_of_its_handshake() {
    let daemon = daemon(&format!("{OPEN} exec sleep 600"), "");
    let session = odd(&daemon).await;
    let told = daemon.client.detail(&session.id).await.unwrap().capabilities.unwrap();
    assert!(!told.images && !told.session_lifecycle && !told.plan_mode, "{told:?}");
    assert!(told.text_messages && !told.permissions && !told.mcp_tools, "{told:?}");
    let agents = daemon.client.agents().await.unwrap().agents;
    let agent = agents.iter().find(|agent| agent.id == "odd").unwrap();
    assert_eq!((agent.stability, agent.capabilities), (Some(AgentStability::Unverified), told));
}

#[tokio::test]
async fn an_agent_that_closes_its_stdout_and_lives_on_is_ended() {
    let daemon = daemon(&format!("{OPEN} read l; exec 1>&-; exec sleep 600"), "");
    let session = odd(&daemon).await;
    let turn = session.turn("hello", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::AgentCrashed));
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    session.history().await;
}

#[tokio::test]
async fn a_banner_that_never_ends_is_no_handshake() {
    let daemon = daemon("while :; do echo welcome; sleep 0.1; done", "[limits]\nhandshake_seconds = 1");
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("odd")).await;
    assert_eq!(status_of(refused), 504);
}

/// The hint of a refused creation.
async fn refused_hint(daemon: &Daemon, status: u16) -> String {
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("odd")).await;
    let problem = refused.unwrap_err().problem().unwrap().clone();
    assert_eq!(problem.status, status, "{problem:?}");
    problem.hint.unwrap_or_default()
}

const BANNER: &str = "i=0; while [ $i -lt 5000 ]; do echo welcome; i=$((i+1)); done\n";

#[tokio::test]
async fn a_program_that_writes_for_ever_is_refused_and_its_output_is_discarded_and_counted() {
    for protocol in ["acp", "codex", "opencode"] {
        let config = format!(
            "[limits]\nhandshake_seconds = 1\n[agents.odd]\nprotocol = \"{protocol}\"\ncommand = [\"sh\", \"-c\", \"exec yes\"]\n"
        );
        let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
        let hint = refused_hint(&daemon, 504).await;
        let discarded = hint.strip_prefix("discarded ").and_then(|rest| rest.split_once(" lines ("));
        let lines: u64 = discarded.unwrap_or_else(|| panic!("{protocol}: {hint}")).0.parse().unwrap();
        assert!(hint.contains(&format!(" lines ({lines} bytes) of its output")), "{protocol}: {hint}");
        assert!(daemon.rss() < MOST_MEMORY, "{protocol}: {}", daemon.rss());
    }
}

#[tokio::test]
async fn a_program_that_ends_after_much_output_says_how_much_was_discarded() {
    let daemon = daemon(&format!("{BANNER} echo 'no such mode' >&2; exit 3"), "");
    let hint = refused_hint(&daemon, 500).await;
    assert!(hint.starts_with("discarded 4936 lines (34552 bytes) of its output"), "{hint}");
    assert!(hint.ends_with("its stderr ends with: no such mode"), "{hint}");
}

#[tokio::test]
async fn a_session_that_opens_after_a_long_banner_says_how_much_of_it_was_discarded() {
    let daemon = daemon(&format!("{BANNER} {OPEN} read l; {END} read l"), "");
    let session = odd(&daemon).await;
    assert_eq!(session.turn("hello", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    let history = session.history_with(Allow { unparsed: true, ..Allow::default() }).await;
    assert_eq!(history.iter().filter(|event| event.kind() == UniversalEventType::AgentUnparsed).count(), 64);
    let warnings: Vec<String> = history.iter().filter_map(warning).collect();
    assert_eq!(
        warnings,
        ["discarded 4936 lines (34552 bytes) that the agent wrote before the session was open"]
    );
}

#[tokio::test]
async fn a_request_that_the_turn_outlived_is_answered_to_the_agent() {
    let tell = says("told");
    let script =
        format!("{OPEN} read l; {ASK} {END} read a; case \"$a\" in *cancelled*) {tell};; esac; read l");
    let daemon = daemon(&script, "");
    let session = odd(&daemon).await;
    session.post("hello").await;
    let begun = session.wait_for(0, |event| late(event).is_some()).await;
    let told = session.wait_for(begun.sequence, is(UniversalEventType::ItemDelta)).await;
    let EventData::ItemDelta(told) = &told.data else { unreachable!() };
    assert_eq!((Some(&told.item_id), told.delta.as_str()), (late(&begun).as_ref(), "told"));
    session.history().await;
}

#[tokio::test]
async fn a_message_that_waits_is_not_given_to_a_process_on_its_way_out() {
    let stop = r#"trap 'echo "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}"; sleep 0.3; exit 0' INT"#;
    let wait = "while :; do sleep 0.05; done";
    let answer = says("again");
    // The first process hangs until it is interrupted, the second answers.
    let script = format!(
        "{stop}\n{OPEN} read l; if [ -e lived ]; then {answer} {END} read l; else : > lived; {wait}; fi"
    );
    let daemon = daemon(&script, "[limits]\ncancel_seconds = 1");
    let session = odd(&daemon).await;
    session.post("hang").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    session.post("next").await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let cancelled = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let second = session.wait_for(cancelled.sequence, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &second.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::EndTurn);
    let events = session.history().await;
    assert!(!events.iter().any(is(UniversalEventType::SessionEnded)));
}

#[tokio::test]
async fn a_message_that_comes_behind_a_cancel_is_not_given_to_a_process_on_its_way_out() {
    let stop = r#"trap 'echo "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}"; sleep 600' INT"#;
    let answer = says("again");
    let script = format!(
        "{stop}\n{OPEN} read l; if [ -e lived ]; then {answer} {END} read l; else : > lived; sleep 600; fi"
    );
    let daemon = daemon(&script, "[limits]\ncancel_seconds = 1");
    let session = odd(&daemon).await;
    session.post("hang").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let next = session.turn("next", PermissionReply::Once).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("again", StopReason::EndTurn));
    session.history().await;
}

#[tokio::test]
async fn an_agent_that_hears_nothing_any_more_is_ended_with_its_turn() {
    let daemon = daemon(&format!("{OPEN} read l; {END} exec sleep 600 <&-"), "");
    let session = odd(&daemon).await;
    assert_eq!(session.turn("hello", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    let turn = session.turn("are you there?", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::AgentCrashed), "{turn}");
    session.history().await;
}

#[tokio::test]
async fn a_reply_that_the_agent_cannot_read_is_409_and_its_request_is_resolved_by_the_crash() {
    let daemon = daemon(&format!("{OPEN} read l; exec <&-; {ASK} exec sleep 600"), "");
    let session = odd(&daemon).await;
    session.post("hello").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = asked.data else { unreachable!() };
    let refused = session.reply(ask.permission_id.as_str(), PermissionReply::Once).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.status, 409, "{problem:?}");
    let detail = problem.detail.clone().unwrap();
    assert!(
        detail.ends_with("was not taken: the agent reads nothing any more, and its process is ended"),
        "{detail}"
    );
    let resolved = session.wait_for(0, is(UniversalEventType::PermissionResolved)).await;
    let EventData::PermissionResolved(resolved) = resolved.data else { unreachable!() };
    assert_eq!(resolved.status, PermissionStatus::Reject);
    assert_eq!(resolved.metadata.unwrap().resolved_by, Some(ResolvedBy::Crash));
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    session.history().await;
}

const WAIT: &str = "while [ ! -e go ]; do sleep 0.02; done;";

/// Fills the pipe of the agent: the refusals of what we do not serve repeat its ids, and are more than there is room
/// for.
fn fill() -> String {
    let id = "x".repeat(5000);
    format!(
        r#"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
echo '{{"jsonrpc":"2.0","id":"{id}'$i'","method":"no/such","params":{{}}}}'; done
"#
    )
}

#[tokio::test]
async fn a_reply_that_waits_when_its_request_is_resolved_is_409_and_never_read() {
    let fill = fill();
    let answers = r#"while read -r l; do case "$l" in *'"id":7'*) echo "$l" >> answers;; *session/cancel*) break;; esac; done"#;
    let end = r#"echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}'
"#;
    let script = format!("{OPEN} read l; {fill} {ASK} {WAIT} {answers}; {end} read l");
    let daemon = daemon(&script, "");
    let session = odd(&daemon).await;
    session.post("hello").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = asked.data else { unreachable!() };
    let reply = || Box::pin(session.reply(ask.permission_id.as_str(), PermissionReply::Once));
    // The second reply is refused because the first one waits.
    let (first, waiting) = match futures_util::future::select(reply(), reply()).await {
        futures_util::future::Either::Left(done) | futures_util::future::Either::Right(done) => done,
    };
    assert_eq!(status_of(first), 409);
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let problem = waiting.await.unwrap_err().problem().unwrap().clone();
    assert_eq!(problem.status, 409, "{problem:?}");
    let detail = problem.detail.unwrap();
    assert!(detail.ends_with("the request was resolved before the agent had the reply"), "{detail}");
    std::fs::write(daemon.work().join("go"), "").unwrap();
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let answers = std::fs::read_to_string(daemon.work().join("answers")).unwrap();
    assert!(answers.contains("cancelled") && !answers.contains("selected"), "{answers}");
    session.history_with(Allow { unparsed: true, ..Allow::default() }).await;
}

/// The most memory that a daemon may take whose agent writes for ever.
const MOST_MEMORY: u64 = 300 * 1024 * 1024;

#[tokio::test]
async fn a_session_whose_agent_writes_for_ever_ends_promptly_and_takes_little_memory() {
    let flood = says("again and again").replace("echo", "yes");
    for end in ["", r#"read l; "#] {
        let daemon = daemon(&format!("{OPEN} read l; {end} {flood}"), "");
        let session = odd(&daemon).await;
        session.post("hello").await;
        if end.is_empty() {
            session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
        }
        let began = std::time::Instant::now();
        daemon.client.terminate(&session.id).await.unwrap();
        assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
        assert!(daemon.rss() < MOST_MEMORY, "{}", daemon.rss());
        session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    }
}

#[tokio::test]
async fn a_handshake_in_which_the_agent_only_says_other_things_has_an_end() {
    let flood = says("wait").replace("echo", "yes");
    let daemon = daemon(&flood, "[limits]\nhandshake_seconds = 1");
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("odd")).await;
    let problem = refused.unwrap_err().problem().unwrap().clone();
    assert_eq!(problem.status, 504, "{problem:?}");
    assert!(problem.detail.unwrap().ends_with("within 10 s"));
    assert!(daemon.rss() < MOST_MEMORY, "{}", daemon.rss());
}

#[tokio::test]
async fn of_two_replies_behind_a_full_pipe_one_waits_until_it_is_read_and_the_other_is_409() {
    let fill = fill();
    let answer = r#"while read -r l; do case "$l" in *'"id":7'*) break;; esac; done"#;
    let daemon = daemon(&format!("{OPEN} read l; {fill} {ASK} {WAIT} {answer}; {END} read l"), "");
    let session = odd(&daemon).await;
    session.post("hello").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = asked.data else { unreachable!() };
    let reply = || Box::pin(session.reply(ask.permission_id.as_str(), PermissionReply::Once));
    let (first, other) = match futures_util::future::select(reply(), reply()).await {
        futures_util::future::Either::Left(done) | futures_util::future::Either::Right(done) => done,
    };
    assert_eq!(status_of(first), 409);
    let events = session.history_with(Allow { open_turn: true, unparsed: true }).await;
    assert!(!events.iter().any(is(UniversalEventType::PermissionResolved)), "the agent has no answer");
    std::fs::write(daemon.work().join("go"), "").unwrap();
    other.await.unwrap();
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    session.history_with(Allow { unparsed: true, ..Allow::default() }).await;
}

#[tokio::test]
async fn a_turn_begins_when_the_agent_has_read_its_message_and_not_before() {
    let wait = "while [ ! -e go ]; do sleep 0.02; done; read -r l;";
    let daemon = daemon(&format!("{OPEN} {wait} {END} read l"), "");
    let session = odd(&daemon).await;
    let large = "x".repeat(300_000);
    session.post(&large).await;
    let waits = |event: &UniversalEvent| matches!(&event.data, EventData::SessionUpdated(patch) if patch.queue.is_some());
    session.wait_for(0, waits).await;
    assert!(
        !session.history().await.iter().any(is(UniversalEventType::TurnStarted)),
        "the agent has none of it"
    );
    std::fs::write(daemon.work().join("go"), "").unwrap();
    let ended = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &ended.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::EndTurn);
    let events = session.history().await;
    assert_eq!(events.iter().filter(|event| is(UniversalEventType::TurnStarted)(event)).count(), 1);
}

#[tokio::test]
async fn a_cancel_of_a_message_that_the_agent_does_not_read_ends_its_process_and_the_session_goes_on() {
    let script =
        format!("{OPEN} if [ -e lived ]; then read l; {END} read l; else : > lived; exec sleep 600; fi");
    let daemon = daemon(&script, "");
    let session = odd(&daemon).await;
    session.post(&"x".repeat(300_000)).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &ended.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    assert_eq!(session.turn("again", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    let events = session.history().await;
    assert!(!events.iter().any(is(UniversalEventType::SessionEnded)));
}

#[tokio::test]
async fn what_waits_for_its_agent_to_start_has_started_and_can_be_cancelled() {
    let script =
        format!("if [ -e lived ]; then exec sleep 600; fi; : > lived; {OPEN} read l; exec sleep 600");
    let mut daemon = daemon(&script, "");
    let session = odd(&daemon).await;
    session.post("hello").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let restarted = session.wait_for(0, is(UniversalEventType::TurnEnded)).await.sequence;
    session.post("one").await;
    session.post("two").await;
    let now = MessageRequest { delivery: Some(Delivery::Reject), ..message("three") };
    assert_eq!(status_of(daemon.client.post(&session.id, &now, None).await), 409);
    for _ in 0..2 {
        daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    }
    let end = session.wait_for(restarted, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = end.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    let waiting = daemon.client.detail(&session.id).await.unwrap().state.queue.unwrap();
    let waiting: Vec<_> = waiting.inline().unwrap().iter().map(|queued| queued.message.as_str()).collect();
    assert_eq!(waiting, ["two"]);
    session.history().await;
}

#[tokio::test]
async fn a_cancel_ends_what_waits_for_an_agent_that_had_died() {
    let script = format!("if [ -e lived ]; then exec sleep 600; fi; : > lived; {OPEN} read l; exit 3");
    let daemon = daemon(&script, "");
    let session = odd(&daemon).await;
    let crashed = session.turn("hello", PermissionReply::Once).await;
    assert_eq!(crashed.error().unwrap().code, Some(ErrorCode::AgentCrashed));
    let dead = session.wait_for(0, is(UniversalEventType::SessionEnded)).await.sequence;
    session.post("are you there?").await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let end = session.wait_for(dead, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = end.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    session.history().await;
}

#[tokio::test]
async fn a_session_outlives_its_agents_configuration() {
    let mut daemon = daemon(&format!("{OPEN} read l; exec sleep 600"), "");
    let session = odd(&daemon).await;
    session.post("hello").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    daemon.kill();
    std::fs::write(daemon.data().join("omniglot.toml"), "").unwrap();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let turn = session.turn("are you there?", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::AgentUnavailable));
    session.history().await;
    daemon.client.terminate(&session.id).await.unwrap();
    daemon.client.delete(&session.id).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_is_refused_after_a_crash_leaves_a_lawful_stream() {
    let refuse = r#"echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"not today"}}'"#;
    let script =
        format!("if [ -e lived ]; then read l; {refuse}; read l; fi; : > lived; {OPEN} read l; exit 4");
    let daemon = daemon(&script, "");
    let session = odd(&daemon).await;
    session.turn("die", PermissionReply::Once).await;
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let turn = session.turn("hello", PermissionReply::Once).await;
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::AgentUnavailable));
    assert!(error.message.contains("not today"), "{}", error.message);
    session.history().await;
}

#[tokio::test]
async fn secrets_of_the_configuration_are_hidden_in_all_that_the_agent_says() {
    let script = format!(
        "{OPEN} read l; echo \"my $API_KEY\" >&2; {} {END} read l; exit 1",
        says("key '\"$API_KEY\"'")
    );
    let daemon = daemon(&script, "");
    let config = std::fs::read_to_string(daemon.data().join("omniglot.toml")).unwrap();
    drop(daemon);
    let config = format!("{config}env = {{ API_KEY = \"canary-secret-123\" }}\n");
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let session = odd(&daemon).await;
    let turn = session.turn("tell me", PermissionReply::Once).await;
    assert_eq!(turn.text(), "key ***");
    session.post("bye").await;
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let query = omniglot_client::EventsQuery { include_raw: true, ..Default::default() };
    let all = daemon.client.events(&session.id, &query).await.unwrap();
    let all = serde_json::to_string(&all).unwrap();
    assert!(all.contains("my ***") && !all.contains("canary"), "{all}");
}

#[tokio::test]
async fn a_secret_is_hidden_wherever_the_agent_tears_or_escapes_it() {
    let secret = "canary-secret-123";
    let torn = (1..secret.len()).map(|cut| {
        let (first, second) = secret.split_at(cut);
        says(&format!("key {first}")) + &says(&format!("{second} and "))
    });
    let letters = secret.chars().map(|c| says(&c.to_string()));
    let escaped = secret.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    let said: String = torn.chain(letters).chain([says(&escaped)]).collect();
    let script = toml_string(&format!("{OPEN} read l; {said} {END} exec sleep 600"));
    let config = format!(
        "[agents.odd]\nprotocol = \"acp\"\ncommand = [\"bash\", \"-c\", {script}]\nenv = {{ API_KEY = \"{secret}\" }}\n"
    );
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let session = odd(&daemon).await;
    let turn = session.turn("tell me", PermissionReply::Once).await;
    assert_eq!(turn.text(), format!("{}******", "key *** and ".repeat(secret.len() - 1)));
    let query = omniglot_client::EventsQuery { include_raw: true, ..Default::default() };
    let all = daemon.client.events(&session.id, &query).await.unwrap();
    let deltas = all.events.iter().filter_map(|event| match &event.data {
        EventData::ItemDelta(data) => Some(data.delta.as_str()),
        _ => None,
    });
    assert_eq!(deltas.collect::<String>(), turn.text());
    let raw: String =
        all.events.iter().filter_map(|event| Some(event.raw.as_ref()?.get().to_owned())).collect();
    assert!(raw.contains("key ***") && raw.contains("*** and "), "{raw}");
    let export = std::process::Command::new(daemon.program())
        .args(["sessions", "export", "s", "--raw"])
        .env("OMNIGLOT_HOME", daemon.data())
        .output()
        .unwrap();
    assert!(export.status.success(), "{export:?}");
    let export = String::from_utf8(export.stdout).unwrap();
    assert!(export.contains("key ***"), "{export}");
    for shown in [serde_json::to_string(&all).unwrap(), export] {
        assert!(!shown.contains("canary-") && !shown.contains("secret-123"), "{shown}");
        assert!(!shown.contains("\\u0063"), "{shown}");
    }
}

#[tokio::test]
async fn a_session_that_is_posted_to_while_it_is_created_is_one_session() {
    let daemon = daemon("exit 1", "");
    for n in 0..10 {
        let name = format!("race{n}");
        let id = session_id(&name);
        let post = async {
            let message = omniglot_testkit::session_driver::message("[[text:1]]");
            while daemon.client.post(&id, &message, None).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        let (session, ()) = tokio::join!(SessionDriver::create(&daemon.client, &name), post);
        session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
        session.history().await;
    }
    // One guard and one agent each.
    assert_eq!(daemon.descendants().len(), 20);
}

#[tokio::test]
async fn a_session_that_is_posted_to_while_it_is_deleted_leaves_nothing_behind() {
    let daemon = daemon("exit 1", "");
    for n in 0..10 {
        let session = SessionDriver::create(&daemon.client, &format!("race{n}")).await;
        let post = async {
            let message = omniglot_testkit::session_driver::message("[[text:1]]");
            while daemon.client.post(&session.id, &message, None).await.is_ok() {}
        };
        let (deleted, ()) = tokio::join!(daemon.client.delete(&session.id), post);
        deleted.unwrap();
    }
    for pid in daemon.descendants() {
        wait_gone(pid);
    }
    assert!(daemon.client.list(&Default::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_full_log_does_not_keep_a_session_from_being_deleted() {
    let daemon = daemon("exit 1", "[limits]\ndatabase_bytes = 1000000");
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[flood:20000]]").await;
    while daemon.client.ready().await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(matches!(status_of(daemon.client.cancel(&session.id, QueueOnCancel::Keep).await), 429 | 503));
    let stream = session.watch(StreamFrom::Start).await;
    daemon.client.delete(&session.id).await.unwrap();
    drop(stream);
    while daemon.client.ready().await.is_err() {
        tokio::task::yield_now().await;
    }
    let next = SessionDriver::create(&daemon.client, "t").await;
    assert_eq!(next.turn("[[text:1]]", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    next.history_with(Allow::default()).await;
}

#[tokio::test]
async fn a_full_log_does_not_keep_a_session_from_being_deleted_whose_process_was_ended() {
    let daemon = daemon("exit 1", "[limits]\ndatabase_bytes = 1000000\nidle_seconds = 2");
    let resting = SessionDriver::create(&daemon.client, "resting").await;
    assert_eq!(resting.turn("[[text:1]]", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    let processes = daemon.descendants();
    let flood = SessionDriver::create(&daemon.client, "flood").await;
    flood.post("[[flood:20000]]").await;
    while daemon.client.ready().await.is_ok() {
        tokio::task::yield_now().await;
    }
    processes.into_iter().for_each(wait_gone);
    daemon.client.delete(&resting.id).await.unwrap();
    daemon.client.delete(&flood.id).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_falls_silent_within_a_turn_has_it_ended_where_that_is_wanted() {
    let script = format!("{OPEN} read l; {} exec sleep 600", says("one moment"));
    let daemon = daemon(&script, "[limits]\nsilence_seconds = 1");
    let session = odd(&daemon).await;
    let turn = session.turn("hello", PermissionReply::Once).await;
    let error = turn.error().unwrap();
    assert_eq!(
        (error.code, error.message.as_str()),
        (Some(ErrorCode::Timeout), "the agent said nothing for 1 s")
    );
    // The process that hung is gone, and the next message starts another.
    let again = session.turn("are you there?", PermissionReply::Once).await;
    assert_eq!(again.error().unwrap().code, Some(ErrorCode::Timeout));
    session.history().await;
}

#[tokio::test]
async fn a_request_that_we_do_not_serve_is_answered_and_recorded() {
    let ask = r#"echo '{"jsonrpc":"2.0","id":9,"method":"vendor/ask","params":{}}'
read answer; case "$answer" in *-32601*) ;; *) exit 9 ;; esac
"#;
    let daemon = daemon(&format!("{OPEN} read l; {ask} {END} exec sleep 600"), "");
    let session = odd(&daemon).await;
    let turn = session.turn("hello", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let history = session.history_with(Allow { unparsed: true, ..Allow::default() }).await;
    assert_eq!(history.iter().filter(|event| event.kind() == UniversalEventType::AgentUnparsed).count(), 1);
}
