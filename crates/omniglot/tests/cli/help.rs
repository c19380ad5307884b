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
        &["serve"],
        &["db", "check"],
        &["mock-agent"],
        &["completions"],
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["sessions", "tail"],
        &["sessions", "send"],
        &["sessions", "answer"],
        &["sessions", "cancel"],
        &["sessions", "terminate"],
        &["sessions", "rm"],
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
    ] {
        let help = omniglot(&[command, &["--help"]].concat());
        let text = &help.exited(0).stdout;
        assert!(text.starts_with(|c: char| c.is_uppercase()), "{command:?}: {text}");
        assert!(!text.contains("--detached"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{command:?}: {text}");
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
        assert!(text.contains("omniglot") && text.contains("doctor") && text.contains("tail"), "{shell}");
    }
    assert!(omniglot(&["completions", "nonsense"]).exited(2).stderr.contains("bash"));
}
