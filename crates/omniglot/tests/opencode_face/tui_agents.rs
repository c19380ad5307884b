//! The terminal interface against real Claude Code and real Codex, each with a scripted model.

use omniglot_testkit::clients::OpenCode;
use omniglot_testkit::models::{Reply, Request};
use omniglot_testkit::terminal::Terminal;
use serde_json::json;

use crate::tui::{BUSY, PERMISSION, answered, open, prompt};
use crate::{OMNIGLOT, Real, claude_asks, claude_makes};

/// Searches a model or an agent, which is a mode, in its list and selects it.
fn choose(terminal: &Terminal, what: &str, words: &str) {
    let title = format!("Select {what}");
    prompt(terminal, &format!("/{what}s"));
    terminal.sees(&title);
    terminal.write(words);
    terminal.sees(words);
    terminal.press("Enter");
    terminal.sees_no(&title);
}

#[test]
fn claude_streams_into_the_interface() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let (reply, gate) = Reply::text("The first half, ").hold();
    real.says([reply.and_text("and the second.")]);
    let terminal = open(&client, &real.daemon, &[]);
    prompt(&terminal, "Speak.");
    // The model holds back the rest: the text on the screen was streamed.
    let screen = terminal.sees("The first half,");
    assert!(!screen.contains("and the second."), "{screen}");
    terminal.sees(BUSY);
    gate.open();
    answered(&terminal, "and the second.");
}

#[test]
fn a_turn_of_claude_goes_on_in_the_next_interface() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let (reply, gate) = Reply::text("The first half, ").hold();
    real.says([reply.and_text("and the second.")]);
    let terminal = open(&client, &real.daemon, &[]);
    prompt(&terminal, "Speak.");
    terminal.sees("The first half,");
    drop(terminal);
    let terminal = client.interface(OMNIGLOT, &real.daemon, &["--", "--continue"]);
    terminal.sees("The first half,");
    terminal.sees(BUSY);
    gate.open();
    answered(&terminal, "and the second.");
}

#[test]
fn claude_asks_for_permission_and_asks_a_question() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let made = real.file("made.txt");
    real.says([claude_makes(&made), Reply::text("It is made.")]);
    let terminal = open(&client, &real.daemon, &["--agent", "claude"]);
    prompt(&terminal, "Make it.");
    terminal.sees(PERMISSION);
    terminal.sees("made.txt");
    terminal.press("Enter");
    answered(&terminal, "It is made.");
    assert!(made.exists());
    real.says([claude_asks(), Reply::text("You like blue.")]);
    prompt(&terminal, "Ask me.");
    terminal.sees("Which colour?");
    terminal.press("Down");
    terminal.press("Enter");
    answered(&terminal, "You like blue.");
    assert!(real.model.last().tool_results().concat().contains("Blue"));
}

#[test]
fn another_model_is_chosen_for_the_next_prompt() {
    let (real, client) = (Real::claude(), OpenCode::default());
    real.says([Reply::text("From the first.")]);
    let terminal = open(&client, &real.daemon, &[]);
    prompt(&terminal, "Who are you?");
    answered(&terminal, "From the first.");
    choose(&terminal, "model", "haiku");
    // The reasoning effort, which may stay unchanged.
    terminal.sees("Select variant");
    terminal.press("Enter");
    terminal.sees_no("Select variant");
    real.says([Reply::text("From the second.")]);
    prompt(&terminal, "And now?");
    answered(&terminal, "From the second.");
    let asked = real.model.last().model;
    assert!(asked.contains("haiku"), "{asked}");
    back_to_the_default_model(&real, &terminal);
}

/// B3: the model `default` of Claude is chosen again after another.
fn back_to_the_default_model(real: &Real, terminal: &Terminal) {
    choose(terminal, "model", "recommended");
    real.says([Reply::text("From the first again.")]);
    prompt(terminal, "And then?");
    answered(terminal, "From the first again.");
    let asked = real.model.last().model;
    assert!(!asked.contains("haiku"), "{asked}");
}

#[test]
fn the_agent_of_a_session_stays_and_a_new_session_takes_another() {
    let (real, client) = (Real::claude(), OpenCode::default());
    real.says([Reply::text("Here is Claude.")]);
    let terminal = open(&client, &real.daemon, &[]);
    prompt(&terminal, "Who are you?");
    answered(&terminal, "Here is Claude.");
    choose(&terminal, "model", "mock small");
    prompt(&terminal, "[[text]]");
    terminal.sees("this session is driven by claude");
    prompt(&terminal, "/new");
    terminal.sees("Ask anything");
    prompt(&terminal, "[[text]]");
    answered(&terminal, "Hello from the mock agent.");
}

#[test]
fn claude_is_interrupted_and_goes_on() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let (reply, _gate) = Reply::text("This takes long ").hold();
    real.says([reply]);
    let terminal = open(&client, &real.daemon, &[]);
    prompt(&terminal, "Begin.");
    terminal.sees("This takes long");
    terminal.press("Escape");
    terminal.sees("esc again to interrupt");
    terminal.press("Escape");
    answered(&terminal, "interrupted");
    real.says([Reply::text("Here I am again.")]);
    prompt(&terminal, "Go on.");
    answered(&terminal, "Here I am again.");
}

#[test]
fn codex_asks_for_permission() {
    let (real, client) = (Real::codex(), OpenCode::default());
    let made = real.file("made.txt");
    let command = format!("touch {}", made.display());
    let call = json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"});
    real.says([Reply::tool("exec_command", call), Reply::text("It is made.")]);
    let terminal = open(&client, &real.daemon, &["--agent", "codex"]);
    prompt(&terminal, "Make it.");
    terminal.sees(PERMISSION);
    terminal.press("Enter");
    answered(&terminal, "It is made.");
    assert!(made.exists());
}

#[test]
fn codex_asks_a_question_in_plan_mode() {
    let (real, client) = (Real::codex(), OpenCode::default());
    let options = json!([
        {"label": "Red", "description": "As fire"},
        {"label": "Blue", "description": "As water"},
    ]);
    let question =
        json!({"id": "colour", "header": "Colour", "question": "Which colour?", "options": options});
    let call = Reply::tool("request_user_input", json!({"questions": [question]}));
    real.says([call, Reply::text("You like blue.")]);
    let terminal = open(&client, &real.daemon, &["--agent", "codex"]);
    choose(&terminal, "agent", "plan");
    prompt(&terminal, "Paint it.");
    terminal.sees("Which colour?");
    terminal.press("Down");
    terminal.press("Enter");
    answered(&terminal, "You like blue.");
    assert!(real.model.last().tool_results().concat().contains("Blue"));
}

/// B5: a subagent's work is a session below, which the interface opens and leaves again.
#[test]
fn a_subagent_of_claude_has_a_session_of_its_own() {
    let (mut real, client) = (Real::claude(), OpenCode::default());
    let call = json!({"description": "Look around", "prompt": "Look for herons.",
        "subagent_type": "general-purpose", "run_in_background": false});
    let of_subagent = |request: &Request| {
        request.messages.first().is_some_and(|message| message.text().contains("Look for herons."))
    };
    real.says([
        Reply::tool("Agent", call),
        Reply::text("I saw a heron.").when(of_subagent),
        Reply::text("There is one heron."),
    ]);
    let terminal = open(&client, &real.daemon, &["--agent", "claude"]);
    prompt(&terminal, "Look.");
    let screen = terminal.sees("There is one heron.");
    assert!(!screen.contains("I saw a heron."), "{screen}");
    terminal.sees("view subagents");
    terminal.presses_until(&["C-x", "Down"], "I saw a heron.");
    terminal.sees("Look for herons.");
    drop(terminal);
    // A daemon that has just begun has no session in memory.
    real.daemon.stop();
    let real = Real { daemon: real.daemon.restart(), ..real };
    let terminal = client.interface(OMNIGLOT, &real.daemon, &["--", "--continue"]);
    terminal.sees("view subagents");
    terminal.presses_until(&["C-x", "Down"], "I saw a heron.");
}

#[test]
fn a_fork_from_a_message_of_claude_has_what_was_said_before_it() {
    let (real, client) = (Real::claude(), OpenCode::default());
    real.says(["I know herons.", "I know storks.", "Only herons."].map(Reply::text));
    let terminal = open(&client, &real.daemon, &["--agent", "claude"]);
    prompt(&terminal, "Learn herons.");
    answered(&terminal, "I know herons.");
    prompt(&terminal, "Learn storks.");
    answered(&terminal, "I know storks.");
    prompt(&terminal, "/fork");
    terminal.sees("Fork session");
    terminal.press("Down");
    terminal.press("Enter");
    terminal.until("the first answer alone", |screen| {
        screen.contains("I know herons.") && !screen.contains("I know storks.")
    });
    // The message is in the field again.
    terminal.sees("Learn storks.");
    terminal.press("Enter");
    answered(&terminal, "Only herons.");
    let heard = real.model.last().text();
    assert!(heard.contains("I know herons.") && !heard.contains("I know storks."), "{heard}");
}
