//! What the program says about itself: help, completions, and how it refuses what it does not know.

use super::bench::{Bench, Finished};

fn omniglot(args: &[&str]) -> Finished {
    Finished::of(&mut Bench::new().command(args))
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
        &["sessions", "cancel"],
        &["sessions", "terminate"],
        &["sessions", "rm"],
        &["sessions", "export"],
        &["sessions", "import"],
        &["agents"],
        &["agents", "list"],
        &["agents", "doctor"],
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
