//! `opencode run --attach`: one prompt, its permissions, and its output.

use std::process::Output;

use omniglot_testkit::clients::OpenCode;
use omniglot_testkit::models::Reply;
use serde_json::Value;

use crate::{Real, claude_makes, mock};

#[track_caller]
fn said(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}\n{complaint}", output.status);
    text
}

/// Returns a prompt whose turn asks for a permission after all else, which `--auto` gives.
///
/// `opencode run --attach` leaves as soon as its prompt is answered, whether or not it has read its events, so the
/// end of a turn may never be printed. It reads its events in order: when it has replied to a permission, it has
/// printed all that came before it.
fn and_then_asks(prompt: &str) -> [String; 2] {
    ["--auto".to_owned(), format!("{prompt} [[permission]]")]
}

/// Returns the output of `--format json`: the kinds in order, and the objects.
fn lines(output: &Output) -> (Vec<String>, Vec<Value>) {
    let lines: Vec<Value> = said(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds = lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    (kinds, lines)
}

#[test]
fn a_text_is_printed() {
    let (daemon, client) = (mock(), OpenCode::default());
    let [auto, prompt] = and_then_asks("[[text]]");
    let text = said(&client.run(&daemon, &[&*auto, &*prompt]));
    assert!(text.contains("as a real model does."), "{text}");
}

#[test]
fn a_permission_is_refused_by_default_and_given_with_auto() {
    let (daemon, client) = (mock(), OpenCode::default());
    let twice = "[[permission]] [[permission]]";
    let text = said(&client.run(&daemon, &[twice]));
    assert!(text.contains("Understood, I do not run it."), "{text}");
    let text = said(&client.run(&daemon, &["--auto", twice]));
    assert!(text.contains("It ran, and said hello."), "{text}");
}

#[test]
fn a_question_that_nobody_can_answer_ends() {
    let (daemon, client) = (mock(), OpenCode::default());
    let [auto, prompt] = and_then_asks("[[question:one]]");
    let (kinds, lines) = lines(&client.run(&daemon, &["--format", "json", &*auto, &*prompt]));
    assert!(kinds.contains(&"text".to_owned()), "{lines:?}");
}

#[test]
fn steps_tools_and_texts_are_printed_as_json() {
    let (daemon, client) = (mock(), OpenCode::default());
    let [auto, prompt] = and_then_asks("[[permission]]");
    let (kinds, lines) = lines(&client.run(&daemon, &["--format", "json", &*auto, &*prompt]));
    assert!(kinds.iter().map(String::as_str).take(3).eq(["step_start", "tool_use", "text"]), "{kinds:?}");
    let tool = lines.iter().find(|line| line["type"] == "tool_use").unwrap();
    assert_eq!(tool["part"]["state"]["status"], "completed", "{tool}");
    assert!(tool["part"]["state"]["output"].as_str().unwrap().contains("hello"), "{tool}");
}

#[test]
fn the_last_session_is_continued() {
    let (daemon, client) = (mock(), OpenCode::default());
    said(&client.run(&daemon, &["[[text]]"]));
    let [auto, prompt] = and_then_asks("[[recall]]");
    let text = said(&client.run(&daemon, &["--continue", &*auto, &*prompt]));
    assert!(text.contains("Earlier prompts: 1."), "{text}");
}

#[test]
fn a_file_reaches_the_agent() {
    let (daemon, client) = (mock(), OpenCode::default());
    std::fs::write(daemon.work().join("note.txt"), "three little words\n").unwrap();
    let [auto, prompt] = and_then_asks("[[attachments]]");
    let text = said(&client.run(&daemon, &[&*auto, &*prompt, "--file", "note.txt"]));
    assert!(text.contains("note.txt"), "{text}");
}

#[test]
fn an_agent_is_chosen_as_the_provider_of_a_model() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let [auto, prompt] = and_then_asks("[[text]]");
    let text = said(&client.run(&real.daemon, &["--model", "mock/default", &*auto, &*prompt]));
    assert!(text.contains("Hello from the mock agent."), "{text}");
}

/// B18: the session that was made for the prompt goes with it.
#[tokio::test]
async fn a_run_with_a_model_that_nobody_has_says_so_and_leaves_no_session() {
    let (daemon, client) = (mock(), OpenCode::default());
    for model in ["nosuch/x", "mock/nosuch"] {
        let output = client.run(&daemon, &["--model", model, "[[text]]"]);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(complaint.contains("nosuch"), "{complaint}");
    }
    let left = daemon.client.list(&Default::default()).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn claude_answers_and_runs_what_is_allowed() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let (made, more) = (real.file("made.txt"), real.file("more.txt"));
    real.says([
        Reply::text("Hello from the model.").with(claude_makes(&made)),
        Reply::text("It is made.").with(claude_makes(&more)),
        Reply::text("And more."),
    ]);
    let (kinds, lines) = lines(&client.run(&real.daemon, &["--format", "json", "--auto", "Make it."]));
    assert!(made.exists() && more.exists(), "{lines:?}");
    let before: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|kind| !kind.starts_with("step")).collect();
    assert!(before.starts_with(&["text", "tool_use", "text"]), "{before:?}");
    for text in ["Hello from the model.", "It is made."] {
        assert!(lines.iter().any(|line| line["part"]["text"] == text), "{lines:?}");
    }
}

#[test]
fn claude_does_not_run_what_is_refused() {
    let (real, client) = (Real::claude(), OpenCode::default());
    let (made, more) = (real.file("made.txt"), real.file("more.txt"));
    real.says([
        claude_makes(&made),
        Reply::text("Then not.").with(claude_makes(&more)),
        Reply::text("Nor that."),
    ]);
    let text = said(&client.run(&real.daemon, &["Make it."]));
    assert!(!made.exists() && !more.exists(), "{text}");
    assert!(text.contains("Then not."), "{text}");
}
