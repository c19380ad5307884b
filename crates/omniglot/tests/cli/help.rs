//! The program's own description: help, completions, and the refusal of unknown arguments.

use super::harness::{Finished, Harness};

fn omniglot(args: &[&str]) -> Finished {
    Finished::of(&mut Harness::new().command(args))
}

#[test]
fn alone_it_shows_what_it_can_do() {
    let alone = omniglot(&[]);
    let help = &alone.exited(2).stderr;
    for words in ["Usage: omniglot <COMMAND>", "\n  sessions ", "\n  agents ", "\n  daemon ", "Try it:"] {
        assert!(help.contains(words), "{words:?}: {help}");
    }
    assert_eq!(&omniglot(&["--help"]).exited(0).stdout, help);
}

#[test]
fn every_command_has_help_that_says_what_it_does() {
    for command in [
        &["run"][..],
        &["attach"],
        &["serve"],
        &["db", "check"],
        &["mock-agent"],
        &["completions"],
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["sessions", "search"],
        &["sessions", "turns"],
        &["sessions", "tail"],
        &["sessions", "send"],
        &["sessions", "answer"],
        &["sessions", "cancel"],
        &["sessions", "terminate"],
        &["sessions", "rm"],
        &["sessions", "fork"],
        &["sessions", "compact"],
        &["sessions", "set"],
        &["tokens", "create"],
        &["audit"],
        &["acp"],
        &["opencode"],
        &["ui"],
        &["convert"],
        &["config", "check"],
        &["man"],
        &["sessions", "export"],
        &["sessions", "import"],
        &["agents"],
        &["agents", "list"],
        &["agents", "doctor"],
        &["agents", "install"],
        &["daemon"],
        &["daemon", "start"],
        &["daemon", "stop"],
        &["daemon", "status"],
        &["daemon", "restart"],
        &["daemon", "logs"],
    ] {
        let help = omniglot(&[command, &["--help"]].concat());
        let text = &help.exited(0).stdout;
        assert!(text.starts_with(|c: char| c.is_uppercase()), "{command:?}: {text}");
        assert!(!text.contains("--detached"), "{text}");
        // B18: it fits the narrowest usual terminal.
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{command:?}: {text}");
    }
}

#[test]
fn the_help_of_run_tells_exit_codes_and_what_ctrl_c_does() {
    let help = omniglot(&["run", "--help"]);
    for words in ["Ctrl-C cancels the turn", "3 the turn stopped at a limit", "130 Ctrl-C"] {
        assert!(help.exited(0).stdout.contains(words), "{words:?}: {help:?}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    for args in [&["completions", "bash"][..], &["openapi"], &["db", "check"], &["sessions", "tail", "s"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let finished = harness.command(args).stdout(writer).output().unwrap();
        assert_eq!((finished.status.code(), &*finished.stderr), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn what_it_does_not_know_is_a_mistake_of_use() {
    for args in [
        &["nonsense"][..],
        &["sessions", "nonsense"],
        &["sessions", "list", "--nonsense"],
        &["agents", "doctor"],
    ] {
        omniglot(args).exited(2);
    }
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = omniglot(&["completions", shell]);
        let text = &script.exited(0).stdout;
        assert!(text.contains("omniglot") && text.contains("OMNIGLOT_COMPLETE"), "{shell}: {text}");
    }
    assert!(omniglot(&["completions", "nonsense"]).exited(2).stderr.contains("bash"));
}

/// Returns the words that a shell is offered next.
fn offered(harness: &Harness, words: &[&str]) -> Vec<String> {
    let mut command = harness.command(&[&["--", "omniglot"], words].concat());
    command.env("OMNIGLOT_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let finished = Finished::of(&mut command);
    finished.exited(0).stdout.lines().map(str::to_owned).collect()
}

/// B18: shells are offered what people use, and the ids that there are.
#[test]
fn b18_completions_offer_live_ids_and_nothing_internal() {
    let harness = Harness::new();
    let commands = offered(&harness, &[""]);
    assert!(commands.contains(&"sessions".to_owned()), "{commands:?}");
    for internal in ["guard", "launch", "openapi"] {
        assert!(!commands.contains(&internal.to_owned()), "{commands:?}");
    }
    assert!(offered(&harness, &["run", "--agent", "cla"]).contains(&"claude".to_owned()));
    assert_eq!(offered(&harness, &["sessions", "show", "he"]), [""; 0]);
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "heron", "[[text:1]]"]).exited(0);
    assert_eq!(offered(&harness, &["sessions", "show", "he"]), ["heron"]);
    daemon.stop().exited(0);
}

/// B18: there is a manual page for each command, and none for internal ones.
#[test]
fn b18_manual_pages_are_written() {
    let harness = Harness::new();
    let dir = harness.data_dir().join("man/man1");
    Finished::of(&mut harness.command(&["man", dir.to_str().unwrap()])).exited(0);
    let page = std::fs::read_to_string(dir.join("omniglot-sessions-tail.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("transcript") || page.contains("said and done"), "{page}");
    assert!(dir.join("omniglot.1").is_file() && !dir.join("omniglot-guard.1").exists());
}
