//! Rules about an agent's calls with real daemons: who decides, what the log says of it, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]

#[path = "cli/harness.rs"]
#[expect(dead_code, reason = "shared with the other tests of the binary")]
mod harness;

use harness::{Finished, Harness};
use omniglot_schema::{
    CreateSessionRequest, Decide, EventData, PermissionEventData, PermissionReply, PermissionStatus,
    ResolvedBy, Rule, ToolKind, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, status_of, text_of};

const PROGRAM: &str = env!("CARGO_BIN_EXE_omniglot");

fn daemon(config: &str) -> Daemon {
    Setup::new(PROGRAM).config(config).start()
}

fn command(name: &str, decide: Decide, words: &[&str]) -> Rule {
    Rule { command: Some(words.iter().map(|word| (*word).to_owned()).collect()), ..Rule::new(name, decide) }
}

fn with(rules: Vec<Rule>) -> CreateSessionRequest {
    CreateSessionRequest { rules, ..CreateSessionRequest::new("mock") }
}

/// Has the agent ask to run `echo hello`, answers nothing, and returns the resolution.
async fn decided(session: &SessionDriver) -> (PermissionEventData, Vec<UniversalEvent>) {
    session.post("[[permission]]").await;
    session.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let events = session.history().await;
    let resolved = events.iter().rev().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => Some(data.clone()),
        _ => None,
    });
    (resolved.unwrap(), events)
}

fn rule_of(data: &PermissionEventData) -> (PermissionStatus, Option<ResolvedBy>, Option<&str>) {
    let metadata = data.metadata.as_ref().unwrap();
    (data.status, metadata.resolved_by, metadata.rule.as_deref())
}

#[tokio::test]
async fn a_rule_allows_or_denies_a_call_at_once_and_the_log_says_which() {
    let daemon = daemon("");
    let allow = with(vec![command("hello", Decide::Allow, &["echo"])]);
    let session = SessionDriver::create_with(&daemon.client, "allow", &allow).await;
    let (resolved, events) = decided(&session).await;
    assert_eq!(
        rule_of(&resolved),
        (PermissionStatus::Accept, Some(ResolvedBy::Policy), Some("hello")),
        "{resolved:?}"
    );
    assert!(events.iter().any(|event| event.kind() == UniversalEventType::PermissionRequested));
    assert!(text_of(&events).contains("said hello"), "{}", text_of(&events));

    let deny = with(vec![
        command("hello", Decide::Allow, &["echo"]),
        Rule { kind: Some(ToolKind::Execute), ..Rule::new("quiet", Decide::Deny) },
    ]);
    let session = SessionDriver::create_with(&daemon.client, "deny", &deny).await;
    let (resolved, events) = decided(&session).await;
    assert_eq!(
        rule_of(&resolved),
        (PermissionStatus::Reject, Some(ResolvedBy::Policy), Some("quiet")),
        "{resolved:?}"
    );
    assert!(text_of(&events).contains("I do not run it"), "{}", text_of(&events));
}

#[tokio::test]
async fn rules_of_the_daemon_bind_every_session_and_outlive_its_restart() {
    let config = "[[rules]]\nname = \"no-echo\"\ndecide = \"deny\"\ncommand = [\"echo\"]\n";
    let mut daemon = daemon(config);
    let own = with(vec![command("hello", Decide::Allow, &["echo"])]);
    let session = SessionDriver::create_with(&daemon.client, "s", &own).await;
    let (resolved, _) = decided(&session).await;
    assert_eq!(
        rule_of(&resolved),
        (PermissionStatus::Reject, Some(ResolvedBy::Policy), Some("no-echo")),
        "a deny of any layer comes first"
    );
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let last = session.history().await.len() as u64;
    session.post("[[permission]]").await;
    let again = session.wait_for(last, |event| event.kind() == UniversalEventType::PermissionResolved).await;
    let EventData::PermissionResolved(resolved) = again.data else { unreachable!() };
    assert_eq!(rule_of(&resolved).2, Some("no-echo"));
    session.wait_for(last, |event| event.kind() == UniversalEventType::TurnEnded).await;
}

#[tokio::test]
async fn a_grant_comes_before_a_rule_that_asks() {
    let daemon = daemon("");
    let asking = with(vec![command("mind", Decide::Ask, &["echo"])]);
    let asked = SessionDriver::create_with(&daemon.client, "asked", &asking).await;
    asked.turn("[[permission]]", PermissionReply::Always).await;
    let events = asked.turn("[[permission]]", PermissionReply::Reject).await.events;
    assert!(events.iter().all(|event| event.kind() != UniversalEventType::PermissionRequested));
}

#[tokio::test]
async fn a_rule_that_asks_each_time_offers_no_always() {
    let daemon = daemon("");
    let rule = Rule { remember: Some(false), ..command("mind", Decide::Ask, &["echo"]) };
    let session = SessionDriver::create_with(&daemon.client, "s", &with(vec![rule])).await;
    session.post("[[permission]]").await;
    let asked = session.wait_for(0, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    let EventData::PermissionRequested(asked) = asked.data else { unreachable!() };
    let metadata = asked.metadata.clone().unwrap();
    assert_eq!(metadata.rule.as_deref(), Some("mind"));
    assert!(metadata.options.iter().all(|option| option.kind != "allow_always"), "{metadata:?}");
    let id = asked.permission_id.as_str();
    assert_eq!(status_of(session.reply(id, PermissionReply::Always).await), 400);
    session.reply(id, PermissionReply::Once).await.unwrap();
    session.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    session.history().await;
}

#[tokio::test]
async fn a_call_that_no_rule_fits_is_asked_about() {
    let daemon = daemon("");
    let other = with(vec![command("status", Decide::Allow, &["git", "status"])]);
    let session = SessionDriver::create_with(&daemon.client, "s", &other).await;
    let turn = session.turn("[[permission]]", PermissionReply::Once).await;
    let resolved = turn.events.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => Some(data.clone()),
        _ => None,
    });
    assert_eq!(rule_of(&resolved.unwrap()), (PermissionStatus::Accept, Some(ResolvedBy::Person), None));
}

#[tokio::test]
async fn rules_that_nobody_can_mean_are_refused_when_a_session_is_created() {
    let daemon = daemon("");
    let escaping = Rule { path: Some("../x".to_owned()), ..Rule::new("r", Decide::Deny) };
    for rule in [escaping, command("r", Decide::Allow, &["sudo"]), command("r", Decide::Deny, &[])] {
        let id = omniglot_testkit::session_driver::session_id("s");
        assert_eq!(status_of(daemon.client.create(&id, &with(vec![rule])).await), 400);
    }
}

#[test]
fn a_wrong_rule_is_named_by_its_place_and_no_daemon_starts_with_it() {
    let harness = Harness::new();
    for (text, wanted) in [
        ("[[rules]]\nname = \"a\"\ndecide = \"maybe\"\n", "omniglot.toml:3:"),
        ("[[rules]]\nname = \"a\"\ndecide = \"deny\"\npaths = \"x\"\n", "paths"),
        ("[[rules]]\nname = \"a\"\ndecide = \"deny\"\npath = \"../x\"\n", "`..`"),
        ("[[rules]]\nname = \"a\"\ndecide = \"allow\"\ncommand = [\"bash\"]\n", "runs whatever follows it"),
    ] {
        harness.configure(text);
        for args in [&["config", "check"][..], &["serve"], &["rules", "test", "ls"]] {
            let done = Finished::of(&mut harness.command(args));
            assert!(done.exited(2).stderr.contains(wanted), "{args:?}: {}", done.stderr);
        }
    }
}

#[test]
fn rules_test_tells_the_decision_and_why() {
    let harness = Harness::new();
    let rules = "[[rules]]\nname = \"status\"\ndecide = \"allow\"\ncommand = [\"git\", \"status\"]\n\
                 [[rules]]\nname = \"no-rm\"\ndecide = \"deny\"\ncommand = [\"rm\"]\n";
    harness.configure(rules);
    let said = |args: &[&str]| {
        Finished::of(&mut harness.command(&[&["rules", "test"], args].concat())).exited(0).stdout.clone()
    };
    assert_eq!(said(&["git status -s"]), "allow: rule `status` allows it (omniglot.toml)\n");
    assert_eq!(said(&["sudo rm x"]), "deny: rule `no-rm` denies it (omniglot.toml)\n");
    assert_eq!(said(&["git status; whoami"]), "ask: no rule allows the command `whoami`\n");
    assert_eq!(said(&["git status $(ls)"]), "ask: only the shell knows what `$(ls)` is\n");
    let token = harness.data_dir().join("private/token");
    let token = token.to_str().unwrap();
    assert!(said(&["--path", token]).starts_with("deny: "), "the floor");
    assert!(said(&[&format!("cat {token}")]).starts_with("deny: "), "the floor");
}
