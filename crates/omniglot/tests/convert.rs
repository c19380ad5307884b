//! `omniglot convert` over every recording: the same bytes every time, each line valid by the schema, and
//! each session lawful.

#![expect(clippy::unwrap_used, reason = "a helper of tests; the exemption sees only the tests themselves")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use omniglot_agents::Registry;
use omniglot_schema::UniversalEvent;
use omniglot_testkit::captures::agent_of;
use omniglot_testkit::validate::assert_lawful_but;
use omniglot_timeline::check::Allow;

#[test]
fn every_recording_becomes_the_same_lawful_events_every_time() {
    let mut files = 0;
    for folder in fs::read_dir(captures()).unwrap() {
        let folder = folder.unwrap().path();
        let recordings = recordings(&folder);
        let agent = agent_of(folder.file_name().unwrap().to_str().unwrap(), Registry::default().ids());
        let once = converted(agent, &recordings);
        assert_eq!(once, converted(agent, &recordings), "{agent} differs from one time to the next");
        files += recordings.len();
        check_session(&once);
    }
    assert!(files > 150, "only {files} recordings were found");
}

/// Checks that each line is an event, and that the events of each session keep the rules. The tests of the
/// replay know which recordings have invalid messages on purpose or end in the middle of a turn.
fn check_session(lines: &str) {
    let events: Vec<UniversalEvent> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for session in events.chunk_by(|one, next| one.session_id == next.session_id) {
        assert_lawful_but(session, Allow { unparsed: true, open_turn: true });
    }
}

#[test]
fn a_session_that_claude_keeps_on_disk_is_read_with_its_subagents() {
    let file = captures().join("../captures-disk/claude-2.1.325/session.jsonl");
    let once = converted("claude", std::slice::from_ref(&file));
    assert_eq!(once, converted("claude", &[file]));
    assert!(once.contains("Subagent: reading."), "{once}");
    let events: Vec<UniversalEvent> = once.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_lawful_but(&events, Allow::default());
}

#[test]
fn stdin_is_a_recording_too_and_people_get_short_lines() {
    let file = captures().join("gemini/text.jsonl");
    let output = convert(&["--from", "gemini", "--show", "-"], &fs::read(file).unwrap());
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(shown.lines().next().unwrap().contains("session.started"), "{shown}");
    assert!(shown.contains("turn.ended"), "{shown}");
}

#[test]
fn files_of_one_name_become_sessions_of_two_names() {
    let file = captures().join("gemini/text.jsonl");
    let twice = converted("gemini", &[file.clone(), file]);
    let session = |line: &str| serde_json::from_str::<UniversalEvent>(line).unwrap().session_id;
    let mut sessions: Vec<String> = twice.lines().map(|line| session(line).to_string()).collect();
    sessions.dedup();
    assert_eq!(sessions, ["text", "text-2"]);
}

/// A18: a recording that stops amid a turn was not cancelled by anybody.
#[test]
fn a_recording_that_is_cut_says_so() {
    let whole = fs::read_to_string(captures().join("gemini/permission_reject.jsonl")).unwrap();
    let asked = whole.lines().position(|line| line.contains("session/request_permission")).unwrap();
    let cut: Vec<&str> = whole.lines().take(asked + 1).collect();
    let output = convert(&["--from", "gemini", "-"], cut.join("\n").as_bytes());
    let events = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(events.contains("the recording ends in the middle of this turn"), "{events}");
    assert!(!events.contains("cancelled"), "{events}");
}

/// A18: what another version of ACP says is not read as if it were version 1.
#[test]
fn a_recording_of_another_protocol_version_is_refused() {
    let row = |channel: &str, data: &str| format!("{{\"t\":1,\"ch\":\"{channel}\",\"data\":{data}}}\n");
    let recording =
        row("stdin", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}"#)
            + &row("stdout", r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}"#);
    let (code, words) = told(&convert(&["--from", "acp", "-"], recording.as_bytes()));
    assert_eq!(code, 1);
    let expected =
        "omniglot: -:2: the agent speaks ACP version 2, not 1: this recording cannot be converted\n";
    assert_eq!(words, expected);
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let broken = "{\"t\":1,\"ch\":\"stdin\",\"data\":{}}\n{\"t\":2,\"ch\":\"carrier-pigeon\",\"data\":{}}\n";
    let output = convert(&["--from", "gemini", "-"], broken.as_bytes());
    assert_eq!(told(&output), (1, "omniglot: -:2: unknown channel carrier-pigeon\n".to_owned()));

    let output = convert(&["--from", "gemini", "-"], b"{\"t\":1}\n");
    let (code, words) = told(&output);
    assert_eq!(code, 1);
    assert!(words.starts_with("omniglot: -:1: not a row of a recording: missing field `ch`"), "{words}");

    let output = convert(&["--from", "nobody", "-"], b"");
    let (code, words) = told(&output);
    assert_eq!(code, 2);
    assert!(words.starts_with("omniglot: no agent nobody; use one of: mock, "), "{words}");

    let output = convert(&["--from", "gemini", "no/such/file"], b"");
    let (code, words) = told(&output);
    assert_eq!(code, 2);
    assert!(words.starts_with("omniglot: no/such/file: "), "{words}");
}

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniglot-agents/captures")
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|e| e == "jsonl")).collect();
    files.sort();
    files
}

fn converted(agent: &str, files: &[PathBuf]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_omniglot"));
    let output = command.args(["convert", "--from", agent]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn convert(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_omniglot"));
    command.arg("convert").args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that wants no input may exit before it is written.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

fn told(output: &Output) -> (i32, String) {
    (output.status.code().unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}
