//! `omniglot.toml` with real daemons: an agent in three lines, precedence of values, the example in the docs.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "cli/harness.rs"]
#[expect(dead_code, reason = "shared with the other tests of the binary")]
mod harness;

use harness::{Finished, Harness};
use omniglot_schema::{CreateSessionRequest, PermissionReply, StopReason};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::SessionDriver;

const PROGRAM: &str = env!("CARGO_BIN_EXE_omniglot");
const PAGE: &str = include_str!("../../../docs/CONFIG.md");

/// An ACP agent that the registry does not know.
const SHELL_AGENT: &str = r#"
while read -r line; do
    id=$(printf '%s\n' "$line" | sed -n 's/^[^{]*{[^{]*"id":\([0-9]*\).*/\1/p')
    case "$line" in
        *'"method":"initialize"'*)
            printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{}}}\n' "$id" ;;
        *'"method":"session/new"'*)
            printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"}}\n' "$id" ;;
        *'"method":"session/prompt"'*)
            printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
            printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$HELLO"
            printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id" ;;
    esac
done
"#;

fn config(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(&[&["config"], args].concat()))
}

#[tokio::test]
async fn an_unlisted_agent_needs_three_lines_and_no_code() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("agent.sh");
    std::fs::write(&script, SHELL_AGENT).unwrap();
    let lines = format!("[agents.shelly]\ncommand = [\"sh\", {script:?}]\nenv = {{ HELLO = \"moin\" }}\n");
    assert_eq!(lines.lines().count(), 3);
    let daemon = Setup::new(PROGRAM).config(lines).start();
    let session =
        SessionDriver::create_with(&daemon.client, "greeted", &CreateSessionRequest::new("shelly")).await;
    let turn = session.turn("hello", PermissionReply::Reject).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("moin", StopReason::EndTurn));
    session.history().await;
}

#[test]
fn the_examples_of_the_page_are_right() {
    let harness = Harness::new();
    let examples: Vec<&str> =
        PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 2);
    let tls = omniglot_testkit::tls::TlsFiles::default();
    for (file, name) in [("cert.pem", "box.pem"), ("key.pem", "box.key")] {
        std::fs::copy(tls.path(file), harness.data_dir().join(name)).unwrap();
    }
    for example in &examples {
        harness.configure(example);
        let checked = config(&harness, &["check"]);
        assert!(checked.exited(0).stdout.contains("is right: 1 agent, default agent mock"), "{checked:?}");
    }
    let shown = config(&harness, &["show"]);
    let shown = &shown.exited(0).stdout;
    for line in shown.lines().filter(|line| line.contains(" = ") && line.contains("  # ")) {
        assert!(line.ends_with("  # omniglot.toml"), "the page misses a key: {line}");
    }
    assert!(shown.contains("env = { GEMINI_API_KEY = \"***\" }"), "{shown}");
    assert!(!shown.contains("\"secret\""), "{shown}");
    assert_eq!(config(&harness, &["check", "/no/such.toml"]).exited(2).stdout, "");
    assert_eq!(config(&harness, &["check", "--config", "/no/such.toml"]).exited(2).stdout, "");
}

#[test]
fn show_tells_where_each_value_comes_from() {
    let harness = Harness::new();
    harness.configure("listen = \"127.0.0.1:1\"\nsandbox = true\n[limits]\nlive_agents = 3\n");
    let mut command = harness.command(&["config", "show"]);
    let shown =
        Finished::of(command.env("OMNIGLOT_LISTEN", "localhost:7").env("OMNIGLOT_TOKEN", "hush-hush"));
    let shown = &shown.exited(0).stdout;
    for line in [
        "listen = \"127.0.0.1:7\"  # OMNIGLOT_LISTEN",
        "# token_file does not count: OMNIGLOT_TOKEN is set",
        "sandbox = true  # omniglot.toml",
        "live_agents = 3  # omniglot.toml",
        "idle_seconds = 600  # default",
        "# raw_days is not set: no limit",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} is not in\n{shown}");
    }
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn options_win_over_variables_and_variables_over_the_file() {
    let harness = Harness::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    harness.configure(&format!("listen = \"{taken}\"\ntoken_file = \"mine\"\n"));
    let refused = |finished: Finished| finished.exited(1).stderr.contains(&taken);
    let data = harness.data_dir();
    std::fs::write(data.join("mine"), "from-the-file\n").unwrap();
    assert!(refused(Finished::of(&mut harness.command(&["serve"]))), "the file says where");

    harness.configure("listen = \"127.0.0.1:0\"\ntoken_file = \"mine\"\n");
    let mut command = harness.command(&["serve"]);
    assert!(refused(Finished::of(command.env("OMNIGLOT_LISTEN", &taken))), "the variable wins");

    let daemon = harness.serve(&["--host", "127.0.0.1"]);
    let token = data.join("mine");
    assert!(daemon.line().contains(&format!("token in {}", token.display())), "{}", daemon.line());
    harness.run(&["[[text]]"]).exited(0);
    daemon.stop().exited(0);
    // The final check looks for the token in its default file.
    harness.configure("");
}

#[test]
fn hosts_and_origins_that_could_never_match_are_refused_at_their_place() {
    let harness = Harness::new();
    harness
        .configure("allow_hosts = [\"box\"]\nallow_origins = [\n  \"https://a.example.com\",\n  \"*\",\n]\n");
    for command in [&["serve", "--port", "0"][..], &["config", "check"], &["config", "show"]] {
        let refused = Finished::of(&mut harness.command(command));
        let said = "omniglot.toml:4:3: there are no wildcards; name each one";
        assert!(refused.exited(2).stderr.contains(said), "{refused:?}");
    }
}

#[test]
fn a_run_beside_a_daemon_says_that_its_configuration_does_not_count() {
    let harness = Harness::new();
    let other = harness.data_dir().join("other.toml");
    std::fs::write(&other, "").unwrap();
    let other = other.to_str().unwrap();
    let daemon = harness.serve(&[]);
    let run = harness.run(&["--config", other, "[[text]]"]);
    let said =
        format!("a daemon serves {} already, with its own configuration", harness.data_dir().display());
    assert!(run.exited(0).stderr.contains(&said), "{run:?}");
    let run = harness.run(&["[[text]]"]);
    assert!(!run.exited(0).stderr.contains("its own configuration"), "{run:?}");
    daemon.stop().exited(0);
    let alone = harness.run(&["--config", other, "[[text]]"]);
    assert!(!alone.exited(0).stderr.contains("its own configuration"), "{alone:?}");
}

/// B18: no file is no mistake.
#[test]
fn b18_without_a_file_the_defaults_hold() {
    let checked = config(&Harness::new(), &["check"]);
    let said = &checked.exited(0).stdout;
    assert!(
        said.starts_with("there is no /") && said.ends_with("the defaults hold, default agent mock\n"),
        "{said}"
    );
}
