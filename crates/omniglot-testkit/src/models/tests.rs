//! Tests the servers without any agent: queue, side requests, gates and the failure at the end.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;

/// Sends one request over a connection of its own; returns the status and all bytes.
fn ask(model: &Model, path: &str, body: &Value) -> (u16, String) {
    let address = model.url();
    let address = address.strip_prefix("http://").expect("an address");
    let mut connection = TcpStream::connect(address).expect("a connection");
    let (body, length) = (body.to_string(), body.to_string().len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: model\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.write_all(format!("{head}{body}").as_bytes()).expect("a request");
    let mut answer = vec![];
    // A broken answer ends in an error on some systems; the bytes before it count.
    let _ = connection.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("text");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, answer)
}

const MESSAGES: &str = "/v1/messages?beta=true";

fn messages(text: &str, tools: &[&str]) -> Value {
    let tools: Vec<_> = tools.iter().map(|name| json!({"name": name})).collect();
    let message = json!({"role": "user", "content": text});
    json!({"model": "m", "stream": true, "system": "s", "messages": [message], "tools": tools})
}

#[test]
fn a_side_request_does_not_use_up_the_script() {
    let model = Model::anthropic().reply(Reply::text("for the conversation")).start();
    assert!(ask(&model, MESSAGES, &messages("title?", &[])).1.contains("\"ok\""));
    assert!(ask(&model, MESSAGES, &messages("hello", &["Bash"])).1.contains("conversation"));
    assert_eq!(model.requests().len(), 2);
    let [request] = model.conversation().try_into().expect("one request of the conversation");
    assert_eq!((request.text().as_str(), request.model.as_str()), ("hello", "m"));
    assert!(request.offers("Bash"));
}

#[test]
fn a_reply_with_a_condition_waits_for_its_request() {
    let special = Reply::text("special").when(|request| request.text() == "b");
    let model = Model::anthropic().reply(special).reply(Reply::text("usual")).start();
    assert!(ask(&model, MESSAGES, &messages("a", &["Bash"])).1.contains("usual"));
    assert!(ask(&model, MESSAGES, &messages("b", &["Bash"])).1.contains("special"));
}

#[test]
#[should_panic(expected = "does not have")]
fn a_request_without_a_reply_fails_the_test() {
    let model = Model::anthropic().start();
    assert_eq!(ask(&model, MESSAGES, &messages("hello", &["Bash"])).0, 400);
}

#[test]
#[should_panic(expected = "/v1/surprise")]
fn a_path_that_nobody_foresaw_fails_the_test() {
    let model = Model::anthropic().start();
    assert_eq!(ask(&model, "/v1/surprise", &json!({})).0, 400);
}

#[test]
#[should_panic(expected = "/api/internal?surprise")]
fn a_method_of_amp_that_nobody_foresaw_fails_the_test() {
    let model = Model::amp().start();
    assert_eq!(ask(&model, "/api/internal?getUserInfo", &json!({"method": "getUserInfo"})).0, 200);
    assert_eq!(ask(&model, "/api/internal?surprise", &json!({"method": "surprise"})).0, 400);
}

#[test]
#[should_panic(expected = "nobody asked for")]
fn a_reply_that_nobody_takes_fails_the_test() {
    drop(Model::anthropic().reply(Reply::text("unheard")).start());
}

#[test]
fn a_failure_lasts_until_the_script_goes_on() {
    let model = Model::anthropic().reply(Reply::fails(Failure::Overloaded).forever()).start();
    assert_eq!(ask(&model, MESSAGES, &messages("1", &["Bash"])).0, 529);
    assert_eq!(ask(&model, MESSAGES, &messages("2", &["Bash"])).0, 529);
    model.push(Reply::text("better"));
    assert_eq!(ask(&model, MESSAGES, &messages("3", &["Bash"])).0, 200);
}

#[test]
fn a_cut_stream_has_no_end() {
    let model = Model::anthropic().reply(Reply::text("half").cut()).start();
    let (status, answer) = ask(&model, MESSAGES, &messages("x", &["Bash"]));
    assert_eq!(status, 200);
    assert!(answer.contains("half") && !answer.contains("message_stop"), "{answer}");
}

#[tokio::test]
async fn a_held_answer_goes_on_when_the_gate_opens() {
    let (held, gate) = Reply::text("before").hold();
    let model = Model::anthropic().reply(held.and_text("after")).start();
    let (model, asked) = {
        let asked = tokio::task::spawn_blocking(move || {
            let asked = ask(&model, MESSAGES, &messages("x", &["Bash"]));
            (model, asked)
        });
        gate.reached().await;
        gate.open();
        asked.await.expect("an answer")
    };
    assert!(asked.1.find("before") < asked.1.find("after"));
    drop(model);
}

#[test]
fn each_provider_streams_text_and_a_call() {
    let reply = || Reply::text("hello you").and_tool("run", json!({"a": 1}));
    let tool = json!({"name": "run", "type": "function", "function": {"name": "run"}});
    let chat = json!({"model": "m", "stream": true, "messages": [], "tools": [tool]});
    let responses = json!({"model": "m", "stream": true, "input": [], "tools": [tool]});
    let gemini = json!({"contents": [], "tools": [{"functionDeclarations": [tool]}]});
    for (script, path, body) in [
        (Model::anthropic(), MESSAGES, messages("x", &["run"])),
        (Model::chat(), "/v1/chat/completions", chat),
        (Model::responses(), "/v1/responses", responses),
        (Model::gemini(), "/v1beta/models/m:streamGenerateContent?alt=sse", gemini),
    ] {
        let model = script.reply(reply()).start();
        let (status, answer) = ask(&model, path, &body);
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains("\"hello \"") && answer.contains("\"run\""), "{answer}");
        assert_eq!(model.last().tools, ["run"]);
    }
}
