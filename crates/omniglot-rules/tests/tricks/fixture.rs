//! The rules of these tests, and a machine whose links are a table.

use std::path::{Component, Path, PathBuf};

use omniglot_rules::{Call, Decision, Floor, Layer, Machine, Policy, Ruling, check};
use omniglot_schema::{Decide, Rule, ToolKind};

pub(crate) const DIRECTORY: &str = "/w/project";

/// Links and their targets; one without a target leads in a circle.
const LINKS: &[(&str, Option<&str>)] = &[
    ("/w/project/etc", Some("/etc")),
    ("/w/project/out/escape", Some("/etc")),
    ("/w/project/out/here", Some("/w/project/out/there")),
    ("/w/project/data", Some("/home/u/.omniglot")),
    ("/w/project/circle", None),
    ("/w/project/settings", Some("/w/project/.env")),
    ("/alias", Some("/w/project")),
];

pub(crate) fn rule(name: &str, decide: Decide) -> Rule {
    Rule::new(name, decide)
}

pub(crate) fn command(name: &str, decide: Decide, words: &[&str]) -> Rule {
    Rule { command: Some(words.iter().map(|word| (*word).to_owned()).collect()), ..rule(name, decide) }
}

pub(crate) fn policy() -> Policy {
    let allowed: &[&[&str]] = &[
        &["git", "status"],
        &["git", "log"],
        &["git", "diff"],
        &["ls"],
        &["cat"],
        &["echo"],
        &["printf"],
        &["grep"],
        &["rg"],
        &["find"],
        &["head"],
        &["wc"],
        &["sort"],
        &["cd"],
        &["pwd"],
        &["true"],
        &["test"],
        &["["],
        &["cargo", "test"],
        &["docker", "ps"],
        &["make", "check"],
        &["npm", "run", "build"],
    ];
    let mut rules: Vec<Rule> = allowed
        .iter()
        .enumerate()
        .map(|(no, words)| {
            command(&format!("allow-{no}-{}", words.concat().replace('[', "test")), Decide::Allow, words)
        })
        .collect();
    rules.push(Rule {
        kind: Some(ToolKind::Edit),
        path: Some("out/**".to_owned()),
        ..rule("edit-out", Decide::Allow)
    });
    rules.push(Rule {
        kind: Some(ToolKind::Read),
        path: Some("**".to_owned()),
        ..rule("read", Decide::Allow)
    });
    rules.push(Rule { host: Some("docs.rs".to_owned()), ..rule("docs", Decide::Allow) });
    rules.push(command("no-rm", Decide::Deny, &["rm"]));
    rules.push(command("no-push", Decide::Deny, &["git", "push"]));
    rules.push(Rule { path: Some("**/.env".to_owned()), ..rule("no-env", Decide::Deny) });
    rules.push(Rule { host: Some("evil.test".to_owned()), ..rule("no-evil", Decide::Deny) });
    assert_eq!(check(&rules), Ok(vec!["rule `read` allows every path".to_owned()]));
    Policy::new(Floor(vec!["/home/u/.omniglot/private".into()])).with(Layer::Daemon, &rules)
}

/// Follows the table, as a kernel follows links.
pub(crate) fn resolve(path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => resolved.push(part),
        }
        if let Some((_, target)) = LINKS.iter().find(|(link, _)| Path::new(link) == resolved) {
            resolved = PathBuf::from((*target)?);
        }
    }
    Some(resolved)
}

pub(crate) fn evaluate(policy: &Policy, call: &Call<'_>) -> Ruling {
    let machine =
        Machine { directory: Path::new(DIRECTORY), home: Some(Path::new("/home/u")), resolve: &resolve };
    policy.evaluate(call, &machine)
}

pub(crate) fn shell(policy: &Policy, text: &str) -> Ruling {
    let call = Call {
        agent: "claude",
        kind: Some(ToolKind::Execute),
        tool: Some("Bash"),
        command: Some(text),
        ..Call::default()
    };
    evaluate(policy, &call)
}

pub(crate) fn file(policy: &Policy, kind: ToolKind, path: &str) -> Decision {
    let call = Call { agent: "claude", kind: Some(kind), paths: vec![path], ..Call::default() };
    evaluate(policy, &call).decision
}
