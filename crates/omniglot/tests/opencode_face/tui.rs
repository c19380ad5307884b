//! The terminal interface against the mock agent.

use omniglot_testkit::clients::OpenCode;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::terminal::Terminal;

use crate::{OMNIGLOT, mock};

pub(crate) const BUSY: &str = "esc interrupt";
pub(crate) const PERMISSION: &str = "Permission required";

pub(crate) fn open(client: &OpenCode, daemon: &Daemon, words: &[&str]) -> Terminal {
    let terminal = client.interface(OMNIGLOT, daemon, words);
    terminal.sees("Ask anything");
    // The list of agents is loaded once the line below the box names one.
    terminal.sees("Build ·");
    terminal
}

/// Types a prompt and sends it when all of it is in the box.
pub(crate) fn prompt(terminal: &Terminal, text: &str) {
    terminal.write(text);
    terminal.sees(text);
    terminal.press("Enter");
}

/// Waits for a text of the answer and the end of its turn.
///
/// The text must be free of markdown: the interface shows an answer as it came at first and rendered soon
/// after, and `[[text]]` becomes `[text]`.
pub(crate) fn answered(terminal: &Terminal, text: &str) {
    terminal.sees(text);
    terminal.until("an idle session", |screen| !screen.contains(BUSY) && !screen.contains("to interrupt"));
}

#[test]
fn a_prompt_is_answered() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "Remember the heron. [[text]]");
    answered(&terminal, "as a real model does.");
    prompt(&terminal, "[[recall]]");
    answered(&terminal, "The first was: Remember the heron.");
}

#[test]
fn a_permission_is_given_once_and_refused() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[permission]]");
    terminal.sees(PERMISSION);
    terminal.press("Enter");
    answered(&terminal, "It ran, and said hello.");
    prompt(&terminal, "again [[permission]]");
    terminal.sees(PERMISSION);
    for _ in 0..2 {
        terminal.press("Right");
    }
    terminal.press("Enter");
    answered(&terminal, "Understood, I do not run it.");
}

#[test]
fn a_question_is_answered_and_another_dismissed() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[question:one]]");
    terminal.sees("2. Blue");
    terminal.press("Down");
    terminal.press("Enter");
    answered(&terminal, "You answered: question_0 = Blue.");
    prompt(&terminal, "again [[question:one]]");
    terminal.sees("2. Blue");
    terminal.press("Escape");
    answered(&terminal, "You did not want to answer");
}

#[test]
fn a_turn_is_interrupted_by_escape() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[text]] [[silence]]");
    terminal.sees("as a real model does.");
    terminal.sees(BUSY);
    terminal.press("Escape");
    terminal.sees("esc again to interrupt");
    terminal.press("Escape");
    answered(&terminal, "interrupted");
    prompt(&terminal, "[[reasoning]]");
    answered(&terminal, "this is my answer.");
}

#[test]
fn an_error_is_shown_and_the_next_prompt_works() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[error:api]]");
    answered(&terminal, "500 Internal server error.");
    prompt(&terminal, "[[text]]");
    answered(&terminal, "as a real model does.");
}

#[test]
fn a_session_is_found_in_the_list_and_opened_again() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[title]] [[text]]");
    answered(&terminal, "as a real model does.");
    drop(terminal);
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "/sessions");
    terminal.sees("Today");
    terminal.press("Enter");
    terminal.sees("as a real model does.");
    prompt(&terminal, "[[recall]]");
    answered(&terminal, "Earlier prompts: 1.");
}

#[test]
fn a_request_that_was_asked_before_it_attached_is_shown() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "[[permission]]");
    terminal.sees(PERMISSION);
    drop(terminal);
    let terminal = client.interface(OMNIGLOT, &daemon, &["--", "--continue"]);
    terminal.sees(PERMISSION);
    terminal.press("Enter");
    answered(&terminal, "It ran, and said hello.");
}

#[test]
fn a_wrong_password_is_an_end_with_an_error() {
    let (daemon, client) = (mock(), OpenCode::default());
    let url = format!("{}/opencode", daemon.url);
    let command = ["opencode", "attach", &url, "--password", "wrong"].map(str::to_owned);
    let terminal = Terminal::open(&command, &client.variables(), &daemon.work());
    terminal.sees_the_end(1);
}

/// B5: a command of one's own is shown with its output.
#[test]
fn a_command_after_an_exclamation_mark_is_run() {
    let config = "[processes]\nenabled = true\n".to_owned();
    let (daemon, client) = (Setup::new(OMNIGLOT).config(config).start(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    terminal.write("!");
    terminal.write("echo from-the-$((1+1))-shell");
    terminal.sees("echo from-the");
    terminal.press("Enter");
    terminal.sees("from-the-2-shell");
}
