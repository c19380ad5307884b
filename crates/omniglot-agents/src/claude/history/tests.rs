//! Tests of the lines of a transcript, one peculiarity at a time.

use omniglot_timeline::Draft;

use super::*;
use crate::contract::StreamOutput;

const PROMPT: &str = r#"{"type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:00Z","sessionId":"s1","message":{"role":"user","content":"Hello"}}"#;

fn reply(uuid: &str, at: &str, text: &str, stop: &str) -> String {
    let message =
        format!(r#"{{"id":"m-{uuid}","content":[{{"type":"text","text":"{text}"}}],"stop_reason":{stop}}}"#);
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","timestamp":"2026-01-01T00:00:{at}Z","message":{message}}}"#
    )
}

fn outputs(lines: &[&str]) -> Vec<Output> {
    read(&lines.join("\n")).into_iter().flat_map(|told| told.outputs).collect()
}

fn stops(lines: &[&str]) -> Vec<omniglot_schema::StopReason> {
    let stop = |output| {
        let Output::Stream(StreamOutput::Draft(Draft::TurnEnded(end))) = output else { return None };
        Some(end.stop)
    };
    outputs(lines).into_iter().filter_map(stop).collect()
}

#[test]
fn a_recording_is_no_transcript() {
    assert!(recognises(PROMPT));
    assert!(recognises(r#"{"type":"file-history-snapshot","messageId":"x"}"#));
    assert!(!recognises(r#"{"t":1,"ch":"stdout","data":{"type":"user"}}"#));
    assert!(!recognises(r#"{"t":1}"#));
    assert!(!recognises(""));
}

#[test]
fn of_lines_with_one_id_the_last_counts_and_the_other_is_a_duplicate() {
    let (first, last) = (reply("a1", "01", "old", "\"end_turn\""), reply("a1", "01", "new", "\"end_turn\""));
    let outputs = outputs(&[PROMPT, &first, &last]);
    let shown = format!("{outputs:?}");
    assert!(shown.contains("new") && !shown.contains("old"), "{shown}");
    let duplicate =
        |output: &&Output| matches!(output, Output::Stream(StreamOutput::Dropped(DropReason::Duplicate)));
    assert_eq!(outputs.iter().filter(duplicate).count(), 1);
}

#[test]
fn copies_of_model_requests_are_never_shown() {
    let lines = [
        r#"{"type":"api-request-blob","message":{"role":"system","content":"vendor"}}"#,
        r#"{"type":"api-request-shape","shape":{"system":"vendor"}}"#,
        r#"{"type":"api-request","params":{"model":"vendor"}}"#,
        r#"{"type":"attachment","attachment":{"type":"prompt_snapshot","content":"vendor"}}"#,
    ];
    let outputs: Vec<Output> = outputs(&[&[PROMPT], &lines[..]].concat());
    assert!(!format!("{outputs:?}").contains("vendor"));
    let dropped =
        |output: &&Output| matches!(output, Output::Stream(StreamOutput::Dropped(DropReason::Internal)));
    assert!(outputs.iter().filter(dropped).count() >= lines.len());
}

#[test]
fn what_is_not_understood_is_told() {
    let lines = [PROMPT, r#"{"type":"carrier-pigeon"}"#, "not JSON", r#"{"type":"system","subtype":"new"}"#];
    let told = outputs(&lines);
    assert_eq!(
        told.iter().filter(|output| matches!(output, Output::Stream(StreamOutput::Unparsed(_)))).count(),
        3,
        "{told:?}"
    );
}

#[test]
fn a_turn_ends_as_its_last_reply_says_and_is_left_without_one() {
    use omniglot_schema::StopReason::{Cancelled, EndTurn, Error, MaxTokens};
    let again = PROMPT.replace("u1", "u2").replace(":00Z", ":09Z");
    let answer = |stop: &str| reply("a1", "01", "Hi.", stop);
    assert_eq!(stops(&[PROMPT, &answer("\"end_turn\""), &again]), [EndTurn, Cancelled]);
    assert_eq!(stops(&[PROMPT, &answer("\"max_tokens\"")]), [MaxTokens]);
    assert_eq!(stops(&[PROMPT, &answer("null")]), [EndTurn]);
    let failed = answer("\"stop_sequence\"")
        .replace(r#""uuid""#, r#""isApiErrorMessage":true,"error":"rate_limit","uuid""#);
    assert_eq!(stops(&[PROMPT, &failed]), [Error]);
}

#[test]
fn a_turn_ends_when_its_last_line_was_written_and_not_when_the_next_begins() {
    let again = PROMPT.replace("u1", "u2").replace("01-01T", "01-02T");
    let told = read(&[PROMPT, &reply("a1", "01", "Hi.", "\"end_turn\""), &again].join("\n"));
    let end = |told: &&Told| {
        told.outputs.iter().any(|out| matches!(out, Output::Stream(StreamOutput::Draft(Draft::TurnEnded(_)))))
    };
    let ends: Vec<String> = told.iter().filter(end).map(|told| told.at.to_string()).collect();
    assert_eq!(ends, ["2026-01-01T00:00:01Z", "2026-01-02T00:00:00Z"]);
}

#[test]
fn a_prompt_that_was_put_into_a_running_turn_is_part_of_it() {
    let queued = r#"{"type":"attachment","timestamp":"2026-01-01T00:00:01Z","attachment":{"type":"queued_command","prompt":"Be quick."}}"#;
    let outputs = outputs(&[PROMPT, queued]);
    let body = Body::Message { role: ItemRole::User, parts: vec![text("Be quick.".into())] };
    let message = |output: &Output| matches!(output, Output::Stream(StreamOutput::Draft(Draft::ItemStarted(item))) if item.body == body);
    assert!(outputs.iter().any(message), "{outputs:?}");
}

#[test]
fn what_a_command_prints_late_stays_before_the_next_prompt() {
    let line = |uuid: &str, at: &str, content: &str| {
        let line = PROMPT.replace("u1", uuid).replace(":00Z", &format!(":{at}Z"));
        line.replace("Hello", content)
    };
    let lines = [
        r#"{"type":"system","subtype":"compact_boundary","timestamp":"2026-01-01T00:00:03Z","compactMetadata":{"trigger":"manual"}}"#.to_owned(),
        line("c1", "02", "<command-name>/compact</command-name>"),
        line("c2", "09", "<local-command-stdout>Compacted </local-command-stdout>"),
        line("u2", "05", "Go on."),
    ];
    let read = read(&lines.join("\n"));
    let order: Vec<usize> = read.iter().skip(1).map(|told| told.line).collect();
    // The command, its turn's start, the boundary, what it printed, the end of its turn, and the next one.
    assert_eq!(order, [2, 2, 1, 3, 3, 4, 4, 4]);
}
