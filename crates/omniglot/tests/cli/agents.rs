//! `omniglot agents`: the list, and a doctor for each way in which an agent may fail.

use omniglot_schema::{AgentCheck, AgentInfo, AgentSource, FindingKind};

use super::harness::{Finished, Harness};
use omniglot_testkit::fake_npm::FakeNpm;

const HELLO: &str = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"odd","version":"3.1.4"},"authMethods":[{"id":"k","name":"Example account","description":"Run `odd login`"}]}}'
"#;

const LOGGED_OUT: &str = r#"read l; echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}'; read l"#;

fn agents(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(&[&["agents"], args].concat()))
}

/// A place where the agent `odd` runs `script`.
fn odd(script: &str) -> Harness {
    let harness = Harness::new();
    let command = serde_json::to_string(script).unwrap();
    harness.configure(&format!(
        "[limits]\nhandshake_seconds = 1\n[agents.odd]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n"
    ));
    harness
}

/// Returns the one problem of the agent `odd`, by its kind and as printed text.
#[track_caller]
fn problem(harness: &Harness) -> (AgentCheck, String) {
    let check: AgentCheck =
        serde_json::from_str(&agents(harness, &["doctor", "odd", "--json"]).exited(1).stdout).unwrap();
    assert_eq!(check.findings.iter().filter(|finding| finding.problem).count(), 1, "{check:?}");
    assert!(!check.healthy);
    let readable = agents(harness, &["doctor", "odd"]).exited(1).stdout.clone();
    assert!(readable.ends_with("\nit does not work yet\n"), "{readable}");
    (check, readable)
}

#[test]
fn agents_are_listed_with_where_they_come_from() {
    let harness = odd("true");
    let listed = agents(&harness, &["list"]);
    let rows: Vec<Vec<&str>> =
        listed.exited(0).stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["ID", "INSTALLED", "VERSION", "LOGIN", "FROM", "PATH"]);
    let row = |id: &str| rows.iter().find(|row| row[0] == id).unwrap();
    assert_eq!((row("mock")[1], row("mock")[4]), ("yes", "built-in"));
    assert_eq!((row("odd")[1], row("odd")[4]), ("yes", "configured"));
    let json = agents(&harness, &["list", "--json"]);
    let infos: Vec<AgentInfo> =
        json.exited(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(infos.iter().find(|info| info.id == "odd").unwrap().source, Some(AgentSource::Configured));
}

#[test]
fn a_healthy_agent_tells_what_it_offers() {
    let harness = Harness::new();
    let doctor = agents(&harness, &["doctor", "mock"]);
    for words in ["✓ installed", "✓ answers", "mock-small (default), mock-large", "plan", "\nit works\n"]
    {
        assert!(doctor.exited(0).stdout.contains(words), "{words:?}: {doctor:?}");
    }
    assert!(doctor.stderr.contains("`omniglot run --agent mock"), "{doctor:?}");
    let check: AgentCheck =
        serde_json::from_str(&agents(&harness, &["doctor", "mock", "--json"]).exited(0).stdout).unwrap();
    assert!(check.healthy && check.findings.is_empty() && check.agent.version.is_some(), "{check:?}");
}

#[test]
fn an_agent_that_nobody_knows_is_a_mistake_of_use() {
    let doctor = agents(&Harness::new(), &["doctor", "nobody"]);
    assert!(doctor.exited(2).stderr.contains("omniglot agents list"), "{doctor:?}");
}

#[test]
fn a_missing_program_is_told_with_what_to_do() {
    let harness = Harness::new();
    harness.configure("[agents.odd]\nprotocol = \"acp\"\ncommand = [\"no-such-program\", \"--acp\"]\n");
    let (check, readable) = problem(&harness);
    assert_eq!(check.findings[0].kind, FindingKind::NotInstalled);
    assert!(readable.contains("✗ missing") && readable.contains("no-such-program"), "{readable}");
    assert!(readable.contains("→ install the program, or set `command` under [agents.odd]"), "{readable}");
}

#[test]
fn an_agent_that_wants_a_login_tells_the_ways() {
    let harness = odd(&format!("{HELLO}{LOGGED_OUT}"));
    let (check, readable) = problem(&harness);
    assert_eq!(check.findings[0].kind, FindingKind::LoggedOut);
    assert!(readable.contains("✗ logged out  Authentication required"), "{readable}");
    assert!(readable.contains("Example account"), "{readable}");
    assert!(!check.agent.credentials_available);
}

/// A17: a run names the same way out as the doctor.
#[test]
fn a_run_without_a_key_names_the_variable_that_is_missing() {
    let harness = Harness::new();
    let command = serde_json::to_string(&format!("{HELLO}{LOGGED_OUT}")).unwrap();
    harness.configure(&format!("[agents.gemini]\ncommand = [\"sh\", \"-c\", {command}]\n"));
    let run = harness.run(&["--agent", "gemini", "x"]);
    for words in ["agent gemini cannot work yet", "nothing was found in GEMINI_API_KEY"] {
        assert!(run.exited(1).stderr.contains(words), "{words}: {run:?}");
    }
}

#[test]
fn an_agent_that_exits_at_once_is_shown_with_its_last_words() {
    let harness = odd("echo 'cannot find module x' >&2; exit 7");
    let (check, readable) = problem(&harness);
    assert_eq!(check.findings[0].kind, FindingKind::Exited);
    assert!(readable.contains("✗ broken") && readable.contains("code 7"), "{readable}");
    assert!(readable.contains("│ cannot find module x"), "{readable}");
}

#[test]
fn a_silent_agent_is_told_with_how_long_it_had() {
    let harness = odd("echo 'waiting for a browser' >&2; exec sleep 600");
    let (check, readable) = problem(&harness);
    assert_eq!(check.findings[0].kind, FindingKind::Silent);
    assert!(readable.contains("✗ silent      it did not answer the handshake within 1 s"), "{readable}");
    assert!(
        readable.contains("│ waiting for a browser") && readable.contains("handshake_seconds"),
        "{readable}"
    );
}

#[test]
fn an_agent_that_speaks_something_else_is_quoted() {
    let harness = odd("echo 'Welcome to odd!'; echo 'Type your prompt:'; exec sleep 600");
    let (check, readable) = problem(&harness);
    let kinds: Vec<FindingKind> = check.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::Silent, FindingKind::NotUnderstood]);
    assert!(readable.contains("! strange     it wrote 2 lines to stdout"), "{readable}");
    assert!(readable.contains("Welcome to odd!"), "{readable}");
}

#[test]
fn lines_before_the_handshake_do_not_make_an_agent_unhealthy() {
    let open = r#"read l; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x"}}'; read l"#;
    let harness = odd(&format!("echo 'Welcome!'\n{HELLO}{open}"));
    let doctor = agents(&harness, &["doctor", "odd"]);
    assert!(doctor.exited(0).stdout.contains("✓ answers     3.1.4"), "{doctor:?}");
    assert!(doctor.stdout.ends_with("\nit works, but see above\n"), "{doctor:?}");
    assert!(doctor.stdout.contains("it offers Example account"), "{doctor:?}");
}

#[test]
fn an_agent_of_another_protocol_version_is_refused_with_the_reason() {
    let harness = odd(r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":9}}'; read l"#);
    let (check, readable) = problem(&harness);
    assert_eq!(check.findings[0].kind, FindingKind::Refused);
    assert!(readable.contains("ACP version 9"), "{readable}");
}

/// A17: what an agent says on stderr explains a refusal, too.
#[test]
fn an_agent_that_refuses_is_shown_with_its_stderr() {
    let refuse = r#"read l; echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}'; exit 1"#;
    let harness = odd(&format!("echo 'the licence has expired' >&2\n{HELLO}sleep 0.3; {refuse}"));
    let (check, readable) = problem(&harness);
    assert_eq!(check.findings[0].kind, FindingKind::Refused);
    assert!(readable.contains("│ the licence has expired"), "{readable}");
}

/// Runs a command where npm is the stand-in, and Claude Code what it has installed or put on the PATH.
fn agents_with(harness: &Harness, npm: &FakeNpm, args: &[&str]) -> Finished {
    Finished::of(harness.command(&[&["agents"], args].concat()).envs(npm.variables()))
}

/// Returns the row of Claude Code: whether it is installed, its version, its login.
#[track_caller]
fn listed(harness: &Harness, npm: &FakeNpm) -> Vec<String> {
    let list = agents_with(harness, npm, &["list"]);
    let row = list.exited(0).stdout.lines().find(|line| line.starts_with("claude ")).unwrap();
    row.split_whitespace().skip(1).take(3).map(str::to_owned).collect()
}

#[test]
fn an_agent_is_installed_and_then_listed_with_its_version() {
    let (harness, npm) = (Harness::new(), FakeNpm::default());
    assert_eq!(listed(&harness, &npm), ["no", "–", "–"]);
    let installed = agents_with(&harness, &npm, &["install", "claude"]);
    assert!(installed.exited(0).stdout.starts_with("claude 2.0.0 is installed: /"), "{installed:?}");
    assert!(installed.stderr.contains("installing claude"), "{installed:?}");
    assert_eq!(listed(&harness, &npm), ["yes", "2.0.0", "needed"]);
    let again = agents_with(&harness, &npm, &["install", "claude@2.0.0"]);
    assert!(again.exited(0).stdout.contains("is installed already"), "{again:?}");
    let older = agents_with(&harness, &npm, &["install", "claude@1.0.0", "--json"]);
    assert!(older.exited(0).stdout.contains("\"already_installed\":false"), "{older:?}");
    assert_eq!(listed(&harness, &npm)[1], "2.0.0");
}

#[test]
fn an_installation_that_cannot_be_meant_or_fails_says_why() {
    let (harness, npm) = (Harness::new(), FakeNpm::default());
    let failed =
        |what: &str, code| agents_with(&harness, &npm, &["install", what]).exited(code).stderr.clone();
    assert!(failed("nobody", 2).contains("omniglot agents list"));
    assert!(failed("claude@latest", 1).contains("not a plain version"));
    assert!(failed("claude@9.9.9", 1).contains("No matching version"));
    assert!(failed("goose", 1).contains("https://"));
}

#[test]
fn a_missing_login_makes_the_doctor_fail_and_say_what_to_do() {
    let (harness, npm) = (Harness::new(), FakeNpm::default());
    npm.on_path("1.0.0");
    assert_eq!(listed(&harness, &npm), ["yes", "1.0.0", "needed"]);
    let doctor = agents_with(&harness, &npm, &["doctor", "claude"]);
    for words in ["✗ logged out", "ANTHROPIC_API_KEY", "~/.claude/.credentials.json", "→ "] {
        assert!(doctor.exited(1).stdout.contains(words), "{words}: {doctor:?}");
    }
    assert!(doctor.stdout.ends_with("\nit does not work yet\n"), "{doctor:?}");
    let login = harness.data_dir().with_file_name("home").join(".claude");
    std::fs::create_dir(&login).unwrap();
    std::fs::write(login.join(".credentials.json"), "{\"secret\":\"hush\"}").unwrap();
    assert_eq!(listed(&harness, &npm), ["yes", "1.0.0", "yes"]);
    let doctor = agents_with(&harness, &npm, &["doctor", "claude"]);
    assert!(doctor.exited(0).stdout.ends_with("\nit works\n"), "{doctor:?}");
    assert!(!format!("{doctor:?}").contains("hush"));
}
