//! Commands that are run to their end.

use omniglot_testkit::daemon::wait_gone;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{daemon, get, post, post_refused, request, shell};

#[tokio::test]
async fn a_command_is_run_and_tells_its_output_and_its_end() {
    let daemon = daemon();
    let mut wanted = shell("pwd; echo \"$A $OMNIGLOT_HOME.\"; echo oops >&2; cat; exit 3");
    wanted["env"] = json!({ "A": "b" });
    let ran = post(&daemon, "/run", wanted).await;
    let work = daemon.work().canonicalize().unwrap();
    assert_eq!(ran["stdout"], format!("{}\nb .\n", work.display()), "{ran}");
    assert_eq!(ran["stderr"], "oops\n");
    assert_eq!(ran["exitCode"], 3);
    for flag in ["timedOut", "stdoutTruncated", "stderrTruncated"] {
        assert_eq!(ran[flag], false, "{flag}");
    }
    assert!(ran["durationMs"].is_u64());
    let killed = post(&daemon, "/run", shell("kill -9 $$")).await;
    assert_eq!((&killed["exitCode"], &killed["timedOut"]), (&Value::Null, &json!(false)));
    let here = post(&daemon, "/run", json!({ "command": "pwd", "cwd": "/" })).await;
    assert_eq!(here["stdout"], "/\n");
    assert_eq!(get(&daemon, "").await["processes"], json!([]), "it is not listed");
}

#[tokio::test]
async fn a_command_whose_time_is_over_is_killed_with_its_whole_tree() {
    let daemon = daemon();
    let script = "setsid sleep 1000 & echo $!; sleep 1000 & echo $!; echo $$; trap '' TERM; wait";
    let mut wanted = shell(script);
    wanted["timeoutMs"] = json!(2000);
    let ran = post(&daemon, "/run", wanted).await;
    assert_eq!((&ran["timedOut"], &ran["exitCode"]), (&json!(true), &Value::Null), "{ran}");
    let pids: Vec<u32> = ran["stdout"].as_str().unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3);
    pids.into_iter().for_each(wait_gone);
    let mut wanted = shell("true");
    wanted["timeoutMs"] = json!(0);
    post_refused(&daemon, "/run", wanted, 400, "invalid_request").await;
}

#[tokio::test]
async fn a_command_ends_when_its_client_hangs_up() {
    let daemon = daemon();
    let (pid_file, mut wanted) = (daemon.work().join("pid"), shell("echo $$ > pid; exec sleep 1000"));
    wanted["timeoutMs"] = json!(300_000);
    let call = tokio::spawn(request(&daemon, Method::POST, "/run").json(&wanted).send());
    let pid = loop {
        if let Ok(pid) = std::fs::read_to_string(&pid_file).unwrap_or_default().trim().parse() {
            break pid;
        }
        tokio::task::yield_now().await;
    };
    call.abort();
    tokio::task::spawn_blocking(move || wait_gone(pid)).await.unwrap();
}

#[tokio::test]
async fn long_output_is_truncated_and_bytes_that_are_no_text_are_replaced() {
    let daemon = daemon();
    let long = post(&daemon, "/run", shell("head -c 3000000 /dev/zero | tr '\\0' x; echo e >&2")).await;
    assert_eq!(long["stdout"].as_str().unwrap().len(), 1024 * 1024);
    assert_eq!((&long["stdoutTruncated"], &long["stderrTruncated"]), (&json!(true), &json!(false)));
    assert_eq!((&long["exitCode"], &long["stderr"]), (&json!(0), &json!("e\n")));
    let mut wanted = shell("printf 12345; printf 123456 >&2");
    wanted["maxOutputBytes"] = json!(5);
    let short = post(&daemon, "/run", wanted).await;
    assert_eq!((&short["stdout"], &short["stderr"]), (&json!("12345"), &json!("12345")));
    assert_eq!((&short["stdoutTruncated"], &short["stderrTruncated"]), (&json!(false), &json!(true)));
    let strange = post(&daemon, "/run", shell("printf 'a\\377b'")).await;
    assert_eq!(strange["stdout"], "a\u{fffd}b");
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_with_the_reason() {
    let daemon = daemon();
    std::fs::write(daemon.work().join("plain"), "no program").unwrap();
    for path in ["/run", ""] {
        let refused = |body: Value| post_refused(&daemon, path, body, 400, "invalid_request");
        let missing = refused(json!({ "command": "no-such-program" })).await;
        assert_eq!(missing["detail"], "program not found: no-such-program");
        let missing = refused(json!({ "command": "true", "cwd": "no/such" })).await;
        assert!(missing["detail"].as_str().unwrap().starts_with("`cwd` is no directory"), "{missing}");
        refused(json!({ "command": "" })).await;
        refused(json!({ "command": "true", "args": ["a\0b"] })).await;
        refused(json!({ "command": "true", "env": { "A=B": "c" } })).await;
        refused(json!({ "command": "true", "commnad": "x" })).await;
        refused(json!({ "command": "./plain" })).await;
    }
    assert_eq!(get(&daemon, "").await["processes"], json!([]));
}

#[tokio::test]
async fn the_limits_are_told_and_can_be_changed_within_bounds() {
    let daemon = daemon();
    let limits = json!({
        "maxConcurrentProcesses": 64, "defaultRunTimeoutMs": 30_000, "maxRunTimeoutMs": 300_000,
        "maxOutputBytes": 1_048_576, "maxLogBytesPerProcess": 10_485_760, "maxInputBytesPerRequest": 65_536,
    });
    assert_eq!(get(&daemon, "/config").await, limits);
    let mut wanted = limits.clone();
    wanted["maxRunTimeoutMs"] = json!(1000);
    wanted["maxOutputBytes"] = json!(3);
    let mut expected = wanted.clone();
    expected["defaultRunTimeoutMs"] = json!(1000);
    assert_eq!(post(&daemon, "/config", wanted).await, expected);
    assert_eq!(get(&daemon, "/config").await, expected);
    let mut wanted = shell("echo hello; exec sleep 1000");
    (wanted["timeoutMs"], wanted["maxOutputBytes"]) = (json!(1_000_000), json!(1_000_000));
    let ran = post(&daemon, "/run", wanted).await;
    assert_eq!((&ran["timedOut"], &ran["stdout"]), (&json!(true), &json!("hel")), "{ran}");
    for (name, wrong) in [("maxConcurrentProcesses", 0_u64), ("maxInputBytesPerRequest", 1 << 30)] {
        let mut wanted = limits.clone();
        wanted[name] = json!(wrong);
        let problem = post_refused(&daemon, "/config", wanted, 400, "invalid_request").await;
        assert!(problem["detail"].as_str().unwrap().contains(name), "{problem}");
    }
    assert_eq!(get(&daemon, "/config").await, expected);
}
