//! B5: `/undo` and `/redo` in the terminal interface.

use omniglot_testkit::clients::OpenCode;

use crate::mock;
use crate::tui::{PERMISSION, answered, open, prompt};

/// The last words of the mock agent about its change.
const ANSWER: &str = "has one more line at the end.";

#[test]
fn an_undo_takes_message_and_file_back_and_a_redo_brings_both_back() {
    let (daemon, client) = (mock(), OpenCode::default());
    let file = daemon.work().join("README.md");
    std::fs::write(&file, "old\n").unwrap();
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[edit]]");
    terminal.sees(PERMISSION);
    terminal.press("Enter");
    answered(&terminal, ANSWER);
    let edited = std::fs::read_to_string(&file).unwrap();
    assert_ne!(edited, "old\n");
    prompt(&terminal, "/undo");
    terminal.until("no answer", |screen| screen.contains("reverted") && !screen.contains(ANSWER));
    terminal.sees("remembers");
    terminal.sees("README.md +1");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
    terminal.presses_until(&["C-x", "r"], ANSWER);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), edited);
}

#[test]
fn an_undo_of_a_file_that_was_changed_since_is_refused_on_the_screen() {
    let (daemon, client) = (mock(), OpenCode::default());
    let file = daemon.work().join("README.md");
    std::fs::write(&file, "old\n").unwrap();
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[edit]]");
    terminal.sees(PERMISSION);
    terminal.press("Enter");
    answered(&terminal, ANSWER);
    std::fs::write(&file, "mine\n").unwrap();
    prompt(&terminal, "/undo");
    terminal.sees("1 file has changed");
    terminal.sees("--force");
    terminal.sees(ANSWER);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
}
