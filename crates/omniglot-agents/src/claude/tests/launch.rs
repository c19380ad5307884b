//! How the CLI is started and opened.

use indexmap::IndexMap;
use omniglot_schema::{McpCommand, McpServerConfig, StderrOutput, SystemPrompt};

use super::{Harness, INITIALIZED};
use crate::claude::launch::{START, launch};
use crate::contract::{Carryover, Command, Input, Open, SettingsRequest};
use crate::launch::LaunchSpec;

fn args(open: &Open) -> String {
    let spec = launch(&START.spec().unwrap(), open);
    let protocol = spec.args.iter().position(|arg| arg == "stdio").unwrap();
    spec.args[protocol + 1..].join(" ")
}

fn open() -> Open {
    Open { cwd: "/w".into(), new_id: "NEW".into(), ..Open::default() }
}

#[test]
fn a_resumed_session_is_told_its_model_again() {
    let requested = SettingsRequest {
        model: Some("sonnet[1m]".into()),
        variant: Some("high".into()),
        ..SettingsRequest::default()
    };
    assert_eq!(args(&open()), "--session-id NEW");
    let old = Open { resume: Some("OLD".into()), requested, ..open() };
    assert_eq!(args(&old), "--resume OLD --model sonnet[1m] --effort high");
    let requested = SettingsRequest { model: Some("default".into()), ..SettingsRequest::default() };
    assert_eq!(args(&Open { requested, ..old }), "--resume OLD --model default");
    assert_eq!(
        args(&Open { fork: true, ..Open { resume: Some("OLD".into()), ..open() } }),
        "--resume OLD --fork-session --session-id NEW"
    );
}

#[test]
fn instructions_tools_and_the_limit_of_turns_are_named_again_when_a_session_is_resumed() {
    let resume = Some("OLD".to_owned());
    let given =
        |prompt: SystemPrompt| args(&Open { system_prompt: Some(prompt), resume: resume.clone(), ..open() });
    assert_eq!(
        given(SystemPrompt::Append("Be brief.".into())),
        "--resume OLD --append-system-prompt Be brief."
    );
    assert_eq!(given(SystemPrompt::Replace("Be brief.".into())), "--resume OLD --system-prompt Be brief.");
    let tools = |tools: &[&str]| Some(tools.iter().map(|tool| (*tool).to_owned()).collect());
    let limited = Open {
        allowed_tools: tools(&["Bash(git *)", "Read"]),
        max_turns: std::num::NonZeroU32::new(2),
        ..open()
    };
    assert_eq!(args(&limited), "--session-id NEW --allowedTools=Bash(git *),Read --max-turns 2");
    assert_eq!(args(&Open { allowed_tools: tools(&[]), ..open() }), "--session-id NEW");
}

#[test]
fn modes_go_by_the_clis_own_names() {
    let mode = |agent: Option<&str>, permission: Option<&str>| {
        let requested = SettingsRequest {
            agent_mode: agent.map(str::to_owned),
            permission_mode: permission.map(str::to_owned),
            ..SettingsRequest::default()
        };
        args(&Open { requested, ..open() }).replace("--session-id NEW", "").trim().to_owned()
    };
    assert_eq!(mode(None, Some("bypass")), "--permission-mode bypassPermissions");
    assert_eq!(mode(Some("plan"), Some("default")), "--permission-mode plan");
    assert_eq!(mode(Some("build"), None), "");
    assert_eq!(mode(None, Some("nonsense")), "");
}

#[test]
fn permissions_may_be_skipped_later_unless_the_cli_runs_as_root_outside_of_a_sandbox() {
    let mut base = START.spec().unwrap();
    let allows = |base: &LaunchSpec, open: &Open| {
        launch(base, open).args.iter().any(|arg| arg == "--allow-dangerously-skip-permissions")
    };
    let unprivileged = Open { unprivileged: true, ..open() };
    assert!(allows(&base, &unprivileged) && !allows(&base, &open()));
    base.env.insert("IS_SANDBOX".to_owned(), "1".to_owned());
    assert!(allows(&base, &open()));
}

#[test]
fn a_mode_that_the_cli_refuses_is_explained() {
    let mut harness = Harness::ready();
    let requested = SettingsRequest { permission_mode: Some("bypass".into()), ..SettingsRequest::default() };
    harness.command(&Command::Configure(requested)).said();
    harness.hear(r#"{"type":"control_response","response":{"subtype":"error","request_id":"omniglot-2","error":"Cannot set permission mode to bypassPermissions","error_code":"bypass_not_launched"}}"#);
    insta::assert_snapshot!(harness.said(), @r#"refused BadMode Cannot set permission mode to bypassPermissions "Claude Code skips no permissions as root: in a sandbox set `sandbox = true` in omniglot.toml, or run the daemon as another user""#);
}

fn opened(open: Open) -> Harness {
    let mut harness = Harness::default();
    harness.step(Input::Started { argv: &["claude".into()], carryover: &Carryover::default() });
    harness.command(&Command::Open(open));
    harness
}

#[test]
fn secrets_of_mcp_servers_are_neither_on_the_command_line_nor_shown() {
    let server = McpServerConfig::Local {
        command: McpCommand::Program("server".into()),
        args: vec![],
        cwd: None,
        env: Some(IndexMap::from([("KEY".to_owned(), "hush".to_owned())])),
        enabled: None,
        timeout_ms: None,
    };
    let open = Open { mcp: IndexMap::from([("demo".to_owned(), server)]), ..open() };
    assert_eq!(args(&open), "--session-id NEW --strict-mcp-config");
    let mut harness = opened(open);
    harness.said();
    harness.hear(INITIALIZED);
    insta::assert_snapshot!(harness.said(), @r#"send {"type":"control_request","request_id":"omniglot-2","request":{"subtype":"mcp_set_servers","servers":{"demo":{"type":"stdio","command":"server","args":[],"env":{"KEY":"***"}}}}}"#);
    harness.hear(r#"{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-2","response":{"added":["demo"],"removed":[],"errors":{"other":"gone"}}}}"#);
    let said = harness.said();
    assert!(said.starts_with("session "), "{said}");
    assert!(said.contains("the MCP server other: gone"), "{said}");
}

#[test]
fn what_the_handshake_tells_is_the_sessions_state() {
    let mut harness = opened(open());
    insta::assert_snapshot!(harness.said(), @r#"send {"type":"control_request","request_id":"omniglot-1","request":{"subtype":"initialize","forwardSubagentText":true}}"#);
    harness.hear(INITIALIZED);
    insta::assert_snapshot!(harness.said(), @r#"
    session null version="2.1.325" resume=null
    state {"agent_mode":"build","permission_mode":"default","commands":[],"modes":[{"id":"build","name":"Build","description":"Works, and asks according to the permission mode"},{"id":"plan","name":"Plan","description":"Reads and plans, and changes nothing until the plan is approved"}],"models":[{"id":"default","variants":["low","high"]},{"id":"haiku"}],"auth":{"state":"ready","methods":[{"id":"api_key","name":"set ANTHROPIC_API_KEY"},{"id":"login","name":"run `claude /login` in a terminal"}]}}
    "#);
}

#[test]
fn a_session_that_is_gone_is_refused_as_forgotten() {
    let mut harness = Harness::default();
    harness.step(Input::Started {
        argv: &["claude".into(), "--resume".into(), "OLD".into()],
        carryover: &Carryover::default(),
    });
    harness.command(&Command::Open(Open { resume: Some("OLD".into()), ..open() }));
    harness.said();
    harness.hear(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: OLD"]}"#);
    insta::assert_snapshot!(harness.said(), @"refused Forgotten No conversation found with session ID: OLD null");
}

#[test]
fn bypass_as_root_is_explained() {
    let mut harness = opened(open());
    harness.said();
    let head = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
    let stderr = StderrOutput { head: Some(head.into()), ..StderrOutput::default() };
    harness.step(Input::Exited { code: Some(1), signal: None, stderr: &stderr });
    insta::assert_snapshot!(harness.said(), @r#"refused Privileged Claude Code does not skip permissions as root, unless it is told that it runs in a sandbox "choose another permission mode; or, in a sandbox, set sandbox = true""#);
}

#[test]
fn an_unknown_effort_or_mode_refuses_the_session() {
    let requested = |variant: Option<&str>, mode: Option<&str>| SettingsRequest {
        variant: variant.map(str::to_owned),
        permission_mode: mode.map(str::to_owned),
        ..SettingsRequest::default()
    };
    insta::assert_snapshot!(opened(Open { requested: requested(None, Some("wild")), ..open() }).said(), @r#"refused BadMode Claude Code has no mode wild; its modes are build, default, acceptEdits, plan, bypass, dontAsk, auto "use one of: default, acceptEdits, plan, bypass, dontAsk, auto""#);
    let mut harness = opened(Open { requested: requested(Some("wild"), None), ..open() });
    harness.said();
    insta::assert_snapshot!(harness.hear(INITIALIZED).said(), @r#"refused BadMode the model default has no effort wild; its efforts are low, high "use one of: low, high""#);
}

#[test]
fn the_account_of_the_handshake_says_whether_somebody_has_to_log_in() {
    let state_of = |account: &str, lacks_credentials: bool| {
        let mut harness = opened(Open { lacks_credentials, ..open() });
        harness.hear(&format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"omniglot-1","response":{{"account":{account}}}}}}}"#
        ));
        let said = harness.said();
        let state = said.lines().find_map(|line| line.strip_prefix("state ")).unwrap();
        let state: serde_json::Value = serde_json::from_str(state).unwrap();
        state["auth"]["state"].as_str().unwrap().to_owned()
    };
    let state = |account: &str| state_of(account, false);
    let own = r#""apiProvider":"firstParty""#;
    assert_eq!(state(&format!(r#"{{"tokenSource":"none",{own}}}"#)), "required");
    assert_eq!(
        state(&format!(r#"{{"tokenSource":"none","apiKeySource":"ANTHROPIC_API_KEY",{own}}}"#)),
        "ready"
    );
    assert_eq!(state(&format!(r#"{{"tokenSource":"CLAUDE_CODE_OAUTH_TOKEN",{own}}}"#)), "ready");
    assert_eq!(state(&format!(r#"{{"subscriptionType":"Claude API",{own}}}"#)), "ready");
    assert_eq!(state(r#"{"apiProvider":"bedrock"}"#), "ready");
    assert_eq!(state("{}"), "unknown");
    assert_eq!(state_of("{}", true), "required");
    assert_eq!(state_of(r#"{"tokenSource":"keychain"}"#, true), "ready");
}
