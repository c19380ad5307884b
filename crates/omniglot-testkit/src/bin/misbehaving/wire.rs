//! The wires of agents: what a message means, and how an answer is written.

use serde_json::{Value, json};

/// One wire, with the state of its session.
pub(crate) enum Wire {
    Acp,
    Claude { session: String },
    Codex { threads: usize, turns: usize },
    Pi,
    Amp,
}

/// The meaning of a message of the daemon.
pub(crate) enum Message {
    /// It belongs to handshake or opening, and has these answers.
    Setup(Vec<Value>),
    Prompt(Box<Turn>),
    Other,
}

/// The frames of a turn.
pub(crate) struct Turn {
    pub(crate) begin: Vec<Value>,
    pub(crate) text: Box<dyn Fn(&str) -> Value>,
    /// The same for another session.
    pub(crate) foreign_text: Value,
    pub(crate) end: Vec<Value>,
    /// A request for permission with this number.
    pub(crate) ask: Box<dyn Fn(usize) -> Value>,
    /// An answer to such a request, which is not the agent's to give.
    pub(crate) own_answer: Value,
    /// An answer to a request that nobody has sent.
    pub(crate) stray_answer: Value,
}

impl Wire {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "acp" => Self::Acp,
            "claude" => Self::Claude { session: argument("--session-id").unwrap_or_else(|| "x".to_owned()) },
            "codex" => Self::Codex { threads: 0, turns: 0 },
            "pi" => Self::Pi,
            "amp" => Self::Amp,
            _ => return None,
        })
    }

    /// Whether the process lives for one turn only.
    pub(crate) fn ends_after_a_turn(&self) -> bool {
        matches!(self, Self::Amp)
    }

    pub(crate) fn hear(&mut self, message: &Value) -> Message {
        let (id, method) = (message["id"].clone(), message["method"].as_str().unwrap_or_default());
        let kind = message["type"].as_str().unwrap_or_default();
        match self {
            Self::Acp => match method {
                "initialize" => answer(id, json!({ "protocolVersion": 1, "agentCapabilities": {} })),
                "session/new" => answer(id, json!({ "sessionId": "x" })),
                "session/prompt" => Message::Prompt(Box::new(acp(&id))),
                _ => Message::Other,
            },
            Self::Claude { session } => match kind {
                "control_request" if at(message, "/request/subtype") == "initialize" => {
                    let response = json!({ "subtype": "success", "request_id": message["request_id"],
                        "response": { "models": [{ "value": "default" }] } });
                    Message::Setup(vec![json!({ "type": "control_response", "response": response })])
                }
                "user" => Message::Prompt(Box::new(claude(session))),
                _ => Message::Other,
            },
            Self::Codex { threads, turns } => match method {
                "initialize" => answer(id, json!({ "userAgent": "misbehaving/0.166.0" })),
                "model/list" => answer(id, json!({ "data": [] })),
                "account/read" => answer(id, json!({ "account": null, "requiresOpenaiAuth": false })),
                "thread/start" => {
                    *threads += 1;
                    let thread = json!({ "id": format!("thread-{}-{threads}", std::process::id()) });
                    answer(id, json!({ "thread": thread, "model": "m" }))
                }
                "turn/start" => {
                    *turns += 1;
                    let thread = at(message, "/params/threadId");
                    Message::Prompt(Box::new(codex(&id, thread, &format!("turn-{turns}"))))
                }
                _ => Message::Other,
            },
            Self::Pi => match kind {
                "get_state" => {
                    let ready = json!({ "type": "extension_ui_request", "id": "g", "method": "setStatus",
                        "statusKey": "omniglot-gate", "statusText": "ready" });
                    let state = pi_answer(&id, kind, json!({ "sessionId": "x" }));
                    Message::Setup(vec![ready, state])
                }
                "get_available_models" => Message::Setup(vec![pi_answer(&id, kind, json!({ "models": [] }))]),
                "get_commands" => Message::Setup(vec![pi_answer(&id, kind, json!({ "commands": [] }))]),
                "prompt" => Message::Prompt(Box::new(pi(&id))),
                _ => Message::Other,
            },
            Self::Amp => match kind {
                "user" => Message::Prompt(Box::new(amp())),
                _ => Message::Other,
            },
        }
    }
}

fn at<'a>(message: &'a Value, pointer: &str) -> &'a str {
    message.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the value of an option of the command line.
pub(crate) fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

fn answer(id: Value, result: Value) -> Message {
    Message::Setup(vec![json!({ "jsonrpc": "2.0", "id": id, "result": result })])
}

fn acp(id: &Value) -> Turn {
    let update = |session: &str, text: &str| {
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": session, "update":
            { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } } } })
    };
    let ask = |number: usize| {
        let call = json!({ "toolCallId": format!("call-{number}"), "title": "do it", "kind": "execute" });
        let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
        json!({ "jsonrpc": "2.0", "id": 1000 + number, "method": "session/request_permission",
            "params": { "sessionId": "x", "toolCall": call, "options": options } })
    };
    Turn {
        begin: vec![],
        text: Box::new(move |text| update("x", text)),
        foreign_text: update("y", "for another"),
        end: vec![json!({ "jsonrpc": "2.0", "id": id, "result": { "stopReason": "end_turn" } })],
        ask: Box::new(ask),
        own_answer: json!({ "jsonrpc": "2.0", "id": 1000, "result": { "outcome": { "outcome": "selected", "optionId": "y" } } }),
        stray_answer: json!({ "jsonrpc": "2.0", "id": 777, "result": {} }),
    }
}

fn claude(session: &str) -> Turn {
    let session = session.to_owned();
    let text = |session: &str, text: &str| {
        json!({ "type": "assistant", "session_id": session, "parent_tool_use_id": null,
            "message": { "id": format!("m{}", text.len()), "model": "m", "content": [{ "type": "text", "text": text }] } })
    };
    let ask = |number: usize| {
        json!({ "type": "control_request", "request_id": format!("r{number}"), "request": { "subtype": "can_use_tool",
            "tool_name": "Bash", "input": { "command": "true" }, "tool_use_id": format!("t{number}") } })
    };
    let init = json!({ "type": "system", "subtype": "init", "session_id": session, "model": "m", "permissionMode": "default" });
    let own = json!({ "subtype": "success", "request_id": "r0", "response": { "behavior": "allow" } });
    let stray = json!({ "subtype": "success", "request_id": "nobody", "response": {} });
    Turn {
        begin: vec![init],
        text: Box::new(move |words| text(&session, words)),
        foreign_text: text("another", "for another"),
        end: vec![
            json!({ "type": "result", "subtype": "success", "is_error": false, "total_cost_usd": 0.5 }),
        ],
        ask: Box::new(ask),
        own_answer: json!({ "type": "control_response", "response": own }),
        stray_answer: json!({ "type": "control_response", "response": stray }),
    }
}

fn codex(id: &Value, thread: &str, turn: &str) -> Turn {
    let told = |thread: &str, turn: &str, text: &str| {
        json!({ "method": "item/completed", "params": { "threadId": thread, "turnId": turn,
            "item": { "type": "agentMessage", "id": format!("m{}", text.len()), "text": text } } })
    };
    let of_turn = |method: &str, status: &str| json!({ "method": method, "params": { "threadId": thread, "turn": { "id": turn, "status": status, "items": [] } } });
    let (own_thread, own_turn) = (thread.to_owned(), turn.to_owned());
    let (ask_thread, ask_turn) = (thread.to_owned(), turn.to_owned());
    let ask = move |number: usize| {
        json!({ "id": 1000 + number, "method": "item/commandExecution/requestApproval", "params": {
            "threadId": ask_thread, "turnId": ask_turn, "itemId": format!("c{number}"), "command": "true", "cwd": "/" } })
    };
    Turn {
        begin: vec![
            json!({ "id": id, "result": { "turn": { "id": turn, "status": "inProgress", "items": [] } } }),
            of_turn("turn/started", "inProgress"),
        ],
        text: Box::new(move |text| told(&own_thread, &own_turn, text)),
        foreign_text: told("another", turn, "for another"),
        end: vec![of_turn("turn/completed", "completed")],
        ask: Box::new(ask),
        own_answer: json!({ "id": 1000, "result": { "decision": "accept" } }),
        stray_answer: json!({ "id": "nobody", "result": {} }),
    }
}

fn pi_answer(id: &Value, command: &str, data: Value) -> Value {
    json!({ "type": "response", "id": id, "command": command, "success": true, "data": data })
}

fn pi(id: &Value) -> Turn {
    let message = |text: &str| {
        json!({ "role": "assistant", "content": [{ "type": "text", "text": text }], "provider": "p", "model": "m",
            "stopReason": "stop" })
    };
    let ask = |number: usize| {
        json!({ "type": "extension_ui_request", "id": format!("q{number}"), "method": "confirm", "title": "Sure?",
            "message": "Do it?" })
    };
    Turn {
        begin: vec![
            json!({ "type": "response", "id": id, "command": "prompt", "success": true }),
            json!({ "type": "agent_start" }),
            json!({ "type": "turn_start" }),
        ],
        text: Box::new(move |text| json!({ "type": "message_end", "message": message(text) })),
        foreign_text: json!({ "type": "message_end", "sessionId": "another", "message": message("for another") }),
        end: vec![
            json!({ "type": "turn_end" }),
            json!({ "type": "agent_end", "messages": [] }),
            json!({ "type": "agent_settled" }),
        ],
        ask: Box::new(ask),
        own_answer: json!({ "type": "extension_ui_response", "id": "q0", "confirmed": true }),
        stray_answer: json!({ "type": "response", "id": "nobody", "command": "prompt", "success": true }),
    }
}

fn amp() -> Turn {
    let text = |thread: &str, text: &str| {
        json!({ "type": "assistant", "session_id": thread, "parent_tool_use_id": null, "message": { "type": "message",
            "role": "assistant", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn" } })
    };
    let init = json!({ "type": "system", "subtype": "init", "cwd": "/", "session_id": "T-x", "tools": [], "mcp_servers": [] });
    // Amp asks by a helper program; on its output nothing is a request.
    let ask = |number: usize| json!({ "type": "control_request", "request_id": format!("r{number}") });
    Turn {
        begin: vec![init],
        text: Box::new(move |words| text("T-x", words)),
        foreign_text: text("T-another", "for another"),
        end: vec![
            json!({ "type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": "done",
            "session_id": "T-x" }),
        ],
        ask: Box::new(ask),
        own_answer: json!({ "type": "control_response", "request_id": "r0" }),
        stray_answer: json!({ "type": "control_response", "request_id": "nobody" }),
    }
}
