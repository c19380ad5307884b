//! The settings of sessions: given to a run, changed later, copied by a fork.

use std::path::Path;

use serde_json::Value;

use super::harness::{Finished, Harness};

fn sessions(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(&[&["sessions"], args].concat()))
}

fn show(harness: &Harness, id: &str) -> Value {
    serde_json::from_str(&sessions(harness, &["show", id, "--json"]).exited(0).stdout).unwrap()
}

/// B18: a run sets everything that a session can be made with.
#[test]
fn b18_a_run_has_a_title_a_mode_files_and_mcp_servers() {
    let harness = Harness::new();
    let work = harness.data_dir().with_file_name("work");
    std::fs::write(work.join("notes.txt"), "notes").unwrap();
    std::fs::write(work.join("mcp.json"), r#"{ "mcpServers": { "docs": { "command": "docs-server" } } }"#)
        .unwrap();
    let files = ["--file", "notes.txt", "--mcp", "mcp.json", "--title", "All of it", "--session", "s"];
    let run = harness.run(&[&files[..], &["[[mcp]] [[attachments]]"]].concat());
    let said = &run.exited(0).stdout;
    assert!(said.contains("docs") && said.contains("notes.txt"), "{said}");
    let shown = show(&harness, "s");
    assert_eq!(
        (&shown["title"], &shown["mcp"]["docs"]["command"]),
        (&"All of it".into(), &"docs-server".into())
    );
    harness.run(&["--session", "s", "--mode", "plan", "--title", "Another", "[[text:1]]"]).exited(0);
    let shown = show(&harness, "s");
    assert_eq!((&shown["title"], &shown["agentMode"]), (&"Another".into(), &"plan".into()), "{shown}");
    for (args, words) in [
        (["--file", "nothing"], "--file nothing: "),
        (["--mcp", "nothing"], "--mcp nothing: "),
        (["--mcp", "notes.txt"], "--mcp notes.txt: "),
    ] {
        let refused = harness.run(&[&args[..], &["x"]].concat());
        assert!(refused.exited(2).stderr.contains(words), "{refused:?}");
    }
    let refused = harness.run(&["--session", "s", "--mcp", "mcp.json", "x"]);
    assert!(refused.exited(2).stderr.contains("leave out --mcp"), "{refused:?}");
}

/// B15: an agent that takes no instructions is not run as if it did.
#[test]
fn b15_instructions_are_refused_where_they_would_have_no_effect() {
    let harness = Harness::new();
    for flag in ["--system-prompt", "--append-system-prompt"] {
        let refused = harness.run(&[flag, "Be a heron.", "[[text:1]]"]);
        let told = &refused.exited(1).stderr;
        assert!(told.contains("systemPrompt") && told.contains("claude, codex, pi"), "{told}");
    }
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let refused = harness.run(&["--session", "s", "--append-system-prompt", "Be a heron.", "x"]);
    assert!(refused.exited(2).stderr.contains("leave out the system prompt"), "{refused:?}");
}

/// B18: what REST can do, the command line can.
#[test]
fn b18_sessions_are_set_forked_and_compacted() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "Remember the heron. [[text:1]]"]).exited(0);
    let set =
        sessions(&harness, &["set", "s", "--title", "Birds", "--label", "team=red", "--label", "tier=one"]);
    assert!(set.exited(0).stdout.contains("Birds"), "{set:?}");
    sessions(&harness, &["set", "s", "--remove-label", "tier"]).exited(0);
    assert_eq!(show(&harness, "s")["labels"], serde_json::json!({ "team": "red" }));
    let nothing = sessions(&harness, &["set", "s"]);
    assert!(nothing.exited(2).stderr.contains("say what to change"), "{nothing:?}");
    let fork = sessions(&harness, &["fork", "s", "--as", "t"]);
    assert_eq!(fork.exited(0).stdout, "t: forked from s\n");
    let recalled = sessions(&harness, &["send", "t", "[[recall]]"]);
    assert!(recalled.exited(0).stdout.contains("heron"), "{recalled:?}");
    let cannot = sessions(&harness, &["compact", "t"]);
    assert!(cannot.exited(2).stderr.contains("compact"), "{cannot:?}");
    sessions(&harness, &["send", "t", "[[commands]]"]).exited(0);
    let compacted = sessions(&harness, &["compact", "t"]);
    assert_eq!(compacted.exited(0).stdout, "t: is being compacted\n");
    let tail = sessions(&harness, &["tail", "t"]);
    assert!(tail.exited(0).stdout.contains("compaction"), "{tail:?}");
}

/// B18: a scratch project goes with the last session that works in it.
#[test]
fn b18_a_scratch_project_is_removed_with_its_session() {
    let harness = Harness::new();
    harness.run(&["--scratch", "--session", "s", "[[text:1]]"]).exited(0);
    let directory = show(&harness, "s")["directory"].as_str().unwrap().to_owned();
    harness.run(&["--cwd", &directory, "--session", "t", "[[text:1]]"]).exited(0);
    assert_eq!(sessions(&harness, &["rm", "--yes", "s"]).exited(0).stdout, "s: deleted\n");
    assert!(Path::new(&directory).is_dir(), "another session works there");
    let last = sessions(&harness, &["rm", "--yes", "t"]);
    assert_eq!(last.exited(0).stdout, "t: deleted, with its scratch project\n");
    assert!(!Path::new(&directory).exists());
    harness.run(&["--session", "u", "[[text:1]]"]).exited(0);
    let own = show(&harness, "u")["directory"].as_str().unwrap().to_owned();
    sessions(&harness, &["rm", "--yes", "u"]).exited(0);
    assert!(Path::new(&own).is_dir(), "a directory of the user's own stays");
}

/// B13: the reason of a crash is on the screen when the run ends.
#[test]
fn b13_a_run_tells_the_stderr_of_a_crash() {
    let harness = Harness::new();
    for _ in 0..3 {
        let run = harness.run(&["[[crash]]"]);
        assert!(run.exited(1).stdout.contains("this crash was asked for"), "{run:?}");
    }
}

/// Messages and commands of all sessions are found by their words.
#[test]
fn sessions_are_searched() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "Remember the heron. [[text:1]]"]).exited(0);
    harness.run(&["--session", "t", "--approve", "once", "[[permission]]"]).exited(0);
    let found = sessions(&harness, &["search", "heron", "remem"]);
    let line = found.exited(0).stdout.lines().nth(1).unwrap();
    assert!(
        line.starts_with("s ") && line.contains("person") && line.contains("Remember the heron."),
        "{found:?}"
    );
    let command = sessions(&harness, &["search", "echo hello", "--json"]);
    let hits: Vec<Value> =
        command.exited(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = hits.iter().find(|hit| hit["sessionId"] == "t" && hit["kind"] == "tool_call");
    assert_eq!(call.unwrap()["text"], "echo hello", "once, although its title and its command are the same");
    sessions(&harness, &["search", "kingfisher"]).exited(1);
    assert!(sessions(&harness, &["search", "*"]).exited(1).stderr.contains("TEXT has no word"));
    sessions(&harness, &["rm", "--yes", "s"]).exited(0);
    sessions(&harness, &["search", "heron"]).exited(1);
}
