//! The output and the input of processes.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{
    Follower, bytes, daemon, get, post, post_refused, refused, request, said, shell, start, text, wait_exited,
};

/// Echoes each line of its input.
const ECHO: &str = "while read -r line; do echo \"got $line\"; done";

#[tokio::test]
async fn a_process_is_started_listed_and_tells_its_output_and_its_end() {
    let daemon = daemon();
    let mut wanted = shell("echo out; echo err >&2; exit 7");
    wanted["interactive"] = json!(true);
    let id = start(&daemon, wanted).await;
    let info = wait_exited(&daemon, &id).await;
    assert_eq!((&info["id"], &info["exitCode"]), (&json!("proc_1"), &json!(7)));
    assert_eq!(
        (&info["command"], &info["tty"], &info["interactive"]),
        (&json!("sh"), &json!(false), &json!(true))
    );
    assert_eq!(info["cwd"], daemon.work().canonicalize().unwrap().to_str().unwrap());
    assert!(info["pid"].is_u64() && info["exitedAtMs"].as_i64() >= info["createdAtMs"].as_i64(), "{info}");
    assert_eq!(get(&daemon, "").await["processes"], json!([info]));
    assert_eq!(get(&daemon, "?owner=user").await["processes"], json!([info]));
    assert_eq!(get(&daemon, "?owner=desktop").await["processes"], json!([]));
    let logs = get(&daemon, &format!("/{id}/logs")).await;
    assert_eq!((&logs["processId"], &logs["stream"]), (&json!(id), &json!("combined")));
    assert_eq!(logs["entries"].as_array().unwrap().len(), 2);
    for (stream, words) in [("stdout", "out\n"), ("stderr", "err\n")] {
        let logs = get(&daemon, &format!("/{id}/logs?stream={stream}")).await;
        assert_eq!((&logs["stream"], &logs["entries"][0]["stream"]), (&json!(stream), &json!(stream)));
        assert_eq!(text(logs["entries"].as_array().unwrap()), words);
    }
    let of = |query: &str| {
        let path = format!("/{id}/logs?{query}");
        let daemon = &daemon;
        async move {
            let entries = get(daemon, &path).await["entries"].clone();
            entries.as_array().unwrap().iter().map(|entry| entry["sequence"].clone()).collect::<Vec<_>>()
        }
    };
    assert_eq!(of("since=1").await, [2]);
    assert_eq!(of("tail=1").await, [2]);
    assert_eq!(of("stream=pty").await, Vec::<Value>::new());
    refused(request(&daemon, Method::GET, &format!("/{id}/logs?stream=x")), 400, "invalid_request").await;
}

#[tokio::test]
async fn a_log_is_followed_across_a_reconnect_until_its_process_is_deleted() {
    let daemon = daemon();
    let id = start(&daemon, shell(ECHO)).await;
    let say = |line: &str| {
        let (path, body) =
            (format!("/{id}/input"), json!({ "data": format!("{line}\n"), "encoding": "utf8" }));
        let daemon = &daemon;
        async move { post(daemon, &path, body).await }
    };
    let mut first = Follower::open(&daemon, &id, "").await;
    say("one").await;
    let last = first.until("got one\n").await.pop().unwrap()["sequence"].as_u64().unwrap();
    drop(first);
    say("two").await;
    said(&daemon, &id, "got two\n").await;
    let mut second = Follower::open(&daemon, &id, &format!("&since={last}")).await;
    assert_eq!(second.next().await.unwrap()["sequence"], last + 1, "nothing is lost or doubled");
    say("three").await;
    second.until("got three\n").await;
    let resumed = request(&daemon, Method::GET, &format!("/{id}/logs?follow=true&since=99"));
    let mut resumed = resumed.header("last-event-id", last.to_string()).send().await.unwrap();
    assert!(resumed.chunk().await.unwrap().unwrap().starts_with(b"event: log\nid: 2\n"));
    post(&daemon, &format!("/{id}/kill?waitMs=20000"), json!({})).await;
    let deleted = request(&daemon, Method::DELETE, &format!("/{id}")).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    assert!(second.next().await.is_none());
}

#[tokio::test]
async fn input_is_base64_unless_it_says_otherwise() {
    let daemon = daemon();
    let id = start(&daemon, shell(ECHO)).await;
    let path = format!("/{id}/input");
    for (body, written) in [
        (json!({ "data": "b25lCg==" }), 4),
        (json!({ "data": "dHdvCg==", "encoding": "base64" }), 4),
        (json!({ "data": "thr\u{e9}e\n", "encoding": "utf8" }), 7),
        (json!({ "data": "four\n", "encoding": "text" }), 5),
    ] {
        assert_eq!(post(&daemon, &path, body).await, json!({ "bytesWritten": written }));
    }
    assert_eq!(said(&daemon, &id, "got four\n").await, "got one\ngot two\ngot thr\u{e9}e\ngot four\n");
    let plain = json!({ "data": "plain text" });
    post_refused(&daemon, &path, plain, 400, "invalid_request").await;
    let other = json!({ "data": "x", "encoding": "utf-8" });
    post_refused(&daemon, &path, other, 400, "invalid_request").await;
    let most = json!({ "data": "x".repeat(65_536), "encoding": "text" });
    post(&daemon, &path, most).await;
    let more = json!({ "data": "x".repeat(65_537), "encoding": "text" });
    post_refused(&daemon, &path, more, 413, "too_large").await;
    post(&daemon, &format!("/{id}/kill?waitMs=20000"), json!({})).await;
    post_refused(&daemon, &path, json!({ "data": "" }), 409, "conflict").await;
    post_refused(&daemon, "/proc_9/input", json!({ "data": "" }), 404, "not_found").await;
}

#[tokio::test]
async fn a_process_that_does_not_read_is_not_waited_for() {
    let daemon = daemon();
    let id = start(&daemon, shell("exec sleep 1000")).await;
    let path = format!("/{id}/input");
    let large = json!({ "data": "x".repeat(65_536), "encoding": "text" });
    let mut taken = 0;
    let refused = loop {
        let response = request(&daemon, Method::POST, &path).json(&large).send().await.unwrap();
        if response.status() != 200 {
            break response;
        }
        taken += 1;
    };
    assert_eq!(refused.status(), 429);
    assert!(taken < 80, "{taken} inputs wait");
}

#[tokio::test]
async fn a_long_log_loses_its_beginning_and_its_numbers_go_on() {
    let daemon = daemon();
    let mut limits = get(&daemon, "/config").await;
    limits["maxLogBytesPerProcess"] = json!(20_000);
    post(&daemon, "/config", limits).await;
    let id = start(&daemon, shell("head -c 100000 /dev/zero; printf '\\377end'")).await;
    wait_exited(&daemon, &id).await;
    let entries = get(&daemon, &format!("/{id}/logs")).await["entries"].as_array().unwrap().clone();
    let kept: usize = entries.iter().map(|entry| bytes(entry).len()).sum();
    assert!((4..=20_000).contains(&kept), "{kept} bytes are kept");
    assert!(bytes(entries.last().unwrap()).ends_with(b"\xffend"));
    let numbers: Vec<u64> = entries.iter().map(|entry| entry["sequence"].as_u64().unwrap()).collect();
    assert!(numbers[0] > 1 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}
