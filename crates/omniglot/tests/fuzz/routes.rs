//! The routes of the daemon, from its OpenAPI document and from the route table of OpenCode's face, so that none is
//! forgotten; each that takes a body has one that fits.

use reqwest::Method;
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    /// With names in braces, such as `/v1/sessions/{session_id}`.
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) fitting: Value,
}

/// The table itself, as its face declares it.
const OPENCODE: &str = include_str!("../../../omniglot-server/src/faces/opencode/routes.rs");
const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

/// Returns every route, several times where one takes bodies of several kinds.
pub(crate) fn all() -> Vec<Route> {
    let tables = of_openapi().into_iter().chain(of_opencode());
    let routes = tables.flat_map(|(method, path, takes_body)| {
        let bodies = if method == Method::GET || method == Method::DELETE { vec![] } else { bodies(&path) };
        let described = !takes_body || !bodies.is_empty();
        assert!(described, "{method} {path} takes a body, but no test knows one that fits");
        let fitting = if bodies.is_empty() { vec![json!({})] } else { bodies };
        fitting.into_iter().map(move |fitting| Route {
            method: method.clone(),
            content_type: match path.rsplit('/').next() {
                Some("import") => "application/x-ndjson",
                Some("upload-batch") => "application/octet-stream",
                _ => "application/json",
            },
            path: path.clone(),
            fitting,
        })
    });
    routes.collect()
}

fn of_openapi() -> Vec<(Method, String, bool)> {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let mut routes = vec![];
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if let Ok(method @ (Method::GET | Method::POST | Method::PUT | Method::PATCH | Method::DELETE)) =
                method.to_uppercase().parse()
            {
                routes.push((method, path.clone(), operation.get("requestBody").is_some()));
            }
        }
    }
    routes
}

fn of_opencode() -> Vec<(Method, String, bool)> {
    let mut routes = vec![];
    for declared in OPENCODE.split(".route(\"").skip(1) {
        let (path, handlers) = declared.split_once('"').unwrap();
        let handlers = handlers.split_once("))").map_or(handlers, |(handlers, _)| handlers);
        for (word, method) in [
            ("get(", Method::GET),
            ("post(", Method::POST),
            ("patch(", Method::PATCH),
            ("delete(", Method::DELETE),
        ] {
            if handlers.contains(word) {
                let bodyless = path.ends_with("/abort") || path.ends_with("/reject");
                let takes_body = matches!(method, Method::POST | Method::PATCH) && !bodyless;
                routes.push((method, format!("/opencode{path}"), takes_body));
            }
        }
    }
    assert!(routes.len() > 40, "the table has another form: {routes:?}");
    routes
}

/// Returns bodies that fit the routes of this path.
fn bodies(path: &str) -> Vec<Value> {
    let model = json!({"providerID": "mock", "modelID": "m"});
    let words =
        json!([{"type": "text", "text": "hi"}, {"type": "file", "mime": "text/plain", "url": "file:///x"}]);
    let end = |names: usize| path.rsplitn(names + 1, '/').collect::<Vec<_>>()[..names].join(" ");
    if path.starts_with("/v1/acp") {
        return acp(&words);
    }
    if path.starts_with("/opencode") {
        let body = match end(1).as_str() {
            "session" | "{id}" if path.ends_with("/permissions/{id}") => json!({"response": "once"}),
            "session" => json!({"title": "t", "agent": "mock", "model": model, "permission": []}),
            "{id}" => json!({"title": "t", "time": {"archived": 1}}),
            "message" => json!({"messageID": "msg_1", "model": model, "parts": words}),
            "prompt_async" => json!({"agent": "mock", "parts": words}),
            "command" => json!({"command": "c", "arguments": "a", "model": "a/b"}),
            "shell" => json!({"command": "true"}),
            "fork" | "revert" | "unrevert" => json!({"messageID": "msg_1"}),
            "summarize" => model,
            "reply" => json!({"reply": "once", "answers": [["a"]], "message": "m"}),
            _ => return vec![],
        };
        return vec![body];
    }
    if path.starts_with("/v1/processes") {
        return process(&end(1));
    }
    let body = match end(1).as_str() {
        "{session_id}" => {
            let new = json!({"agent": "mock", "cwd": "/", "title": "t", "mcp": {}, "labels": {"app": "x"}});
            return vec![
                new,
                json!({"title": "t", "model": "m", "variant": "v", "permissionMode": "default"}),
                json!({"labels": {"app": "y", "old": null}}),
            ];
        }
        "sessions" => json!({"agent": "mock", "labels": {"app": "x"}}),
        "uploads" => json!({"any": "bytes"}),
        "mcp" => json!({"type": "local", "command": "x", "args": ["a"], "env": {"A": "b"}}),
        "skills" => json!({"sources": [{"type": "local", "source": "/x"}]}),
        "messages" | "stream" => json!({"message": "hi", "attachments": [{"path": "/x"}]}),
        "fork" => json!({"sessionId": "u"}),
        "revert" | "unrevert" => json!({"turn": "turn_x_1", "force": true}),
        "install" => json!({"agentVersion": "1.2.3", "newest": false, "reinstall": false}),
        "import" => json!({"header": {}}),
        "file" | "upload-batch" => json!({"any": "bytes"}),
        "move" => json!({"from": "x", "to": "y", "overwrite": true}),
        "cancel" => json!({"queue": "keep"}),
        "tokens" => {
            let label = json!({"key": "app", "value": "x"});
            json!({"name": "t", "scope": "read", "sessions": label, "expiresInSeconds": 60})
        }
        "reply" => json!({"reply": "once", "message": "m"}),
        _ => return vec![],
    };
    if path.contains("/questions/") { vec![json!({"answers": [["a"]]})] } else { vec![body] }
}

fn process(end: &str) -> Vec<Value> {
    let command = json!({"command": "true", "args": ["a"], "cwd": "/", "env": {"A": "b"}});
    vec![match end {
        "config" => serde_json::to_value(omniglot_schema::ProcessConfig::default()).unwrap(),
        "run" | "processes" => command,
        "input" => json!({"data": "aGk=", "encoding": "base64"}),
        "resize" => json!({"cols": 80, "rows": 24}),
        _ => return vec![],
    }]
}

fn acp(words: &Value) -> Vec<Value> {
    let rpc =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let of_session = |method: &str, more: Value| {
        let mut params = json!({"sessionId": "s"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rpc(method, params)
    };
    let place = json!({"cwd": "/", "mcpServers": []});
    vec![
        rpc("initialize", json!({"protocolVersion": 1, "clientCapabilities": {"fs": {}}})),
        rpc("authenticate", json!({"methodId": "m"})),
        rpc("session/new", place.clone()),
        rpc("session/list", json!({"cwd": "/"})),
        of_session("session/load", place.clone()),
        of_session("session/resume", place.clone()),
        of_session("session/fork", place),
        of_session("session/prompt", json!({"prompt": words})),
        of_session("session/set_mode", json!({"modeId": "m"})),
        of_session("session/set_model", json!({"modelId": "m"})),
        of_session("session/set_config_option", json!({"configId": "c", "value": "v"})),
        of_session("session/cancel", json!({})),
        of_session("session/close", json!({})),
        of_session("session/delete", json!({})),
        json!({"jsonrpc": "2.0", "id": "r1", "result": {"outcome": {"outcome": "cancelled"}}}),
    ]
}

/// Returns the path with names that nobody has given.
pub(crate) fn strange(route: &Route) -> String {
    fill(&route.path, |_| "..%2f%00\u{fc}~x".to_owned())
}

/// Replaces the names in braces.
pub(crate) fn fill(path: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut parts = path.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap();
        filled += &value(name);
        filled += rest;
    }
    filled
}
