//! Installations that are refused or fail: nothing is left of them.

use super::*;

#[tokio::test]
async fn nothing_but_a_plain_version_reaches_npm() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    for bad in ["latest", "1.2.3 && x", "^1.2.3", "1.2", "v1.2.3", "../1.2.3", "--global", ""] {
        let refused = install(&daemon, &version(bad)).await.unwrap_err();
        let problem = refused.problem().unwrap();
        assert_eq!(problem.status, 400, "{bad}: {problem:?}");
        assert!(problem.detail.as_ref().unwrap().contains("plain version"), "{problem:?}");
    }
    let both = AgentInstallRequest { newest: Some(true), ..version("1.2.3") };
    assert_eq!(install(&daemon, &both).await.unwrap_err().status(), Some(400));
    assert!(npm.calls().is_empty() && folders(&daemon).is_empty());
}

#[tokio::test]
async fn an_agent_that_npm_does_not_have_is_refused_with_the_way_to_install_it() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    let refused = async |agent: &str| {
        let refused = daemon.client.install_agent(agent, &version("1.2.3")).await.unwrap_err();
        let problem = refused.problem().unwrap();
        assert_eq!(problem.status, 400, "{problem:?}");
        problem.detail.clone().unwrap()
    };
    assert!(refused("nobody").await.contains("known agents: mock"));
    assert!(refused("goose").await.contains("https://"));
    assert!(refused("mock").await.contains("a part of omniglot"));
    let mock = daemon.client.install_agent("mock", &AgentInstallRequest::default()).await.unwrap();
    assert!(mock.already_installed && mock.artifacts[0].source == "builtin", "{mock:?}");
    assert!(npm.calls().is_empty());
}

#[tokio::test]
async fn a_failure_is_told_in_the_last_words_of_the_installer() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    let failed = async |number: &str| {
        let failed = install(&daemon, &version(number)).await.unwrap_err();
        let problem = failed.problem().unwrap();
        assert_eq!((problem.status, problem.agent.as_deref()), (500, Some("claude")));
        assert!(problem.r#type.ends_with(":install_failed"), "{problem:?}");
        assert!(folders(&daemon).is_empty(), "{:?}", folders(&daemon));
        problem.detail.clone().unwrap()
    };
    let missing = failed("9.9.9").await;
    assert!(missing.contains("exited with code 1") && missing.contains("No matching version"), "{missing}");
    let other = failed("6.6.6").await;
    assert!(other.contains("does not work as version 6.6.6") && other.contains("6.6.7"), "{other}");
    assert!(!claude(&daemon).await.installed);
}

#[tokio::test]
async fn without_npm_the_answer_says_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let daemon = setup().env("PATH", empty.path().to_str().unwrap()).start();
    for request in [version("1.2.3"), AgentInstallRequest::default()] {
        let failed = install(&daemon, &request).await.unwrap_err();
        let problem = failed.problem().unwrap();
        assert_eq!(
            (problem.status, problem.detail.as_deref().unwrap().contains("npm was not found")),
            (500, true)
        );
        assert!(problem.hint.as_ref().unwrap().contains("Node.js"), "{problem:?}");
    }
}
