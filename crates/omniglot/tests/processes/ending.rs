//! The end of processes: by a signal, by the daemon's end, and how many there may be.

use omniglot_testkit::daemon::{Daemon, is_alive, wait_gone};
use reqwest::Method;
use serde_json::json;

use super::support::{
    Follower, daemon, get, post, post_refused, refused, request, said, shell, start, start_in_terminal, text,
};

/// A tree whose members leave group and session, and ignore signals; each tells its number.
const TREE: &str = "setsid sh -c 'trap \"\" TERM HUP; echo $$; sleep 1000 & echo $!; wait' & \
    sleep 1000 & echo $!; echo $$; wait";

/// Starts such a tree; returns its id and the numbers of its four processes.
async fn tree(daemon: &Daemon) -> (String, Vec<u32>) {
    let id = start(daemon, shell(TREE)).await;
    let mut follower = Follower::open(daemon, &id, "").await;
    let mut entries = vec![];
    while text(&entries).lines().count() < 4 {
        entries.push(follower.next().await.unwrap());
    }
    (id, text(&entries).lines().map(|line| line.parse().unwrap()).collect())
}

#[tokio::test]
async fn a_stopped_or_killed_process_takes_its_whole_tree_along() {
    let daemon = daemon();
    for how in ["stop", "kill"] {
        let (id, pids) = tree(&daemon).await;
        assert_eq!(pids.len(), 4, "{pids:?}");
        refused(request(&daemon, Method::DELETE, &format!("/{id}")), 409, "conflict").await;
        let info = post(&daemon, &format!("/{id}/{how}?waitMs=20000"), json!({})).await;
        assert_eq!((&info["status"], info.get("exitCode")), (&json!("exited"), None), "{info}");
        for pid in pids {
            assert!(!is_alive(pid), "{how} left {pid}");
        }
        let again = post(&daemon, &format!("/{id}/{how}"), json!({})).await;
        assert_eq!(again, info, "one that has exited stays as it is");
        let delete = || request(&daemon, Method::DELETE, &format!("/{id}"));
        assert_eq!(delete().send().await.unwrap().status(), 204);
        refused(delete(), 404, "not_found").await;
    }
    for id in ["proc_99", "proc_01", "x", "proc_"] {
        refused(request(&daemon, Method::GET, &format!("/{id}")), 404, "not_found").await;
    }
}

#[tokio::test]
async fn a_process_that_ignores_a_stop_runs_on_until_it_is_killed() {
    let daemon = daemon();
    let id = start(&daemon, shell("trap '' TERM; echo ready; while :; do sleep 0.1; done")).await;
    said(&daemon, &id, "ready").await;
    let stopped = post(&daemon, &format!("/{id}/stop?waitMs=100"), json!({})).await;
    assert_eq!(stopped["status"], "running");
    let killed = post(&daemon, &format!("/{id}/kill?waitMs=20000"), json!({})).await;
    assert_eq!(killed["status"], "exited");
}

#[tokio::test]
async fn there_are_no_more_processes_than_the_limit() {
    let daemon = daemon();
    let sleeper = || json!({ "command": "sleep", "args": ["1000"] });
    let mut limits = get(&daemon, "/config").await;
    limits["maxConcurrentProcesses"] = json!(8);
    post(&daemon, "/config", limits).await;
    for _ in 0..8 {
        start(&daemon, sleeper()).await;
    }
    for path in ["", "/run"] {
        post_refused(&daemon, path, sleeper(), 429, "overloaded").await;
    }
    let first = get(&daemon, "").await["processes"][0]["id"].as_str().unwrap().to_owned();
    post(&daemon, &format!("/{first}/kill?waitMs=20000"), json!({})).await;
    start(&daemon, sleeper()).await;
    post_refused(&daemon, "", sleeper(), 429, "overloaded").await;
}

#[tokio::test]
async fn sixty_four_processes_run_at_once_and_no_more() {
    let daemon = daemon();
    let sleeper = || json!({ "command": "sleep", "args": ["1000"] });
    for _ in 0..64 {
        start(&daemon, sleeper()).await;
    }
    post_refused(&daemon, "", sleeper(), 429, "overloaded").await;
}

#[tokio::test]
async fn no_process_survives_a_daemon_that_is_killed() {
    let mut daemon = daemon();
    let (_, mut pids) = tree(&daemon).await;
    let id = start_in_terminal(&daemon, "setsid sleep 1000 & echo $! $$ ready; wait").await;
    let output = said(&daemon, &id, "ready").await;
    pids.extend(output.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    assert_eq!(pids.len(), 6);
    pids.extend(daemon.descendants());
    daemon.kill();
    pids.into_iter().for_each(wait_gone);
}

#[tokio::test]
async fn a_daemon_that_stops_ends_its_processes_and_those_who_wait_for_them() {
    let mut daemon = daemon();
    let (_, mut pids) = tree(&daemon).await;
    let id = start(&daemon, shell("trap 'echo bye > bye; exit 0' TERM; echo ready; sleep 1000 & wait")).await;
    said(&daemon, &id, "ready").await;
    let mut wanted = shell("echo $$ > pid; exec sleep 1000");
    wanted["timeoutMs"] = json!(300_000);
    let run = tokio::spawn(request(&daemon, Method::POST, "/run").json(&wanted).send());
    let pid_file = daemon.work().join("pid");
    while !std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n')) {
        tokio::task::yield_now().await;
    }
    pids.extend(daemon.descendants());
    let work = daemon.work();
    let daemon = tokio::task::spawn_blocking(move || {
        daemon.stop();
        daemon
    });
    assert_eq!(run.await.unwrap().unwrap().status(), 503);
    let _daemon = daemon.await.unwrap();
    assert!(work.join("bye").exists(), "it was asked to stop first");
    pids.into_iter().for_each(wait_gone);
}
