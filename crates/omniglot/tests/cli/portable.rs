//! `omniglot sessions export` and `import`: a session moves to another daemon and back.

use std::path::{Path, PathBuf};

use omniglot_schema::{ContentPart, ErrorCode, EventData, ImportResponse, SessionState, UniversalEvent};
use omniglot_testkit::validate::assert_lawful;

use super::harness::{Daemon, Finished, Harness};
use super::sessions::{ids, sessions};

fn export(harness: &Harness, args: &[&str]) -> String {
    sessions(harness, &[&["export"], args].concat()).exited(0).stdout.clone()
}

fn file(dir: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

fn import(harness: &Harness, path: &Path, args: &[&str]) -> Finished {
    sessions(harness, &[&["import", path.to_str().unwrap()], args].concat())
}

fn imported(harness: &Harness, path: &Path, args: &[&str]) -> ImportResponse {
    serde_json::from_str(&import(harness, path, &[args, &["--json"]].concat()).exited(0).stdout).unwrap()
}

fn events(harness: &Harness, id: &str) -> Vec<UniversalEvent> {
    sessions(harness, &["tail", id, "--json", "--raw"]).exited(0).events()
}

/// Returns the stream without the session's name, which may change.
fn told(events: &[UniversalEvent], id: &str) -> Vec<String> {
    events.iter().map(|event| serde_json::to_string(event).unwrap().replace(id, "ID")).collect()
}

fn epoch(daemon: &Daemon, id: &str) -> String {
    daemon.header(&format!("/v1/sessions/{id}/events"), "omniglot-epoch")
}

#[test]
fn a_session_is_the_same_on_another_daemon() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    here.run(&["--session", "s-1", "--approve", "once", "[[demo]] [[image]] [[image:tool]]"]).exited(0);
    let path = dir.path().join("out.jsonl");
    let wrote = sessions(&here, &["export", "s", "--raw", "-o", path.to_str().unwrap()]);
    assert!(wrote.exited(0).stderr.starts_with(&format!("wrote {}: ", path.display())), "{wrote:?}");
    let response = imported(&there, &path, &[]);
    assert_eq!((response.session_id.as_str(), response.blobs), ("s-1", 1));
    assert_eq!(response.notes, Vec::<String>::new(), "{response:?}");
    let (before, after) = (events(&here, "s-1"), events(&there, "s-1"));
    assert_lawful(&after);
    assert_eq!(told(&before, "s-1"), told(&after, "s-1"));
    assert_eq!(ids(&there, &[]), ["s-1"]);
    // The blobs that it names exist, and an export of the import is the same again.
    let (first, again) = (export(&here, &["s-1", "--raw"]), export(&there, &["s-1", "--raw"]));
    let body = |text: &str| {
        text.lines()
            .skip(1)
            .filter(|line| !line.starts_with("{\"end\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(body(&first), body(&again));
    assert!(first.contains("{\"blob\":{\"name\":\""), "the picture is part of it");
    Finished::of(&mut there.command(&["db", "check"])).exited(0);
}

#[test]
fn a_copy_has_its_own_name_epoch_and_memory() {
    let (harness, dir) = (Harness::new(), tempfile::tempdir().unwrap());
    harness.run(&["--session", "s-1", "my favourite colour is teal [[image]]"]).exited(0);
    let path = file(&dir, &export(&harness, &["s-1"]));
    let taken = import(&harness, &path, &[]);
    assert!(
        taken
            .exited(1)
            .stderr
            .contains("session s-1 exists already; give the new one another id with --as ID"),
        "{taken:?}"
    );
    imported(&harness, &path, &["--as", "copy-1"]);
    let copy = events(&harness, "copy-1");
    assert_lawful(&copy);
    assert!(told(&copy, "copy-1").join("").contains("/v1/sessions/ID/blobs/"));
    assert!(copy.iter().all(|event| event.raw.is_none()), "native messages were not exported");
    // The agent of the copy is another one, and reports it; the original's still remembers.
    let copied = sessions(&harness, &["send", "copy-1", "[[recall]]"]);
    assert!(copied.exited(0).stdout.contains("does not remember what was said before"), "{copied:?}");
    assert!(!copied.stdout.contains("teal"), "{copied:?}");
    let original = sessions(&harness, &["send", "s-1", "[[recall]]"]);
    assert!(original.exited(0).stdout.contains("teal"), "{original:?}");
    // From here on the copy remembers its own prompts.
    let again = sessions(&harness, &["send", "copy-1", "[[recall]]"]);
    assert!(again.exited(0).stdout.contains("Earlier prompts: 1."), "{again:?}");
    assert!(!again.stdout.contains("does not remember"), "{again:?}");
}

#[test]
fn an_import_has_a_new_epoch_also_under_the_old_name() {
    let (harness, dir) = (Harness::new(), tempfile::tempdir().unwrap());
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let path = file(&dir, &export(&harness, &["s"]));
    let daemon = harness.serve(&[]);
    let before = epoch(&daemon, "s");
    sessions(&harness, &["rm", "s", "--yes"]).exited(0);
    imported(&harness, &path, &[]);
    assert_ne!(epoch(&daemon, "s"), before);
    daemon.stop().exited(0);
}

#[test]
fn a_turn_that_ran_during_the_export_is_closed_by_the_import() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    let daemon = here.serve(&[]);
    here.run(&["--session", "s", "[[text:2]]"]).exited(0);
    sessions(&here, &["send", "s", "[[permission]]", "--no-wait"]).exited(0);
    let mut tail = here.start(&["sessions", "tail", "s", "-f", "--json"]);
    tail.events_until(|event| matches!(event.data, EventData::PermissionRequested(_)));
    let path = file(&dir, &export(&here, &["s"]));
    let response = imported(&there, &path, &[]);
    assert!(response.notes.iter().any(|note| note.contains("a turn was running")), "{response:?}");
    let events = events(&there, "s");
    assert_lawful(&events);
    let error = events.iter().find_map(|event| match &event.data {
        EventData::Error(data) => Some((data.code, data.message.clone())),
        _ => None,
    });
    assert_eq!(
        error,
        Some((Some(ErrorCode::DaemonRestarted), "the session was exported while this turn ran".into()))
    );
    let shown = sessions(&there, &["show", "s"]);
    assert!(shown.exited(0).stdout.contains("status      idle\n"), "{shown:?}");
    daemon.stop().exited(0);
}

#[test]
fn a_file_that_cannot_be_believed_changes_nothing() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    here.run(&["--session", "s", "[[text:3]]"]).exited(0);
    let text = export(&here, &["s"]);
    let half: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    for (broken, words) in [
        (text.replacen("\"sequence\":4", "\"sequence\":5", 1), "the file is damaged: line "),
        (half, "the file ends in the middle, after line 4"),
        (
            text.replacen("\"version\":1", "\"version\":2", 1),
            "the file has version 2; this omniglot reads up to 1",
        ),
        ("{}\n".to_owned(), "this is no exported session"),
        (String::new(), "this is no exported session"),
    ] {
        let refused = import(&there, &file(&dir, &broken), &[]);
        assert!(refused.exited(1).stderr.contains(words), "{words}: {refused:?}");
        assert_eq!(ids(&there, &[]), Vec::<String>::new());
    }
    let missing = import(&there, Path::new("/no/such/file"), &[]);
    assert!(missing.exited(2).stderr.contains("/no/such/file: No such file"), "{missing:?}");
}

#[test]
fn an_import_works_where_it_is_told_to_or_says_that_it_cannot() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    let place = tempfile::tempdir().unwrap();
    here.run(&["--session", "s", "--cwd", place.path().to_str().unwrap(), "[[text:1]]"]).exited(0);
    let text = export(&here, &["s"]);
    drop(place);
    let response = imported(&there, &file(&dir, &text), &["--as", "lost"]);
    assert!(response.notes[0].contains("can be read, but not continued"), "{response:?}");
    let path = dir.path().to_str().unwrap();
    let piped = &mut there.command(&["sessions", "import", "-", "--as", "found", "--cwd", path]);
    let piped = Finished::of_input(piped, &text);
    assert!(piped.exited(0).stdout.starts_with("imported found: "), "{piped:?}");
    sessions(&there, &["send", "found", "[[text:1]]"]).exited(0);
    let lost = sessions(&there, &["send", "lost", "[[text:1]]"]);
    assert!(lost.exited(1).stdout.contains("✗ error agent_unavailable"), "{lost:?}");
    let bad = import(&there, &dir.path().join("session.jsonl"), &["--as", "x", "--cwd", "/no/such/place"]);
    assert!(bad.exited(2).stderr.contains("--cwd /no/such/place"), "{bad:?}");
}

#[test]
fn standing_grants_do_not_travel() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    here.run(&["--session", "s", "--approve", "always", "[[permission]]"]).exited(0);
    let granted = here.run(&["--session", "s", "--json", "[[permission]]"]);
    let asked = |finished: &Finished| finished.stdout.contains("\"permission.requested\"");
    assert!(!asked(granted.exited(0)), "{granted:?}");
    let response = imported(&there, &file(&dir, &export(&here, &["s"])), &[]);
    let note = "left out 1 standing permission (`always`): it is asked again";
    assert_eq!(response.notes, [note]);
    assert_eq!(warnings(&events(&there, "s")), [format!("this session was imported; {note}")]);
    let imported = sessions(&there, &["send", "s", "--json", "[[permission]]"]);
    assert!(asked(imported.exited(0)), "{imported:?}");
}

/// Returns the warnings of the imported session about missing things.
fn warnings(events: &[UniversalEvent]) -> Vec<String> {
    let warning = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => data.item.content.iter().find_map(|part| match part {
            ContentPart::Status { label, detail, .. } if label == "mock.warning" => detail.clone(),
            _ => None,
        }),
        _ => None,
    };
    events.iter().filter_map(warning).collect()
}

#[test]
fn a_mode_that_does_not_ask_does_not_travel_and_everybody_is_told() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    let bypass = ["--session", "s", "--permission-mode", "bypass", "--json", "[[permission]]"];
    let free = here.run(&bypass);
    let asked = |finished: &Finished| finished.stdout.contains("\"permission.requested\"");
    assert!(!asked(free.exited(0)), "{free:?}");
    let path = file(&dir, &export(&here, &["s"]));
    let told = import(&there, &path, &[]);
    let note = "it ran in permission mode `bypass`: it goes on in `default`, until somebody sets another";
    assert!(told.exited(0).stderr.contains(&format!("· {note}\n")), "{told:?}");

    let (before, after) = (events(&here, "s"), events(&there, "s"));
    assert_lawful(&after);
    let added = &after[before.len()..];
    let same = |events: &[UniversalEvent]| -> Vec<String> {
        events.iter().map(|event| event.event_id.to_string()).collect()
    };
    assert_eq!(same(&before), same(&after[..before.len()]), "the transcript stays as it was");
    let modes = added.iter().find_map(|event| match &event.data {
        EventData::SessionUpdated(patch) => patch.permission_mode.clone(),
        _ => None,
    });
    assert_eq!(modes, Some(Some("default".to_owned())));
    assert_eq!(warnings(added), [format!("this session was imported; {note}")]);
    let mut state = SessionState::default();
    for event in &after {
        if let EventData::SessionUpdated(patch) = &event.data {
            state.apply(patch.clone());
        }
    }
    assert_eq!((state.permission_mode.as_deref(), state.agent_mode), (Some("default"), None));

    let imported = sessions(&there, &["send", "s", "--json", "[[permission]]"]);
    assert!(asked(imported.exited(0)), "{imported:?}");
}

#[test]
fn an_ended_session_is_imported_in_the_mode_that_asks_too() {
    let (here, there, dir) = (Harness::new(), Harness::new(), tempfile::tempdir().unwrap());
    here.run(&["--session", "s", "--permission-mode", "acceptEdits", "[[text:1]]"]).exited(0);
    sessions(&here, &["terminate", "s"]).exited(0);
    let response = imported(&there, &file(&dir, &export(&here, &["s"])), &[]);
    assert!(response.notes[0].starts_with("it ran in permission mode `acceptEdits`"), "{response:?}");
    let after = events(&there, "s");
    assert_lawful(&after);
    assert_eq!(warnings(&after), Vec::<String>::new(), "nothing happens in an ended session");
    let asked = sessions(&there, &["send", "s", "--json", "[[edit]]"]);
    assert!(asked.exited(0).stdout.contains("\"permission.requested\""), "{asked:?}");
}
