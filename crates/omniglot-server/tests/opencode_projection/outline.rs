//! Events in a line each, so that a whole family of recordings can be read.

use std::fmt::Write as _;

use omniglot_server::faces::opencode::wire::OcEvent;
use serde_json::Value;

use super::text;

/// Writes all events; neighbouring deltas of a part are one line.
pub(crate) fn of(events: &[OcEvent]) -> String {
    let mut out = String::new();
    let mut grown: Option<(String, String)> = None;
    for event in events {
        let json = serde_json::to_value(event).unwrap();
        let properties = &json["properties"];
        if text(&json, "/type") == "message.part.delta" {
            let part = text(properties, "/partID").to_owned();
            match &mut grown {
                Some((known, all)) if *known == part => all.push_str(text(properties, "/delta")),
                _ => {
                    flush(&mut out, grown.take());
                    grown = Some((part, text(properties, "/delta").to_owned()));
                }
            }
            continue;
        }
        flush(&mut out, grown.take());
        let session = text(&json, "/properties/sessionID");
        let indent = if session.contains('~') { "    " } else { "  " };
        let _ = writeln!(out, "{indent}{}", line(&json));
    }
    flush(&mut out, grown);
    out
}

fn flush(out: &mut String, grown: Option<(String, String)>) {
    if let Some((_, all)) = grown {
        let _ = writeln!(out, "  delta {}", short(&all));
    }
}

fn line(event: &Value) -> String {
    let properties = &event["properties"];
    match text(event, "/type") {
        "session.status" => format!("status {}", status(&properties["status"])),
        "session.updated" | "session.created" => format!(
            "{} {} {}/{} {} ${}",
            text(event, "/type"),
            short(text(properties, "/info/title")),
            text(properties, "/info/agent"),
            text(properties, "/info/model/id"),
            properties["info"]["tokens"],
            properties["info"]["cost"],
        ),
        "message.updated" => format!("message {}", message(&properties["info"])),
        "message.part.updated" => format!("part {}", part(&properties["part"])),
        "permission.asked" | "question.asked" => {
            let mut asked = properties.clone();
            asked.as_object_mut().unwrap().retain(|key, _| key != "sessionID" && key != "id");
            asked["tool"] = (!asked["tool"].is_null()).into();
            format!("{} {}", text(event, "/type"), cut(&asked))
        }
        kind => {
            let mut rest = properties.clone();
            rest.as_object_mut().unwrap().retain(|key, _| key != "sessionID" && key != "requestID");
            format!("{kind} {}", cut(&rest))
        }
    }
}

fn status(status: &Value) -> String {
    format!("{} {}", text(status, "/type"), short(text(status, "/message"))).trim_end().to_owned()
}

fn message(info: &Value) -> String {
    let mut out = text(info, "/role").to_owned();
    if info["time"]["completed"].is_i64() {
        let _ = write!(out, " completed {} {} ${}", text(info, "/finish"), info["tokens"], info["cost"]);
    }
    if info["error"].is_object() {
        let _ = write!(out, " {}", cut(&info["error"]));
    }
    if info["summary"].is_object() {
        let _ = write!(out, " {}", cut(&info["summary"]));
    }
    out
}

fn part(part: &Value) -> String {
    let state = &part["state"];
    match text(part, "/type") {
        kind @ ("text" | "reasoning") => {
            let end = if part["time"]["end"].is_i64() { " end" } else { "" };
            let synthetic = if part["synthetic"] == true { " synthetic" } else { "" };
            format!("{kind}{synthetic}{end} {}", short(text(part, "/text")))
        }
        "tool" => {
            let said = [text(state, "/output"), text(state, "/error")].concat();
            format!(
                "tool {} {} {} {} {}",
                text(part, "/tool"),
                text(state, "/status"),
                cut(&state["input"]),
                short(&said),
                cut(&state["metadata"]),
            )
        }
        kind => {
            let mut rest = part.clone();
            rest.as_object_mut()
                .unwrap()
                .retain(|key, _| !["id", "sessionID", "messageID", "type"].contains(&&**key));
            format!("{kind} {}", cut(&rest))
        }
    }
}

fn cut(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        other => other.to_string().chars().take(160).collect(),
    }
}

fn short(text: &str) -> String {
    let text: String = text.chars().take(60).collect();
    if text.is_empty() { text } else { format!("{text:?}") }
}

/// Returns the step of the comparison; `None` for events that it omits: steps, patches, the session record.
pub(crate) fn step(event: &OcEvent) -> Option<String> {
    let json = serde_json::to_value(event).unwrap();
    let (kind, properties) = (text(&json, "/type"), &json["properties"]);
    let what = match kind {
        "session.status" => text(properties, "/status/type").to_owned(),
        "session.idle" => String::new(),
        "message.part.delta" => "text".to_owned(),
        "message.updated" => {
            let completed = properties["info"]["time"]["completed"].is_i64();
            format!("{}{}", text(properties, "/info/role"), if completed { " completed" } else { "" })
        }
        "message.part.updated" => part_step(&properties["part"])?,
        _ => return None,
    };
    Some(format!("{kind} {what}").trim_end().to_owned())
}

fn part_step(part: &Value) -> Option<String> {
    match text(part, "/type") {
        "text" if part["time"].is_null() => Some("user text".to_owned()),
        "text" if part["time"]["end"].is_i64() => Some("text end".to_owned()),
        "text" => Some("text".to_owned()),
        "tool" => Some(format!("tool {} {}", text(part, "/tool"), text(part, "/state/status"))),
        _ => None,
    }
}
