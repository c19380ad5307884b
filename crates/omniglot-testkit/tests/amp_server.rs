//! The real CLI of Amp, without a daemon, against the stand-in: what the CLI accepts of it, and what it prints.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on panics")]

use std::process::{Output, Stdio};

use omniglot_testkit::agents::{RealAgent, mcp_server};
use omniglot_testkit::models::{Failure, Model, Reply, Request, Usage};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

const TURN: &[&str] = &["--stream-json", "--stream-json-thinking", "--no-archive-after-execute"];

/// The command of one turn, with nothing on its stdin.
fn command(agent: &RealAgent, prompt: &str) -> Command {
    let mut command = agent.process();
    command.args(["--execute", prompt]).args(TURN).stdin(Stdio::null());
    command
}

async fn turn(agent: &RealAgent, prompt: &str) -> Printed {
    Printed::of(&command(agent, prompt).output().await.unwrap())
}

async fn next_turn(agent: &RealAgent, thread: &str, prompt: &str) -> Output {
    let mut command = agent.process();
    command.args(["threads", "continue", thread, "--execute", prompt]).args(TURN).stdin(Stdio::null());
    command.output().await.unwrap()
}

/// A process that reads its messages from stdin.
fn talk(agent: &RealAgent) -> Child {
    let mut command = agent.process();
    command.arg("--execute").args(TURN).arg("--stream-json-input");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

async fn tell(child: &mut Child, content: Value, steer: bool) {
    let message = json!({"role": "user", "content": content});
    let line = format!("{}\n", json!({"type": "user", "message": message, "steer": steer}));
    child.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
}

async fn told(mut child: Child) -> Printed {
    drop(child.stdin.take());
    Printed::of(&child.wait_with_output().await.unwrap())
}

/// Waits until the server has a message that came during a turn.
async fn queued(model: &Model) {
    model.wait_until(|requests| requests.iter().any(|request| request.method == "QUEUE")).await;
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// The lines that a process has printed.
#[derive(Debug)]
struct Printed(Vec<Value>);

impl Printed {
    #[track_caller]
    fn of(output: &Output) -> Self {
        let lines = String::from_utf8_lossy(&output.stdout);
        let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(output.status.success(), "{output:?}");
        Self(lines)
    }

    fn thread(&self) -> &str {
        self.0[0]["session_id"].as_str().unwrap()
    }

    fn contents(&self, kind: &str) -> Vec<&Value> {
        let messages = self.0.iter().filter_map(|line| line["message"]["content"].as_array());
        messages.flatten().filter(|block| block["type"] == kind).collect()
    }

    /// Returns all text that anybody said, in order.
    fn texts(&self) -> Vec<&str> {
        self.contents("text").into_iter().map(|block| block["text"].as_str().unwrap()).collect()
    }

    fn result(&self) -> &Value {
        self.0.last().unwrap()
    }

    fn error(&self) -> &str {
        self.result()["error"].as_str().unwrap_or_else(|| panic!("an error: {self:#?}"))
    }
}

#[tokio::test]
async fn a_text_is_printed_with_its_thought_and_its_tokens() {
    let usage = Usage { input: 11, cached: 5, output: 7, thoughts: 3 };
    let model = Model::amp().reply(Reply::thinking("Hm.").and_text("Hello you.").usage(usage)).start();
    let printed = turn(&RealAgent::amp(&model), "Say hello.").await;
    assert_eq!(printed.contents("thinking"), [&json!({"type": "thinking", "thinking": "Hm."})]);
    assert_eq!(
        (printed.texts(), printed.result()["result"].as_str()),
        (vec!["Say hello.", "Hello you."], Some("Hello you."))
    );
    let used = &printed.0[2]["message"]["usage"];
    let used = ["input_tokens", "cache_read_input_tokens", "output_tokens"].map(|name| used[name].as_u64());
    assert_eq!(used, [Some(11), Some(5), Some(7)]);
    let asked = model.last();
    assert_eq!((asked.text().as_str(), asked.model.as_str()), ("Say hello.", "medium"));
    assert!(asked.offers("shell_command"), "{:?}", asked.tools);
}

#[tokio::test]
async fn parallel_tools_run_and_their_results_reach_the_model() {
    let calls = Reply::tool("shell_command", json!({"command": "echo works"}));
    let model =
        Model::amp().reply(calls.and_tool("no_such_tool", json!({}))).reply(Reply::text("Done.")).start();
    let agent = RealAgent::amp(&model);
    let printed = Printed::of(&command(&agent, "Go.").args(["--mode", "low"]).output().await.unwrap());
    let results = printed.contents("tool_result");
    assert_eq!(results.iter().map(|result| result["is_error"] == true).collect::<Vec<_>>(), [false, true]);
    let asked = model.last();
    assert_eq!(asked.model, "low");
    assert_eq!(
        asked.tool_results(),
        [r#"{"output":"works\n","exitCode":0}"#, "tool \"no_such_tool\" not found"]
    );
}

#[tokio::test]
async fn tools_of_an_mcp_server_are_leased() {
    let call = Reply::tool("mcp__tiny__add", json!({"a": 40, "b": 2}));
    let model = Model::amp().reply(call).reply(Reply::text("42.")).start();
    let server = mcp_server();
    let config = json!({"tiny": {"command": server[0], "args": server[1..]}}).to_string();
    let agent = RealAgent::amp(&model);
    Printed::of(&command(&agent, "Add.").args(["--mcp-config", &config]).output().await.unwrap());
    assert!(model.last().offers("mcp__tiny__add"), "{:?}", model.last().tools);
    assert!(model.last().tool_results().concat().contains("sum 42"), "{:?}", model.last());
}

#[tokio::test]
async fn a_thread_goes_on_in_another_process_and_an_unknown_or_archived_one_does_not() {
    let model = Model::amp().reply(Reply::text("I will.")).reply(Reply::text("Walrus.")).start();
    let agent = RealAgent::amp(&model);
    let first = turn(&agent, "Remember the walrus.").await;
    let second = Printed::of(&next_turn(&agent, first.thread(), "Which word?").await);
    assert_eq!((second.thread(), second.texts()), (first.thread(), vec!["Which word?", "Walrus."]));
    assert_eq!(model.last().text(), "Remember the walrus.\nI will.\nWhich word?");

    let unknown = next_turn(&agent, "T-00000000-0000-4000-8000-999999999999", "And here?").await;
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0), "{unknown:?}");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("does not exist"), "{unknown:?}");

    model.push(Reply::text("Once."));
    let mut command = agent.process();
    command.args(["--execute", "Only this.", "--stream-json"]).stdin(Stdio::null());
    let archived = Printed::of(&command.output().await.unwrap());
    let refused = next_turn(&agent, archived.thread(), "Once more?").await;
    assert!(String::from_utf8_lossy(&refused.stderr).contains("archived"), "{refused:?}");
}

#[tokio::test]
async fn a_failure_of_the_model_is_the_error_of_the_turn() {
    for (failure, error) in [
        (Failure::RateLimit, "Rate limit exceeded"),
        (Failure::Unauthorized, "Unauthorized API key not valid."),
        (Failure::Overloaded, "Model Provider Overloaded"),
        (Failure::Overflow, "Context Limit Reached"),
    ] {
        let model = Model::amp().reply(Reply::fails(failure)).start();
        let printed = turn(&RealAgent::amp(&model), "Fail.").await;
        assert!(printed.error().starts_with(error), "{printed:#?}");
    }
}

#[tokio::test]
async fn a_refused_key_ends_the_process() {
    let users = |request: &Request| request.path.contains("getUserInfo");
    let model = Model::amp().side(users, Reply::fails(Failure::Unauthorized)).start();
    let output = command(&RealAgent::amp(&model), "Hello?").output().await.unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("API key"), "{output:?}");
}

#[tokio::test]
async fn a_signal_cancels_the_turn_and_the_thread_goes_on() {
    let (held, gate) = Reply::text("One moment.").hold();
    let model = Model::amp().reply(held.and_text("Never said.")).start();
    let agent = RealAgent::amp(&model);
    let mut child = command(&agent, "Wait.").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    gate.reached().await;
    let mut printed = vec![];
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("One moment.") {
            let pid = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        }
        printed.push(serde_json::from_str(&line).unwrap());
    }
    let printed = Printed(printed);
    assert_eq!(printed.error(), "User cancelled (SIGINT/SIGTERM)");
    model.push(Reply::text("Here I am."));
    let next = Printed::of(&next_turn(&agent, printed.thread(), "Still there?").await);
    assert_eq!(next.texts(), ["Still there?", "Here I am."]);
    assert_eq!(model.last().text(), "Wait.\nOne moment.\nStill there?");
}

/// One pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn an_image_reaches_the_model_and_a_queued_message_waits_for_its_turn() {
    let (held, gate) = Reply::empty().hold();
    let model = Model::amp().reply(held.and_text("A dot.")).reply(Reply::text("Yes.")).start();
    let agent = RealAgent::amp(&model);
    let mut child = talk(&agent);
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT}});
    tell(&mut child, json!([{"type": "text", "text": "What is it?"}, image]), false).await;
    gate.reached().await;
    tell(&mut child, text("Sure?"), false).await;
    queued(&model).await;
    gate.open();
    assert_eq!(told(child).await.texts(), ["What is it?", "A dot.", "Sure?", "Yes."]);
    assert_eq!(model.last().images(), ["image/png"]);
}

#[tokio::test]
async fn an_image_that_a_tool_reads_reaches_the_model() {
    let model = Model::amp().start();
    let agent = RealAgent::amp(&model);
    let make = format!("echo {DOT} | base64 -d > dot.png");
    model.push(Reply::tool("shell_command", json!({"command": make})));
    model.push(Reply::tool("Read", json!({"path": agent.home().join("dot.png")})));
    model.push(Reply::text("A dot."));
    turn(&agent, "Look at it.").await;
    assert_eq!(model.last().images(), ["image/png"]);
}

#[tokio::test]
async fn a_steering_message_is_heard_before_the_turn_goes_on() {
    let call = Reply::tool("shell_command", json!({"command": "while ! test -e go; do sleep 0.1; done"}));
    let model = Model::amp().reply(call).reply(Reply::text("Left.")).start();
    let agent = RealAgent::amp(&model);
    let mut child = talk(&agent);
    tell(&mut child, text("Which way?"), false).await;
    model.wait_for(1).await;
    tell(&mut child, text("Left!"), true).await;
    queued(&model).await;
    std::fs::write(agent.home().join("go"), "").unwrap();
    assert_eq!(told(child).await.texts(), ["Which way?", "Left!", "Left."]);
    assert!(model.last().last_says("Left!"));
}

#[tokio::test]
async fn a_subagent_has_a_conversation_of_its_own() {
    let model = Model::amp()
        .reply(Reply::tool("Task", json!({"prompt": "Look around.", "description": "Look"})))
        .reply(Reply::tool("shell_command", json!({"command": "echo around"})))
        .reply(Reply::text("Nothing there."))
        .reply(Reply::text("The subagent saw nothing."))
        .start();
    let printed = turn(&RealAgent::amp(&model), "Delegate it.").await;
    assert_eq!(printed.texts(), ["Delegate it.", "The subagent saw nothing."]);
    let [_, begun, going, last] = model.conversation().try_into().unwrap();
    assert_eq!(begun.text(), "Look around.");
    assert_eq!(going.tool_results(), [r#"{"output":"around\n","exitCode":0}"#]);
    assert_eq!(last.tool_results(), ["Nothing there."]);
}

#[tokio::test]
async fn a_cut_connection_is_an_error_after_the_cli_has_come_back() {
    let model = Model::amp().reply(Reply::text("Half of an").cut()).start();
    let printed = turn(&RealAgent::amp(&model), "Break.").await;
    assert!(printed.error().starts_with("Model Stream Timed Out"), "{printed:#?}");
}
