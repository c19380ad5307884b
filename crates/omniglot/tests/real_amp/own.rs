//! Amp beyond the scenarios of all agents: exit codes, files, its modes, subagents on its server, lost threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use omniglot_schema::{
    ContentPart, ErrorCode, EventData, MessageAttachment, PermissionReply, PermissionReplyRequest,
    ReasoningVisibility, SessionPatch, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Failure, Model, Reply, Request};
use omniglot_testkit::session_driver::{labels, message, text_of};
use serde_json::json;

use crate::{AMP, shell};

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

#[tokio::test]
async fn exit_codes() {
    let fixture = AMP.fixture([shell("echo out; exit 3"), Reply::text("It failed.")]).await;
    let turn = fixture.turn("Run it.").await;
    let codes = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        ContentPart::ToolResult { exit_code, .. } => Some(*exit_code),
        _ => None,
    });
    assert_eq!(codes.collect::<Vec<_>>(), [Some(3)], "{turn}");
    fixture.session.history().await;
}

/// Amp's usual modes have no other tool to change files.
#[tokio::test]
async fn a_patch_shows_a_diff_of_each_file() {
    let fixture = AMP.fixture([]).await;
    std::fs::write(fixture.file("old.txt"), "one\ntwo\n").unwrap();
    let patch = "*** Begin Patch\n*** Update File: old.txt\n@@\n one\n-two\n+zwei\n*** Add File: new.txt\n+hello\n*** End Patch";
    fixture.model.push(Reply::tool("apply_patch", json!({"patchText": patch})));
    let turn = fixture.answered("Patch them.", Reply::text("Patched.")).await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("Patched.", 1), "{turn}");
    assert_eq!(std::fs::read_to_string(fixture.file("old.txt")).unwrap(), "one\nzwei\n", "{turn}");
    let [old, new] = turn.diffs().try_into().unwrap_or_else(|diffs| panic!("two diffs: {diffs:?}\n{turn}"));
    assert!(old.contains("-two\n+zwei") && new.contains("+hello"), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_new_file_is_shown_as_a_diff() {
    let fixture = AMP.fixture([]).await;
    let file = fixture.file("new.txt");
    fixture.model.push((AMP.write)(&file, "hello\n"));
    let turn = fixture.answered("Write it.", Reply::text("Written.")).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello\n", "{turn}");
    assert!(turn.diffs().concat().contains("+hello"), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn reasoning_that_is_not_shown() {
    let fixture = AMP.fixture([Reply::empty().and_redacted_thinking().and_text("I have thought.")]).await;
    let turn = fixture.turn("Think.").await;
    let mut parts = turn.items().into_iter().flat_map(|item| &item.content);
    let private = parts
        .any(|part| matches!(part, ContentPart::Reasoning { visibility: ReasoningVisibility::Private, .. }));
    assert!(private, "{turn}");
    assert_eq!(turn.text(), "I have thought.", "{turn}");
    fixture.session.history().await;
}

/// A text file that is attached reaches the model.
#[tokio::test]
async fn file_attachments() {
    let fixture = AMP.fixture([Reply::text("A walrus.")]).await;
    std::fs::write(fixture.file("animal.txt"), "the walrus sleeps\n").unwrap();
    let mut question = message("Which animal?");
    question.attachments = vec![MessageAttachment { path: "animal.txt".into(), mime: None, filename: None }];
    let turn = fixture.session.turn_with(&question, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("the walrus sleeps"));
    fixture.session.history().await;
}

/// A mode of Amp is a variant; it holds from the next turn on.
#[tokio::test]
async fn variants_effort() {
    let fixture = AMP.fixture([Reply::text("One."), Reply::text("Two.")]).await;
    fixture.turn("The first.").await;
    assert_eq!(fixture.model.last().model, "medium");
    let patch = SessionPatch { variant: Some("high".to_owned()), ..SessionPatch::default() };
    let detail = fixture.session.client.patch(&fixture.session.id, &patch).await.unwrap();
    assert_eq!(detail.state.variant.as_deref(), Some("high"));
    let turn = fixture.turn("The second.").await;
    assert_eq!((turn.text().as_str(), fixture.model.last().model.as_str()), ("Two.", "high"), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn permissions_reject_with_words() {
    let fixture = AMP.fixture([shell("touch made"), Reply::text("Then with cat.")]).await;
    fixture.session.post("Make a file.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(permission) = asked.data else { panic!("a permission") };
    let message = Some("Use cat instead.".to_owned());
    let reply = PermissionReplyRequest { reply: PermissionReply::Reject, message };
    let client = &fixture.session.client;
    client.reply_permission(&fixture.session.id, permission.permission_id.as_str(), &reply).await.unwrap();
    fixture.session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    assert!(fixture.model.last().tool_results().concat().contains("Use cat instead."));
    assert!(!fixture.file("made").exists());
    assert_eq!(text_of(&fixture.session.history().await), "Then with cat.");
}

/// The thread is kept by Amp's server, so that a process that is killed loses only its turn.
#[tokio::test]
async fn resume_after_a_crash() {
    let (endless, gate) = Reply::text("This takes a while.").hold();
    let fixture = AMP.fixture([Reply::text("I will remember the walrus."), endless]).await;
    let from = fixture.turn("Remember the walrus.").await.last_sequence();
    fixture.session.post("Tell me everything.").await;
    gate.reached().await;
    fixture.session.wait_for(from, is(UniversalEventType::ItemDelta)).await;
    kill(&fixture);
    let ended = fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = ended.data else { panic!("the end of a turn") };
    assert_eq!(end.metadata.stop_reason, StopReason::Error);
    let next = fixture.answered("Which animal?", Reply::text("The walrus.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("The walrus.", StopReason::EndTurn), "{next}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("Remember the walrus.") && heard.contains("Which animal?"), "{heard}");
    fixture.session.history().await;
}

fn kill(fixture: &Fixture) {
    let is_amp = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "amp")
    };
    let pid = fixture.daemon.descendants().into_iter().find(is_amp).unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

/// Amp tells nothing of what its subagent does, but asks for the tools that it uses.
#[tokio::test]
async fn a_subagent_is_a_call_with_its_report() {
    let task = json!({"prompt": "Look around.", "description": "Look"});
    let fixture = AMP
        .fixture([
            Reply::tool("Task", task),
            shell("echo around"),
            Reply::text("Nothing there."),
            Reply::text("It saw nothing."),
        ])
        .await;
    let turn = fixture.turn("Delegate it.").await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("It saw nothing.", 1), "{turn}");
    assert_eq!(turn.outputs().last(), Some(&"Nothing there."), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_key_that_amp_refuses_is_a_matter_of_auth() {
    let users = |request: &Request| request.path.contains("getUserInfo");
    let script = Model::amp().side(users, Reply::fails(Failure::Unauthorized));
    let fixture = Fixture::open(AMP.program, script, RealAgent::amp).await;
    let turn = fixture.turn("Hello?").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::ProviderAuth), "{turn}");
    fixture.session.history().await;
}

/// The turn fails and says so; the next one begins a new thread.
#[tokio::test]
async fn a_thread_that_amp_has_lost_is_told_as_memory_lost() {
    let lost = Arc::new(AtomicBool::new(false));
    let is_lost = lost.clone();
    let threads =
        move |request: &Request| request.path.contains("getThreadTail") && is_lost.load(Ordering::Relaxed);
    let script = Model::amp().side(threads, Reply::fails(Failure::UnknownModel)).reply(Reply::text("One."));
    let fixture = Fixture::open(AMP.program, script, RealAgent::amp).await;
    fixture.turn("The first.").await;
    lost.store(true, Ordering::Relaxed);
    let turn = fixture.turn("The second.").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    lost.store(false, Ordering::Relaxed);
    let turn = fixture.answered("The third.", Reply::text("Three.")).await;
    assert_eq!(turn.text(), "Three.", "{turn}");
    assert_eq!(fixture.model.last().text(), "The third.");
    let events = fixture.session.history().await;
    assert!(labels(&events).iter().any(|label| label.ends_with(".memory_lost")), "{turn}");
}

/// The settings of a user stay in force beside ours: what they reject is rejected, and nobody is asked.
#[tokio::test]
async fn a_rule_of_the_user_to_reject_a_tool_stays_in_force() {
    let rules = |model: &Model| {
        let agent = RealAgent::amp(model);
        let rule = json!({"tool": "shell_command", "action": "reject", "message": "Never."});
        agent.settings(".config/amp/settings.json", &json!({"amp.permissions": [rule]}));
        agent
    };
    let script = Model::amp().reply(shell("touch made")).reply(Reply::text("It may not."));
    let fixture = Fixture::open(AMP.program, script, rules).await;
    let turn = fixture.turn("Make a file.").await;
    assert_eq!((turn.text().as_str(), turn.asked().len()), ("It may not.", 0), "{turn}");
    assert!(turn.outputs().concat().contains("Never."), "{turn}");
    assert!(!fixture.file("made").exists());
    fixture.session.history().await;
}

/// Amp obeys the rules of a project before ours, so such a project would switch the asking off.
#[tokio::test]
async fn a_project_that_lets_tools_run_by_itself_is_refused_until_everything_is_allowed() {
    let fixture = AMP.fixture([]).await;
    let settings = fixture.file(".amp/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let rules = json!({"amp.permissions": [{"tool": "*", "action": "allow"}]});
    std::fs::write(&settings, rules.to_string()).unwrap();
    let turn = fixture.turn("Make a file.").await;
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::AgentUnavailable), "{turn}");
    assert!(error.message.contains(".amp/settings.json"), "{turn}");
    permission_mode(&fixture, "bypass").await;
    let turn = fixture.answered("Then do it.", Reply::text("Done.")).await;
    assert_eq!(turn.text(), "Done.", "{turn}");
    fixture.session.history().await;
}

async fn permission_mode(fixture: &Fixture, mode: &str) {
    let patch = SessionPatch { permission_mode: Some(mode.to_owned()), ..SessionPatch::default() };
    fixture.session.client.patch(&fixture.session.id, &patch).await.unwrap();
}

/// Edits pass, the rest is asked for; nothing passes while the session plans.
#[tokio::test]
async fn permission_modes_hold_from_the_next_turn_on() {
    let fixture = AMP.fixture([]).await;
    let file = fixture.file("made");
    let write = || (AMP.write)(&file, "one\n");
    permission_mode(&fixture, "plan").await;
    fixture.model.push(write());
    let turn = fixture.answered("Write it.", Reply::text("I may not.")).await;
    assert_eq!((turn.asked().len(), file.exists()), (0, false), "{turn}");
    permission_mode(&fixture, "acceptEdits").await;
    fixture.model.push(write());
    fixture.model.push(shell("true"));
    let turn = fixture.answered("Write it now.", Reply::text("Done.")).await;
    assert_eq!((turn.asked().len(), file.exists()), (1, true), "{turn}");
    assert!(turn.diffs().concat().contains("+one"), "{turn}");
    permission_mode(&fixture, "bypass").await;
    fixture.model.push(shell("rm made"));
    let turn = fixture.answered("Remove it.", Reply::text("Gone.")).await;
    assert_eq!((turn.asked().len(), file.exists()), (0, false), "{turn}");
    fixture.session.history().await;
}

/// Without a daemon the delegate refuses: exit code 2, with the reason for the model.
#[test]
fn the_delegate_refuses_without_a_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("omniglot-amp-delegate");
    std::os::unix::fs::symlink(AMP.program, &link).unwrap();
    let delegate = |socket: Option<&std::path::Path>| {
        let mut command = std::process::Command::new(&link);
        command.env_clear().env("AGENT_TOOL_NAME", "shell_command").stdin(std::process::Stdio::null());
        command.envs(socket.map(|socket| ("AMP_OMNIGLOT_SOCKET", socket)));
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let gone = dir.path().join("gone");
    for (code, words) in [delegate(None), delegate(Some(&gone))] {
        assert_eq!(code, Some(2));
        assert!(words.contains("this tool was refused"), "{words}");
    }
}

/// Amp is started only for a turn, so it is asked for its version.
#[tokio::test]
async fn the_doctor_tells_the_version_of_amp() {
    let fixture = AMP.fixture([]).await;
    let check = fixture.session.client.check_agent("amp").await.unwrap();
    assert!(check.healthy, "{check:?}");
    assert_eq!(check.agent.version.as_deref(), Some("0.0.1790142911-g7618fb"));
}

/// Amp guards some files by a question at a screen that it does not have here; our delegate asks for them.
#[tokio::test]
async fn a_file_that_amp_guards_is_asked_for_like_any_other() {
    let fixture = AMP.fixture([]).await;
    let file = fixture.file(".env");
    fixture.model.push((AMP.write)(&file, "A=1\n"));
    let turn = fixture.answered("Write it.", Reply::text("Done.")).await;
    assert_eq!((turn.text().as_str(), turn.asked().len(), file.exists()), ("Done.", 1, true), "{turn}");
    fixture.session.history().await;
}
