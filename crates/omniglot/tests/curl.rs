//! The API from a shell with curl, without a client of ours.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::process::{Command, Stdio};

use omniglot_schema::{
    ErrorCode, EventData, EventsResponse, PermissionStatus, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::session_driver::text_of;
use omniglot_testkit::validate::assert_lawful;

#[test]
fn with_curl_alone_a_session_outlives_kill_9_of_its_daemon() {
    let curl = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    assert!(curl.is_ok_and(|status| status.success()), "this test needs curl: install it");
    let dir = tempfile::tempdir().unwrap();
    walk(dir.path());

    let events = log(dir.path(), "events");
    assert_lawful(&events);
    let seen = std::fs::read_to_string(dir.path().join("seen")).unwrap();
    let after = log(dir.path(), "after");
    assert!(after.len() > seen.lines().count(), "the restart has closed the turn");
    for (served, event) in seen.lines().zip(&after) {
        assert_eq!(serde_json::to_string(event).unwrap(), served, "read again as it was served");
    }
    assert_eq!(stops(&events), [StopReason::EndTurn, StopReason::Error, StopReason::EndTurn]);
    assert!(events.iter().any(|event| matches!(&event.data,
        EventData::PermissionResolved(data) if data.status == PermissionStatus::Accept)));
    assert!(events.iter().any(|event| matches!(&event.data,
        EventData::Error(data) if data.code == Some(ErrorCode::DaemonRestarted))));
    let last = events.iter().rposition(|event| event.kind() == UniversalEventType::TurnStarted).unwrap();
    let recalled = text_of(&events[last..]);
    assert!(recalled.contains("[[permission]]"), "the agent remembers: {recalled}");
}

#[track_caller]
fn walk(dir: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/curl/walk.sh");
    let walked = Command::new("bash")
        .args([script.as_os_str(), env!("CARGO_BIN_EXE_omniglot").as_ref()])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
    assert!(walked.status.success(), "{}\n{log}", String::from_utf8_lossy(&walked.stderr));
}

fn log(dir: &Path, name: &str) -> Vec<UniversalEvent> {
    let page: EventsResponse = serde_json::from_slice(&std::fs::read(dir.join(name)).unwrap()).unwrap();
    assert!(!page.has_more);
    page.events
}

fn stops(events: &[UniversalEvent]) -> Vec<StopReason> {
    let stop = |event: &UniversalEvent| match &event.data {
        EventData::TurnEnded(data) => Some(data.metadata.stop_reason),
        _ => None,
    };
    events.iter().filter_map(stop).collect()
}
