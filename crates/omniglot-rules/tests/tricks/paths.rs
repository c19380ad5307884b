//! Paths of calls, and globs of rules.

use omniglot_rules::{Call, Decision, Floor, Layer, Policy, check};
use omniglot_schema::{Decide, Labels, Rule, ToolKind};

use crate::fixture::{command, evaluate, file, policy, rule, shell};

#[test]
fn a_path_is_allowed_by_what_it_resolves_to() {
    let policy = policy();
    for path in
        ["out/x", "out/deep/er/x", "/w/project/out/x", "./out/x", "src/../out/x", "out/here", "/alias/out/x"]
    {
        assert_eq!(file(&policy, ToolKind::Edit, path), Decision::Allow, "{path}");
    }
    for path in [
        "",
        "out",
        "src/x",
        "outside/x",
        "out2/x",
        "OUT/x",
        "out/../src/x",
        "out/../../x",
        "/out/x",
        "out/escape",
        "out/escape/passwd",
        "etc/passwd",
        "circle",
        "circle/x",
        "out/x\0",
        "out/x\n",
        "~/out/x",
        "../project2/out/x",
        "/w/project/out/../../x",
        "/proc/self/root/etc/passwd",
        "оut/x",
        "out\\..\\x",
        "file:///etc/passwd",
        "data/x",
    ] {
        assert_ne!(file(&policy, ToolKind::Edit, path), Decision::Allow, "{path:?}");
    }
}

#[test]
fn a_rule_about_one_kind_of_access_allows_no_other() {
    let policy = policy();
    for kind in
        [ToolKind::Read, ToolKind::Edit, ToolKind::Delete, ToolKind::Move, ToolKind::Search, ToolKind::Other]
    {
        let wanted =
            if matches!(kind, ToolKind::Read | ToolKind::Edit) { Decision::Allow } else { Decision::Ask };
        assert_eq!(file(&policy, kind, "out/x"), wanted, "{kind:?}");
    }
    let unknown = Call { agent: "claude", paths: vec!["out/x"], ..Call::default() };
    assert_eq!(evaluate(&policy, &unknown).decision, Decision::Ask);
}

#[test]
fn every_path_of_a_call_must_be_allowed() {
    let policy = policy();
    let edit = |paths: &[&'static str]| {
        let call = Call { agent: "a", kind: Some(ToolKind::Edit), paths: paths.to_vec(), ..Call::default() };
        evaluate(&policy, &call).decision
    };
    assert_eq!(edit(&["out/a", "out/b"]), Decision::Allow);
    assert_eq!(edit(&["out/a", "src/b"]), Decision::Ask);
    assert_eq!(edit(&["out/a", ".env"]), Decision::Deny);
    assert_eq!(edit(&[]), Decision::Ask);
}

#[test]
fn a_denied_path_is_denied_by_every_name() {
    let policy = policy();
    for path in [
        ".env",
        "./.env",
        "src/.env",
        "/w/project/.env",
        "/alias/.env",
        "settings",
        "src/../.env",
        "file:///w/project/.env",
        ".env/x",
    ] {
        for kind in [ToolKind::Read, ToolKind::Edit, ToolKind::Delete, ToolKind::Other] {
            assert_eq!(file(&policy, kind, path), Decision::Deny, "{path}");
        }
    }
}

#[test]
fn no_rule_lifts_the_floor() {
    let all =
        [rule("all", Decide::Allow), Rule { path: Some("/**".to_owned()), ..rule("paths", Decide::Allow) }];
    let policy = Policy::new(Floor(vec!["/home/u/.omniglot/private".into()])).with(Layer::Session, &all);
    for path in [
        "/home/u/.omniglot/private",
        "~/.omniglot/private/token",
        "data/private/rules.toml",
        "/home/u/x/../.omniglot/private/a",
    ] {
        for kind in [ToolKind::Read, ToolKind::Edit, ToolKind::Delete, ToolKind::Search] {
            assert_eq!(file(&policy, kind, path), Decision::Deny, "{path}");
        }
    }
    assert_eq!(shell(&policy, "cat data/private/token").decision, Decision::Deny);
    // A folder that holds it may be listed, with a person's consent.
    assert_eq!(file(&policy, ToolKind::Delete, "/home/u"), Decision::Ask);
    assert_eq!(file(&policy, ToolKind::Read, "src/x"), Decision::Allow);
}

#[test]
fn a_deny_of_any_layer_comes_before_ask_and_ask_before_allow() {
    let allow = [command("status", Decide::Allow, &["git", "status"])];
    let ask = [Rule { remember: Some(false), ..command("mind", Decide::Ask, &["git"]) }];
    let deny = [command("never", Decide::Deny, &["git"])];
    let decide = |policy: Policy| shell(&policy, "git status");
    let base = || Policy::new(Floor::default()).with(Layer::Session, &allow);
    assert_eq!(decide(base()).decision, Decision::Allow);
    let asked = decide(base().with(Layer::Daemon, &ask));
    assert_eq!((asked.decision, asked.remember), (Decision::Ask, false));
    assert_eq!(asked.rule, Some((Layer::Daemon, "mind".to_owned())));
    for layer in [Layer::Daemon, Layer::Project, Layer::Session] {
        let denied = decide(base().with(Layer::Daemon, &ask).with(layer, &deny));
        assert_eq!((denied.decision, denied.rule), (Decision::Deny, Some((layer, "never".to_owned()))));
    }
    let nothing = decide(Policy::default());
    assert_eq!((nothing.decision, nothing.rule, nothing.remember), (Decision::Ask, None, true));
}

#[test]
fn agents_servers_tools_labels_and_hosts_must_fit() {
    let labels = Labels::from([("team".to_owned(), "infra".to_owned())]);
    let call = Call {
        agent: "codex",
        kind: Some(ToolKind::Mcp),
        tool: Some("mcp__github__get_issue"),
        server: Some("github"),
        labels: Some(&labels),
        ..Call::default()
    };
    let decide = |rule: Rule| evaluate(&Policy::default().with(Layer::Session, &[rule]), &call).decision;
    let rule = || rule("r", Decide::Allow);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(decide(Rule { agent: text("codex"), server: text("github"), ..rule() }), Decision::Allow);
    assert_eq!(
        decide(Rule { tool: text("mcp__github__get_*"), label: text("team=infra"), ..rule() }),
        Decision::Allow
    );
    assert_eq!(decide(Rule { kind: Some(ToolKind::Mcp), label: text("team"), ..rule() }), Decision::Allow);
    for other in [
        Rule { agent: text("claude"), ..rule() },
        Rule { server: text("GitHub"), ..rule() },
        Rule { tool: text("get_issue"), ..rule() },
        Rule { tool: text("MCP__github__get_issue"), ..rule() },
        Rule { label: text("team=other"), ..rule() },
        Rule { label: text("infra"), ..rule() },
        Rule { kind: Some(ToolKind::Execute), ..rule() },
        Rule { host: text("docs.rs"), ..rule() },
        Rule { path: text("**"), ..rule() },
        command("r", Decide::Allow, &["ls"]),
    ] {
        assert_eq!(decide(other.clone()), Decision::Ask, "{other:?}");
    }
    let fetch = |url| Call { agent: "a", kind: Some(ToolKind::Fetch), url: Some(url), ..Call::default() };
    assert_eq!(evaluate(&policy(), &fetch("https://docs.rs/x")).decision, Decision::Allow);
    assert_eq!(evaluate(&policy(), &fetch("https://user@docs.rs/x")).decision, Decision::Ask);
    assert_eq!(evaluate(&policy(), &fetch("https://docs.rs.a.test/x")).decision, Decision::Ask);
    assert_eq!(evaluate(&policy(), &fetch("https://docs.rs@evil.test/x")).decision, Decision::Deny);
}

#[test]
fn rules_that_nobody_can_mean_are_refused_and_wide_ones_warned_about() {
    let path = |path: &str| Rule { path: Some(path.to_owned()), ..rule("r", Decide::Deny) };
    let host = |host: &str| Rule { host: Some(host.to_owned()), ..rule("r", Decide::Deny) };
    for bad in [
        path("../x"),
        path("a/../../x"),
        path("/a/.."),
        path("{a,..}/x"),
        path(""),
        path("a["),
        path("~root/x"),
        path("a\0"),
        host(""),
        host("*"),
        host("a b"),
        host("https://a"),
        host("*.*.a"),
        host("a."),
        command("r", Decide::Deny, &[]),
        command("r", Decide::Deny, &["git status"]),
        command("r", Decide::Deny, &["git*"]),
        command("r", Decide::Deny, &["git", ""]),
        command("r", Decide::Allow, &["sudo"]),
        command("r", Decide::Allow, &["bash", "-c", "ls"]),
        command("r", Decide::Allow, &["/usr/bin/env"]),
        command("r", Decide::Allow, &["python3.12"]),
        command("r", Decide::Allow, &["find", ".", "-exec", "ls"]),
        command("r", Decide::Allow, &["git", "-c", "a=b", "status"]),
        rule("", Decide::Deny),
        rule("a b", Decide::Deny),
        Rule { remember: Some(false), ..rule("r", Decide::Allow) },
        Rule { tool: Some("a*b".to_owned()), ..rule("r", Decide::Deny) },
        Rule { agent: Some(String::new()), ..rule("r", Decide::Deny) },
        Rule { path: Some("x".to_owned()), ..command("r", Decide::Deny, &["ls"]) },
    ] {
        assert!(check(std::slice::from_ref(&bad)).is_err(), "{bad:?}");
    }
    assert!(check(&[rule("r", Decide::Deny), rule("r", Decide::Ask)]).is_err());
    for wide in [
        rule("r", Decide::Allow),
        Rule { agent: Some("claude".to_owned()), ..rule("r", Decide::Allow) },
        Rule { kind: Some(ToolKind::Execute), ..rule("r", Decide::Allow) },
        Rule { tool: Some("*".to_owned()), ..rule("r", Decide::Allow) },
        Rule { path: Some("/**".to_owned()), ..rule("r", Decide::Allow) },
        Rule { path: Some("**/*".to_owned()), ..rule("r", Decide::Allow) },
    ] {
        assert_eq!(check(std::slice::from_ref(&wide)).unwrap().len(), 1, "{wide:?}");
    }
    assert_eq!(check(&[rule("r", Decide::Deny), command("s", Decide::Allow, &["ls"])]), Ok(vec![]));
}
