//! `omniglot tokens` and `omniglot audit`, with and without a daemon that stays.

use omniglot_schema::{AuditEntry, CreatedToken, Scope, TokenInfo};

use super::harness::{Finished, Harness};
use super::terminal::Terminal;

fn omniglot(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(args))
}

/// Runs a command as somebody who has this secret.
fn with_token(harness: &Harness, secret: &str, args: &[&str]) -> Finished {
    Finished::of(harness.command(args).env("OMNIGLOT_TOKEN", secret))
}

#[test]
fn a_token_is_made_used_listed_and_revoked() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let made = omniglot(&harness, &["tokens", "create", "ann", "--scope", "read", "--expires", "7d"]);
    let secret = made.exited(0).stdout.trim();
    assert!(secret.starts_with("omniglot_") && secret.len() == 73, "{made:?}");
    with_token(&harness, secret, &["sessions", "list"]).exited(0);
    let refused = with_token(&harness, secret, &["tokens", "list"]);
    assert!(refused.exited(1).stderr.contains("`admin`"), "{refused:?}");
    let listed = omniglot(&harness, &["tokens", "list"]);
    assert!(listed.exited(0).stdout.contains("ann") && !listed.stdout.contains(secret), "{listed:?}");
    let json = omniglot(&harness, &["tokens", "ls", "--json"]);
    let info: TokenInfo = serde_json::from_str(&json.exited(0).stdout).unwrap();
    assert_eq!(
        (info.scope, info.expires_at.map(|at| at - info.created_at)),
        (Scope::Read, Some(604_800_000))
    );
    omniglot(&harness, &["tokens", "revoke", &info.id]).exited(0);
    with_token(&harness, secret, &["sessions", "list"]).exited(1);
    assert!(omniglot(&harness, &["tokens", "list"]).exited(0).stdout.contains("revoked"));
    daemon.stop().exited(0);
}

#[test]
fn a_list_of_tokens_fits_80_columns_and_each_is_revoked_by_its_name_or_the_beginning_of_its_id() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let mut ids = vec![];
    for name in ["ann", "bob-the-builder"] {
        let args = [
            "tokens",
            "create",
            name,
            "--scope",
            "answer",
            "--sessions",
            "app=shop",
            "--expires",
            "7d",
            "--json",
        ];
        let made = omniglot(&harness, &args);
        ids.push(serde_json::from_str::<CreatedToken>(&made.exited(0).stdout).unwrap().info.id);
    }
    let mut terminal = Terminal::run(&harness, 80, &["tokens", "list"]);
    assert!(terminal.finish().success());
    let screen = terminal.screen();
    assert!(screen.contains("bob-the-builder") && screen.contains("left"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let several = omniglot(&harness, &["tokens", "revoke", "tok_"]);
    assert!(several.exited(2).stderr.contains("2 tokens fit tok_"), "{several:?}");
    let nobody = omniglot(&harness, &["tokens", "revoke", "bob"]);
    assert!(nobody.exited(1).stderr.contains("omniglot tokens list"), "{nobody:?}");
    let revoked = omniglot(&harness, &["tokens", "revoke", "bob-the-builder"]);
    assert_eq!(revoked.exited(0).stderr, format!("revoked {}\n", ids[1]));
    let revoked = omniglot(&harness, &["tokens", "revoke", "tok_"]);
    assert_eq!(revoked.exited(0).stderr, format!("revoked {}\n", ids[0]), "the only one that is left");
    daemon.stop().exited(0);
}

#[test]
fn tokens_and_the_audit_need_no_daemon_that_stays() {
    let harness = Harness::new();
    let args = ["tokens", "create", "app", "--scope", "drive", "--sessions", "app=x", "--json"];
    let made = omniglot(&harness, &args);
    let made: CreatedToken = serde_json::from_str(&made.exited(0).stdout).unwrap();
    assert_eq!(made.info.sessions.unwrap().to_string(), "app=x");
    let audit = omniglot(&harness, &["audit", "--json", "--since", "1h"]);
    let entry: AuditEntry = serde_json::from_str(&audit.exited(0).stdout).unwrap();
    assert_eq!((entry.call.who.as_str(), entry.call.what.as_str()), ("admin", "POST /v1/tokens"));
    let readable = omniglot(&harness, &["audit"]);
    assert!(readable.exited(0).stdout.contains("POST /v1/tokens"), "{readable:?}");
    for bad in [["--scope", "write"], ["--sessions", "x"], ["--expires", "soon"]] {
        omniglot(&harness, &[&["tokens", "create", "b"], &bad[..]].concat()).exited(2);
    }
}

#[test]
fn no_daemon_takes_a_named_token_for_its_own() {
    let harness = Harness::new();
    let secret = omniglot(&harness, &["tokens", "create", "ann", "--scope", "read"])
        .exited(0)
        .stdout
        .trim()
        .to_owned();
    let started = with_token(&harness, &secret, &["daemon", "start", "--port", "0"]);
    assert!(started.exited(1).stderr.contains("no daemon's own"), "{started:?}");
    let refused = with_token(&harness, &secret, &["tokens", "list"]);
    assert!(refused.exited(1).stderr.contains("`admin`"), "{refused:?}");
    omniglot(&harness, &["tokens", "list"]).exited(0);
}

#[test]
fn a_wrong_token_is_refused_also_where_the_command_itself_serves() {
    let harness = Harness::new();
    let refused = with_token(&harness, "guess", &["sessions", "list"]);
    assert!(refused.exited(1).stderr.contains("another token"), "{refused:?}");
    omniglot(&harness, &["sessions", "list"]).exited(0);
}
