//! A client made with the protocol's own Rust libraries, moved by a test: calls come as JSON lines on stdin, and
//! what the libraries make of the agent's messages goes to stdout.
//!
//! Usage: `acp-http URL`, with the daemon's token in `OMNIGLOT_TOKEN`.

use std::error::Error;
use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, UntypedMessage};
use agent_client_protocol_http::HttpClient;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};

/// The requests of the agent in order; one that was answered is `None`.
type PermissionAsk = Arc<Mutex<Vec<Option<Responder<Value>>>>>;

fn tell(line: Value) {
    println!("{line}");
}

fn transport(url: &str, token: &str) -> Result<HttpClient, Box<dyn Error>> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);
    let with_token = HttpClient::builder_with_endpoint(url)
        .configure_http(|http| http.default_headers(headers).no_proxy());
    Ok(with_token.build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("the URL is missing")?;
    if url == "--version" {
        println!("{}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let transport = transport(&url, &std::env::var("OMNIGLOT_TOKEN")?)?;
    let asked = PermissionAsk::default();
    let inbound = asked.clone();
    Client
        .v1()
        .on_receive_notification(
            async move |message: UntypedMessage, _| {
                let kind = if message.method == "session/update" { "update" } else { "other" };
                tell(json!({ "kind": kind, "params": message.params }));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |message: UntypedMessage, responder, _| {
                let mut asked = inbound.lock().unwrap();
                let number = asked.len();
                asked.push(Some(responder));
                let UntypedMessage { method, params } = message;
                tell(json!({ "kind": "ask", "ask": number, "method": method, "params": params }));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport, async move |connection: ConnectionTo<Agent>| {
            let mut orders = BufReader::new(stdin()).lines();
            while let Ok(Some(line)) = orders.next_line().await {
                obey(&connection, &asked, &serde_json::from_str(&line).unwrap())?;
            }
            Ok(())
        })
        .await?;
    tell(json!({ "kind": "left", "code": 0 }));
    Ok(())
}

fn obey(
    connection: &ConnectionTo<Agent>,
    asked: &PermissionAsk,
    order: &Value,
) -> Result<(), agent_client_protocol::Error> {
    if let Some(number) = order["call"].as_u64() {
        let request = UntypedMessage::new(order["method"].as_str().unwrap(), &order["params"])?;
        let answer = connection.send_request(request).block_task();
        tokio::spawn(async move {
            tell(match answer.await {
                Ok(value) => json!({ "kind": "result", "call": number, "value": value }),
                Err(error) => json!({
                    "kind": "error", "call": number,
                    "code": i32::from(error.code), "message": error.message, "data": error.data,
                }),
            });
        });
        return Ok(());
    }
    if let Some(method) = order["notify"].as_str() {
        return connection.send_notification(UntypedMessage::new(method, &order["params"])?);
    }
    let responder = asked.lock().unwrap()[order["answer"].as_u64().unwrap() as usize].take().unwrap();
    match order.get("error") {
        Some(error) => {
            let code = error["code"].as_i64().unwrap() as i32;
            let message = error["message"].as_str().unwrap();
            responder.respond_with_error(agent_client_protocol::Error::new(code, message))
        }
        None => responder.respond(order["value"].clone()),
    }
}
