//! Round trips JSON to type to JSON, for everything that a log or a client keeps.
//!
//! A new type of event without a literal fails here; the other tables grow with their sets.

#![expect(clippy::unwrap_used, reason = "a helper of tests; the exemption sees only the tests themselves")]

use std::collections::BTreeSet;

use omniglot_schema::{
    AgentError, ContentPart, CreateSessionRequest, ErrorCode, ErrorType, EventData, ItemKind, MessageRequest,
    PendingRequest, ProblemDetails, SessionState, StopReason, UniversalEvent, UniversalEventType,
    UniversalItem,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[track_caller]
fn round_trip<T: Serialize + DeserializeOwned>(json: &str) -> T {
    let value: T = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    let written: Value = serde_json::to_value(&value).unwrap();
    let expected: Value = serde_json::from_str(json).unwrap();
    assert_eq!(written, expected);
    value
}

/// The data of each type of event, least and most.
const EVENTS: &[(&str, &str)] = &[
    ("session.started", "{}"),
    ("session.started", r#"{"metadata":{"agent":"a","agent_version":"1","resumed":true,"resume":"native"}}"#),
    ("session.ended", r#"{"reason":"terminated","terminated_by":"daemon"}"#),
    (
        "session.ended",
        r#"{"reason":"error","terminated_by":"agent","message":"m","exit_code":7,
            "stderr":{"head":"h","tail":"t","truncated":true,"total_lines":99}}"#,
    ),
    ("session.updated", "{}"),
    ("session.updated", r#"{"title":null,"model":"m","context":{"used":1,"window":2}}"#),
    ("turn.started", r#"{"phase":"started","turn_id":"turn_1","metadata":{"origin":"agent"}}"#),
    (
        "turn.started",
        r#"{"phase":"started","turn_id":"turn_1","metadata":{"origin":"user","message_id":"msg_1"}}"#,
    ),
    (
        "turn.ended",
        r#"{"phase":"ended","turn_id":"turn_1","metadata":{"stop_reason":"end_turn","duration_ms":0}}"#,
    ),
    (
        "turn.ended",
        r#"{"phase":"ended","turn_id":"turn_1","metadata":{"stop_reason":"max_tokens","model":"m",
            "usage":{"input_tokens":1,"output_tokens":2,"reasoning_tokens":1,"cache_read_tokens":3,
            "cache_write_tokens":4,"total_tokens":10},"usage_subagents":{"input_tokens":5},
            "cost_usd":0.25,"duration_ms":12}}"#,
    ),
    (
        "item.started",
        r#"{"item":{"item_id":"itm_1","kind":"message","role":"assistant","status":"in_progress","content":[]}}"#,
    ),
    ("item.delta", r#"{"item_id":"itm_1","delta":"d"}"#),
    ("item.delta", r#"{"item_id":"itm_1","native_item_id":"n","delta":"d","part_type":"tool_output"}"#),
    ("item.completed", r#"{"item":{"item_id":"itm_1","kind":"status","status":"completed","content":[]}}"#),
    ("error", r#"{"message":"m"}"#),
    ("error", r#"{"message":"m","code":"rate_limit","details":{"retry_after":3}}"#),
    ("permission.requested", r#"{"permission_id":"perm_1","action":"a","status":"requested"}"#),
    (
        "permission.requested",
        r#"{"permission_id":"perm_1","action":"a","status":"requested","metadata":{"item_id":"itm_1",
            "native_request_id":0,"tool":"edit","pattern":"p","options":[{"id":"y","name":"Yes","kind":"allow_once"}],
            "files":[{"type":"file_ref","path":"p","action":"patch","diff":"d"}]}}"#,
    ),
    (
        "permission.resolved",
        r#"{"permission_id":"perm_1","action":"a","status":"accept_for_session",
            "metadata":{"resolved_by":"person","message":"m"}}"#,
    ),
    (
        "question.requested",
        r#"{"question_id":"qst_1","prompt":"p","options":["a"],"status":"requested","metadata":{"questions":[
            {"prompt":"p","header":"h","options":[{"label":"a","description":"d"},{"label":"b"}],
            "multi_select":true,"free_text":false}]}}"#,
    ),
    (
        "question.resolved",
        r#"{"question_id":"qst_1","prompt":"p","options":[],"status":"answered","response":"a"}"#,
    ),
    ("agent.unparsed", r#"{"error":"e","location":"stdout"}"#),
    ("agent.unparsed", r#"{"error":"e","location":"stdout","raw_hash":"00"}"#),
];

#[test]
fn every_type_of_event_survives_the_way_there_and_back() {
    for (kind, data) in EVENTS {
        for (native, raw) in [("null", "null"), (r#""n""#, r#"{"frame":[1,"x"]}"#)] {
            let event: UniversalEvent = round_trip(&format!(
                r#"{{"event_id":"evt_1","sequence":1,"time":"2026-01-01T00:00:00.25Z","session_id":"s",
                    "native_session_id":{native},"source":"agent","synthetic":false,"type":"{kind}",
                    "data":{data},"raw":{raw}}}"#
            ));
            assert_eq!(event.kind().as_str(), *kind);
        }
    }
    let tried: BTreeSet<&str> = EVENTS.iter().map(|(kind, _)| *kind).collect();
    let known: BTreeSet<&str> = UniversalEventType::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(tried, known);
}

#[test]
fn data_of_another_type_is_refused() {
    let data = serde_json::value::RawValue::from_string(r#"{"delta":1}"#.to_owned()).unwrap();
    assert!(EventData::parse(UniversalEventType::ItemDelta, &data).is_err());
}

#[test]
fn every_kind_of_item_survives_the_way_there_and_back() {
    let table = [
        (ItemKind::Message, "message", r#""role":"user","#),
        (ItemKind::ToolCall, "tool_call", r#""role":"assistant","native_item_id":"n","#),
        (ItemKind::ToolResult, "tool_result", r#""role":"tool","parent_id":"itm_0","#),
        (ItemKind::System, "system", r#""role":"system","#),
        (ItemKind::Status, "status", ""),
        (ItemKind::Unknown, "unknown", ""),
    ];
    for (kind, name, more) in table {
        for status in ["in_progress", "completed", "failed"] {
            let item: UniversalItem = round_trip(&format!(
                r#"{{"item_id":"itm_1",{more}"kind":"{name}","status":"{status}","content":[]}}"#
            ));
            assert_eq!(item.kind, kind);
        }
    }
}

#[test]
fn every_content_part_survives_the_way_there_and_back() {
    for part in [
        r#"{"type":"text","text":"a \u0000 \"ä\" \ud83d\ude00"}"#,
        r#"{"type":"json","json":{"b":[1,2.5,null,true],"a":{}}}"#,
        r#"{"type":"json","json":null}"#,
        r#"{"type":"tool_call","name":"n","arguments":"{\"a\":1}","call_id":"call_1"}"#,
        r#"{"type":"tool_result","call_id":"call_1","output":"o"}"#,
        r#"{"type":"tool_result","call_id":"call_1","output":"o","is_error":true,"exit_code":-1,"duration_ms":3}"#,
        r#"{"type":"file_ref","path":"p","action":"read"}"#,
        r#"{"type":"file_ref","path":"p","action":"write"}"#,
        r#"{"type":"file_ref","path":"p","action":"patch","diff":"d"}"#,
        r#"{"type":"reasoning","text":"t","visibility":"public"}"#,
        r#"{"type":"reasoning","text":"t","visibility":"private"}"#,
        r#"{"type":"image","path":"p"}"#,
        r#"{"type":"image","path":"p","mime":"image/png"}"#,
        r#"{"type":"status","label":"a.warning"}"#,
        r#"{"type":"status","label":"a.warning","detail":"d"}"#,
    ] {
        round_trip::<ContentPart>(part);
    }
}

#[test]
fn every_problem_survives_the_way_there_and_back() {
    let table = [
        (ErrorType::InvalidRequest, 400),
        (ErrorType::UnsupportedAgent, 400),
        (ErrorType::AgentNotInstalled, 404),
        (ErrorType::InstallFailed, 500),
        (ErrorType::AgentProcessExited, 500),
        (ErrorType::AgentUnavailable, 502),
        (ErrorType::TokenInvalid, 401),
        (ErrorType::PermissionDenied, 403),
        (ErrorType::SessionNotFound, 404),
        (ErrorType::SessionAlreadyExists, 409),
        (ErrorType::ModeNotSupported, 400),
        (ErrorType::StreamError, 502),
        (ErrorType::Timeout, 504),
        (ErrorType::NotFound, 404),
        (ErrorType::Conflict, 409),
        (ErrorType::Gone, 410),
        (ErrorType::TooLarge, 413),
        (ErrorType::UnsupportedMediaType, 415),
        (ErrorType::Overloaded, 429),
        (ErrorType::DesktopDependenciesMissing, 503),
        (ErrorType::Internal, 500),
    ];
    for (kind, status) in table {
        let name = kind.as_str();
        assert_eq!(round_trip::<ErrorType>(&format!("\"{name}\"")), kind);
        let problem: ProblemDetails = round_trip(&format!(
            r#"{{"type":"urn:sandbox-agent:error:{name}","title":"{}","status":{status},"detail":"d"}}"#,
            kind.title()
        ));
        assert_eq!(problem, ProblemDetails::new(kind, "d"));
        round_trip::<AgentError>(&format!(r#"{{"type":"{name}","message":"m","details":{{"a":1}}}}"#));
    }
    round_trip::<ProblemDetails>(
        r#"{"type":"t","title":"T","status":418,"instance":"i","agent":"a","session_id":"s","hint":"h","other":[1]}"#,
    );
}

#[test]
fn every_stop_reason_and_error_code_has_its_name() {
    for name in ["end_turn", "max_tokens", "max_turns", "max_budget", "refusal", "cancelled", "error"] {
        round_trip::<StopReason>(&format!("\"{name}\""));
    }
    for name in [
        "provider_auth",
        "rate_limit",
        "context_overflow",
        "output_length",
        "max_turns",
        "max_budget",
        "api_error",
        "execution_error",
        "agent_crashed",
        "agent_unavailable",
        "timeout",
        "aborted",
        "daemon_restarted",
        "unknown",
    ] {
        round_trip::<ErrorCode>(&format!("\"{name}\""));
    }
}

#[test]
fn a_full_state_survives_the_way_there_and_back() {
    round_trip::<SessionState>(
        r#"{"title":"t","model":"m","variant":"v","agent_mode":"a","permission_mode":"p","activity":"compacting",
            "connection":"stale","todos":[{"text":"t","status":"in_progress"}],"plan":{"text":"p"},
            "commands":[{"name":"n","description":"d","hint":"h"}],
            "modes":[{"id":"i","name":"n","description":"d"}],
            "models":[{"id":"i","name":"n","variants":["v"],"defaultVariant":"v"},{"id":"j"}],
            "auth":{"state":"required","methods":[{"id":"i","name":"n","description":"d"}]},
            "context":{"used":1,"window":2},"usage":{"input_tokens":1},"cost_usd":0.5,
            "queue":[{"message_id":"msg_1","message":"m","attachments":[{"path":"p"}]}],
            "subagents":[{"a":1}],"changes":{"files":1,"additions":2,"deletions":3},"team":{"members":[{"id":"k","name":"scout","status":"idle","parent_item":"a1"}],"tasks":[{"id":"1","text":"t","status":"pending","owner":"scout"}]}}"#,
    );
}

#[test]
fn what_clients_send_and_wait_for_survives_the_way_there_and_back() {
    round_trip::<CreateSessionRequest>(
        r#"{"agent":"a","agentMode":"m","permissionMode":"p","model":"m","variant":"v","agentVersion":"1",
            "directory":"d","title":"t","mcp":{
            "l":{"type":"local","command":["c","d"],"args":["x"],"cwd":"w","env":{"K":"V"},"enabled":true,"timeoutMs":5},
            "r":{"type":"remote","url":"u","headers":{"H":"V"},"bearerTokenEnvVar":"B","envHeaders":{"E":"V"},
            "oauth":{"clientId":"i","clientSecret":"s","scope":"o"},"transport":"sse"},
            "o":{"type":"remote","url":"u","oauth":false}},
            "skills":{"sources":[{"type":"git","source":"s","skills":["a"],"ref":"r","subpath":"p"}]}}"#,
    );
    round_trip::<MessageRequest>(
        r#"{"message":"m","attachments":[{"path":"p","mime":"text/plain","filename":"f"}],"delivery":"steer"}"#,
    );
    round_trip::<PendingRequest>(
        r#"{"type":"permission","permission_id":"perm_1","action":"a","status":"requested"}"#,
    );
    round_trip::<PendingRequest>(
        r#"{"type":"question","question_id":"qst_1","prompt":"p","options":[],"status":"requested"}"#,
    );
}
