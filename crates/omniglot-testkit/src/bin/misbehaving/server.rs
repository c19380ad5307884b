//! The wire of OpenCode: a server of HTTP whose event stream has the frames.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::fault::Fault;
use super::output::{Agent, Output, raw, rest};
use super::wire::{Turn, argument};

const SESSION: &str = "ses_x";

/// The event streams that are open.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<Vec<TcpStream>>>);

impl Streams {
    fn add(&self, stream: TcpStream) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
    }

    /// Writes to every stream, and forgets those that nobody reads.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain_mut(|stream| stream.write_all(bytes).is_ok());
    }

    pub(crate) fn close(&self) {
        for stream in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

pub(crate) fn serve(fault: Fault) {
    let streams = Streams::default();
    let agent = Arc::new(Agent::new(fault, Output::Events(streams.clone())));
    agent.starts();
    let port = argument("--port").unwrap_or_default();
    let Ok(listener) = TcpListener::bind(format!("127.0.0.1:{port}")) else { std::process::exit(2) };
    raw(format!("opencode server listening on http://127.0.0.1:{port}\n").as_bytes());
    for connection in listener.incoming().flatten() {
        let (agent, streams) = (Arc::clone(&agent), streams.clone());
        thread::spawn(move || answers(&connection, &agent, &streams));
    }
}

/// Answers the requests of one connection, in order.
fn answers(connection: &TcpStream, agent: &Agent, streams: &Streams) -> Option<()> {
    let mut reader = BufReader::new(connection);
    loop {
        let request = Request::read(&mut reader)?;
        let path = request.target.split('?').next().unwrap_or_default();
        match (request.method.as_str(), path) {
            ("GET", "/event") => {
                write(connection, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")?;
                let connected = json!({ "id": "evt_0", "type": "server.connected", "properties": {} });
                write(connection, &format!("data: {connected}\n\n"))?;
                streams.add(connection.try_clone().ok()?);
                return None;
            }
            ("POST", path) if path.ends_with("/prompt_async") => {
                write(connection, "HTTP/1.1 204 No Content\r\n\r\n")?;
                let message =
                    request.body.get("messageID").and_then(Value::as_str).unwrap_or("msg_0").to_owned();
                agent.works(&turn(&message));
            }
            (_, path) => answer(connection, agent, &meaning(path))?,
        }
    }
}

fn meaning(path: &str) -> Value {
    match path {
        "/global/health" => json!({ "healthy": true, "version": "1.18.33" }),
        "/session" | "/session/ses_x" => {
            json!({ "id": SESSION, "version": "1.18.33", "time": { "created": 1, "updated": 1 } })
        }
        "/session/status" | "/config" => json!({}),
        "/config/providers" => json!({ "providers": [], "default": {} }),
        "/agent" | "/command" | "/permission" | "/question" => json!([]),
        path if path.ends_with("/message") => json!([]),
        _ => json!(true),
    }
}

fn answer(mut connection: &TcpStream, agent: &Agent, body: &Value) -> Option<()> {
    let body = body.to_string();
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    match agent.fault() {
        Fault::NeverAnswers => rest(),
        Fault::DiesInHandshake => {
            let (half, _) = whole.split_at(whole.len() - body.len() / 2);
            write(connection, half)?;
            std::process::exit(3);
        }
        Fault::AnswersTwice => {
            write(connection, &whole)?;
            write(connection, &whole)
        }
        _ => connection.write_all(whole.as_bytes()).ok(),
    }
}

fn write(mut connection: &TcpStream, text: &str) -> Option<()> {
    connection.write_all(text.as_bytes()).ok()
}

struct Request {
    method: String,
    target: String,
    body: Value,
}

impl Request {
    fn read(reader: &mut BufReader<&TcpStream>) -> Option<Self> {
        let mut first = String::new();
        reader.read_line(&mut first).ok()?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, target, body: serde_json::from_slice(&body).unwrap_or_default() })
    }
}

fn event(kind: &str, properties: Value) -> Value {
    json!({ "id": "evt_1", "type": kind, "properties": properties })
}

fn turn(prompt: &str) -> Turn {
    let message = format!("{prompt}x");
    let user = json!({ "id": prompt, "role": "user", "sessionID": SESSION, "time": { "created": 2 } });
    let assistant = |time: Value, finish: Option<&str>| {
        json!({ "id": message, "role": "assistant", "sessionID": SESSION, "parentID": prompt, "mode": "build",
            "agent": "build", "providerID": "p", "modelID": "m", "path": { "cwd": "/", "root": "/" }, "cost": 0,
            "tokens": { "input": 1, "output": 1, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
            "time": time, "finish": finish })
    };
    let updated = |info: Value| event("message.updated", json!({ "sessionID": SESSION, "info": info }));
    let status =
        |kind: &str| event("session.status", json!({ "sessionID": SESSION, "status": { "type": kind } }));
    let (begun, ended) = (
        assistant(json!({ "created": 3 }), None),
        assistant(json!({ "created": 3, "completed": 4 }), Some("stop")),
    );
    let text = move |session: &str, text: &str| {
        let part = json!({ "id": format!("prt_{}", text.len()), "sessionID": session, "messageID": message,
            "type": "text", "text": text, "time": { "start": 3, "end": 4 } });
        event("message.part.updated", json!({ "sessionID": session, "part": part, "time": 3 }))
    };
    let ask = |number: usize| {
        event(
            "permission.asked",
            json!({ "id": format!("per_{number}"), "sessionID": SESSION, "permission": "bash",
            "patterns": ["true"], "metadata": { "command": "true" }, "always": ["true"] }),
        )
    };
    let replied = |id: &str| {
        event("permission.replied", json!({ "sessionID": SESSION, "requestID": id, "reply": "once" }))
    };
    Turn {
        begin: vec![updated(user), status("busy"), updated(begun)],
        foreign_text: text("ses_another", "for another"),
        text: Box::new(move |words| text(SESSION, words)),
        end: vec![updated(ended), status("idle"), event("session.idle", json!({ "sessionID": SESSION }))],
        ask: Box::new(ask),
        own_answer: replied("per_0"),
        stray_answer: replied("per_nobody"),
    }
}
