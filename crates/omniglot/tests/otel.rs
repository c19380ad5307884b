//! Traces of OpenTelemetry: sent while the daemon runs, and exported from the log.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::process::Command;

use omniglot_schema::{CreateSessionRequest, EventData, ItemKind, PermissionReply};
use omniglot_testkit::collector::{Collector, spans};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::session_driver::SessionDriver;
use serde_json::{Value, json};

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

fn daemon(collector: &Collector) -> Daemon {
    Setup::new(OMNIGLOT).config(format!("[otel]\nendpoint = \"{}\"\n", collector.url)).start()
}

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = spans.iter().find(|span| span["name"] == name);
    found.unwrap_or_else(|| panic!("no span {name}: {spans:#?}"))
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    &attributes.iter().find(|attribute| attribute["key"] == key).unwrap()["value"]
}

fn export(daemon: &Daemon, words: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(OMNIGLOT);
    command.args(["sessions", "export", "s", "--otel", "--data-dir"]).arg(daemon.data()).args(words);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_a_trace_with_its_tools_and_an_export_repeats_it() {
    let mut collector = Collector::start(&[]).await;
    let daemon = daemon(&collector);
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("A secret word [[edit]]", PermissionReply::Once).await;
    let requests = collector.requests(1).await;
    let told = spans(&requests[0]);
    let root = named(&told, "invoke_agent mock");
    assert_eq!(attribute(root, "gen_ai.conversation.id"), &json!({"stringValue": "s"}));
    assert_eq!(attribute(root, "omniglot.stop_reason"), &json!({"stringValue": "end_turn"}));
    assert_eq!(root.get("parentSpanId"), None);
    let tool = told.iter().find(|span| span["name"].as_str().unwrap().starts_with("execute_tool ")).unwrap();
    assert_eq!((&tool["parentSpanId"], &tool["traceId"]), (&root["spanId"], &root["traceId"]));
    let times = |span: &Value| {
        let at = |key: &str| span[key].as_str().unwrap().parse::<i128>().unwrap();
        (at("startTimeUnixNano"), at("endTimeUnixNano"))
    };
    let (begin, end) = times(root);
    let (first, last) = (turn.events.first().unwrap(), turn.events.last().unwrap());
    assert_eq!((begin, end), (first.time.as_nanosecond(), last.time.as_nanosecond()));
    let result = turn.events.iter().rev().find(|event| {
        matches!(&event.data, EventData::ItemCompleted(data) if data.item.kind == ItemKind::ToolResult)
    });
    assert_eq!(times(tool).1, result.unwrap().time.as_nanosecond(), "{told:#?}");
    assert!(begin <= times(tool).0 && times(tool).0 < times(tool).1 && times(tool).1 <= end, "{told:#?}");
    assert!(!requests[0].to_string().contains("secret"), "no words are exported");

    let (success, stdout, stderr) = export(&daemon, &[]);
    assert!(success, "{stderr}");
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, requests);
    let url = collector.url.clone();
    let (success, _, stderr) = export(&daemon, &["--endpoint", &url]);
    assert!(success && stderr.contains("sent "), "{stderr}");
    assert_eq!(collector.requests(2).await[1], requests[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_wait_for_a_collector_that_is_busy_and_come_before_the_daemon_ends() {
    let mut collector = Collector::start(&[503, 429]).await;
    let mut daemon = daemon(&collector);
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let first = collector.requests(1).await;
    named(&spans(&first[0]), "invoke_agent mock");
    session.turn("[[stop:refusal]]", PermissionReply::Once).await;
    daemon.stop();
    let second = collector.requests(2).await;
    let root = spans(&second[1]);
    assert_eq!(
        attribute(named(&root, "invoke_agent mock"), "omniglot.stop_reason")["stringValue"],
        "refusal"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_the_model_have_its_name_and_its_tokens() {
    let mut collector = Collector::start(&[]).await;
    let model = Model::anthropic().reply(Reply::text("Hello.")).start();
    let agent = omniglot_testkit::agents::RealAgent::claude(&model);
    let config = format!("{}\n[otel]\nendpoint = \"{}\"\n", agent.toml(), collector.url);
    let daemon = Setup::new(OMNIGLOT).config(config).start();
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("claude")).await;
    let turn = session.turn("Hello?", PermissionReply::Once).await;
    let told = spans(&collector.requests(1).await[0]);
    let name = turn.ended().model.clone().unwrap();
    let chat = named(&told, &format!("chat {name}"));
    assert_eq!(chat["kind"], 3);
    let tokens = |span: &Value| attribute(span, "gen_ai.usage.output_tokens")["intValue"].clone();
    assert_eq!(tokens(chat), tokens(named(&told, "invoke_agent claude")));
    assert_eq!(
        attribute(chat, "gen_ai.response.finish_reasons")["arrayValue"]["values"][0]["stringValue"],
        "end_turn"
    );
}

#[test]
fn an_address_that_cannot_be_one_is_refused() {
    for (address, words) in [("https://otel.example", "expected http"), ("4318", "such as \"http://")] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("omniglot.toml"), format!("[otel]\nendpoint = \"{address}\"\n"))
            .unwrap();
        let mut command = Command::new(OMNIGLOT);
        command.args(["serve", "--port", "0", "--data-dir"]).arg(dir.path());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains("omniglot.toml:2:") && said.contains(words),
            "{said}"
        );
    }
}
