//! Which version is installed, told and used.

use super::*;

#[tokio::test]
async fn the_newest_installed_version_is_used_where_there_is_no_other_program() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    let before = claude(&daemon).await;
    assert!(!before.installed && !before.credentials_available && before.login.is_none(), "{before:?}");
    let installed = install(&daemon, &AgentInstallRequest::default()).await.unwrap();
    assert!(!installed.already_installed);
    let [artifact] = &installed.artifacts[..] else { panic!("{installed:?}") };
    assert_eq!((artifact.source.as_str(), artifact.version.as_deref()), ("npm", Some("2.0.0")));
    let after = claude(&daemon).await;
    assert_eq!(after.path.as_ref(), Some(&artifact.path));
    assert_eq!(
        (after.version.as_deref(), &after.installed_versions[..]),
        (Some("2.0.0"), &["2.0.0".into()][..])
    );
    assert_eq!(says(&daemon, "s", None).await, "I am 2.0.0.");
    // There is nothing more to do.
    assert!(install(&daemon, &AgentInstallRequest::default()).await.unwrap().already_installed);
    assert_eq!(npm.calls().len(), 2, "{:?}", npm.calls());
}

#[tokio::test]
async fn a_session_gets_the_version_that_it_asks_for_and_keeps_it() {
    let npm = FakeNpm::default();
    let mut daemon = daemon(&npm);
    for number in ["1.0.0", "1.1.0-rc.1"] {
        install(&daemon, &version(number)).await.unwrap();
    }
    assert_eq!(claude(&daemon).await.installed_versions, ["1.0.0", "1.1.0-rc.1"]);
    assert_eq!(says(&daemon, "old", Some("1.0.0")).await, "I am 1.0.0.");
    assert_eq!(says(&daemon, "new", Some("1.1.0-rc.1")).await, "I am 1.1.0-rc.1.");
    daemon.stop();
    let daemon = daemon.restart();
    let turn = SessionDriver::of(&daemon.client, "old").turn("And now?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "I am 1.0.0.");
}

#[tokio::test]
async fn the_program_on_the_search_path_is_used_unless_another_version_is_asked_for() {
    let npm = FakeNpm::default();
    let path = npm.on_path("0.9.0");
    let daemon = daemon(&npm);
    let there = install(&daemon, &AgentInstallRequest::default()).await.unwrap();
    assert!(there.already_installed);
    assert_eq!(
        (there.artifacts[0].source.as_str(), there.artifacts[0].version.as_deref()),
        ("path", Some("0.9.0"))
    );
    install(&daemon, &AgentInstallRequest { newest: Some(true), ..Default::default() }).await.unwrap();
    let info = claude(&daemon).await;
    assert_eq!((info.path.as_deref(), info.version.as_deref()), (path.to_str(), Some("0.9.0")));
    assert_eq!(says(&daemon, "plain", None).await, "I am 0.9.0.");
    assert_eq!(says(&daemon, "same", Some("0.9.0")).await, "I am 0.9.0.");
    assert_eq!(says(&daemon, "other", Some("2.0.0")).await, "I am 2.0.0.");
}

#[tokio::test]
async fn a_version_that_is_not_there_is_refused_with_the_way_to_install_it() {
    let npm = FakeNpm::default();
    npm.on_path("0.9.0");
    let daemon = daemon(&npm);
    let id = omniglot_testkit::session_driver::session_id("s");
    let refused = daemon.client.create(&id, &asks_for(Some("1.2.3"))).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!((problem.status, problem.agent.as_deref()), (404, Some("claude")));
    assert!(problem.r#type.ends_with(":agent_not_installed"), "{problem:?}");
    assert!(problem.detail.as_ref().unwrap().contains("0.9.0"), "{problem:?}");
    assert!(problem.hint.as_ref().unwrap().contains("omniglot agents install claude@1.2.3"), "{problem:?}");
    let bad = daemon.client.create(&id, &asks_for(Some("latest"))).await.unwrap_err();
    assert_eq!(bad.status(), Some(400));
}

#[tokio::test]
async fn a_program_is_run_once_to_learn_its_version() {
    let npm = FakeNpm::default();
    npm.on_path("0.9.0");
    let mut daemon = daemon(&npm);
    for _ in 0..2 {
        assert_eq!(claude(&daemon).await.version.as_deref(), Some("0.9.0"));
    }
    daemon.stop();
    let daemon = daemon.restart();
    // Also without waiting.
    let agents = daemon.client.agents().await.unwrap().agents;
    assert_eq!(agents.iter().find(|agent| agent.id == "claude").unwrap().version.as_deref(), Some("0.9.0"));
    assert_eq!(npm.runs(), 1);
    npm.on_path("0.10.0");
    assert_eq!(claude(&daemon).await.version.as_deref(), Some("0.10.0"));
}

#[tokio::test]
async fn a_version_that_is_there_is_installed_again_only_when_asked() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    install(&daemon, &version("1.0.0")).await.unwrap();
    let program = daemon.data().join("shared/agents/claude/1.0.0/bin/claude");
    std::fs::write(&program, "broken").unwrap();
    assert!(install(&daemon, &version("1.0.0")).await.unwrap().already_installed);
    let again = AgentInstallRequest { reinstall: Some(true), ..version("1.0.0") };
    assert!(!install(&daemon, &again).await.unwrap().already_installed);
    assert_eq!(says(&daemon, "s", Some("1.0.0")).await, "I am 1.0.0.");
    assert_eq!(folders(&daemon), ["1.0.0"]);
}

#[tokio::test]
async fn the_answer_has_content_for_those_who_accept_json() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    let url = format!("{}/v1/agents/claude/install", daemon.url);
    let post = || reqwest::Client::new().post(&url).bearer_auth(&daemon.token).json(&version("1.0.0"));
    assert_eq!(post().send().await.unwrap().status(), 204);
    let answer = post().header("accept", "text/plain, application/json;q=0.9").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let json: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(
        (&json["already_installed"], &json["artifacts"][0]["version"]),
        (&true.into(), &"1.0.0".into())
    );
    // A mirror and a proxy may be needed; nothing else of the daemon's environment is.
    let ours = |name: &str| name.starts_with("OMNIGLOT") && name != "OMNIGLOT_GUARD";
    let foreign = |name: &String| ours(name) || name.starts_with("ANTHROPIC");
    let seen = npm.seen_variables();
    assert!(seen.contains(&"NPM_CONFIG_FAKE".to_owned()) && !seen.iter().any(foreign), "{seen:?}");
    let call = &npm.calls()[0];
    for flag in ["--ignore-scripts", "--no-audit", "--no-fund", "@anthropic-ai/claude-code@1.0.0"] {
        assert!(call.contains(flag), "{call}");
    }
}

#[tokio::test]
async fn a_package_that_was_renamed_has_its_old_name_in_old_versions() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    for number in ["0.73.1", "0.74.0"] {
        // The stand-in has no program of this name.
        daemon.client.install_agent("pi", &version(number)).await.unwrap_err();
    }
    let calls = npm.calls();
    assert!(calls[0].contains("@mariozechner/pi-coding-agent@0.73.1"), "{calls:?}");
    assert!(calls[1].contains("@earendil-works/pi-coding-agent@0.74.0"), "{calls:?}");
}

#[tokio::test]
async fn a_configured_command_counts_unless_a_version_is_asked_for() {
    let npm = FakeNpm::default();
    npm.on_path("0.9.0");
    let config = "[agents.claude]\nprotocol = \"claude\"\ncommand = [\"/nowhere/claude\", \"--own\"]\n";
    let setup = npm.variables().into_iter().fold(setup(), |setup, (name, value)| setup.env(name, value));
    let daemon = setup.config(config).start();
    install(&daemon, &version("1.0.0")).await.unwrap();
    let info = claude(&daemon).await;
    assert!(!info.installed && info.installed_versions == ["1.0.0"], "{info:?}");
    let id = omniglot_testkit::session_driver::session_id("plain");
    let refused = daemon.client.create(&id, &asks_for(None)).await.unwrap_err();
    let hint = refused.problem().unwrap().hint.clone().unwrap();
    assert!(refused.status() == Some(404) && hint.contains("omniglot agents install claude"), "{hint}");
    assert_eq!(says(&daemon, "s", Some("1.0.0")).await, "I am 1.0.0.");
}
