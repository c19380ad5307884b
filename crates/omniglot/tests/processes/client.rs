//! Processes by the typed client.

use futures_util::StreamExt as _;
use omniglot_client::ProcessLogsQuery;
use omniglot_schema::{
    ProcessConfig, ProcessCreateRequest, ProcessInputRequest, ProcessLogEntry, ProcessLogsStream,
    ProcessRunRequest, ProcessState, ProcessTerminalSize,
};

use super::support::daemon;

const LIMITED: ProcessLogsQuery =
    ProcessLogsQuery { stream: Some(ProcessLogsStream::Stdout), since: Some(0), tail: Some(1) };

fn create(script: &str, tty: bool) -> ProcessCreateRequest {
    let request = serde_json::json!({ "command": "sh", "args": ["-c", script], "tty": tty });
    serde_json::from_value(request).unwrap()
}

#[tokio::test]
async fn the_typed_client_runs_starts_feeds_and_ends_processes() {
    let daemon = daemon();
    let client = &daemon.client;
    let run: ProcessRunRequest =
        serde_json::from_value(serde_json::json!({ "command": "sh", "args": ["-c", "echo out; exit 3"] }))
            .unwrap();
    let ran = client.run_process(&run).await.unwrap();
    assert_eq!((ran.stdout.as_str(), ran.exit_code), ("out\n", Some(3)));

    let started =
        client.start_process(&create("read line; echo got $line; exec sleep 600", false)).await.unwrap();
    let id = started.id.as_str();
    let input = ProcessInputRequest { data: "word\n".into(), encoding: Some("utf8".into()) };
    assert_eq!(client.process_input(id, &input).await.unwrap().bytes_written, 5);
    let mut frames = client.follow_process_logs(id, LIMITED).await.unwrap();
    let frame = loop {
        let frame = frames.next().await.unwrap().unwrap();
        if frame.event == "log" {
            break frame;
        }
    };
    let entry: ProcessLogEntry = serde_json::from_str(&frame.data).unwrap();
    let logs = client.process_logs(id, LIMITED).await.unwrap();
    assert_eq!((logs.stream, logs.entries), (ProcessLogsStream::Stdout, vec![entry]));
    let listed: Vec<_> = client.list_processes().await.unwrap().into_iter().map(|info| info.id).collect();
    assert_eq!(listed, [id]);

    assert_eq!(client.stop_process(id, Some(60_000)).await.unwrap().status, ProcessState::Exited);
    assert_eq!(client.process(id).await.unwrap().status, ProcessState::Exited);
    client.delete_process(id).await.unwrap();
    assert!(client.process(id).await.is_err());
}

#[tokio::test]
async fn the_typed_client_sizes_terminals_and_sets_limits() {
    let daemon = daemon();
    let client = &daemon.client;
    let id = client.start_process(&create("exec sleep 600", true)).await.unwrap().id;
    let size = ProcessTerminalSize { cols: 100, rows: 30 };
    assert_eq!(client.resize_process(&id, size).await.unwrap(), size);
    assert_eq!(client.kill_process(&id, Some(60_000)).await.unwrap().status, ProcessState::Exited);

    let limits = client.process_config().await.unwrap();
    let fewer = ProcessConfig { max_concurrent_processes: 1, ..limits };
    assert_eq!(client.set_process_config(&fewer).await.unwrap(), fewer);
    assert_eq!(client.process_config().await.unwrap(), fewer);
}
