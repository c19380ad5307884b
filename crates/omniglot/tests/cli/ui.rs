//! `omniglot ui`: the token that it makes, the address that it prints, and the file that a browser is given.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use omniglot_schema::{Scope, TokenInfo};

use super::harness::{Finished, Harness};

const TWELVE_HOURS: i64 = 12 * 3600 * 1000;

fn tokens(harness: &Harness) -> Vec<TokenInfo> {
    let listed = Finished::of(&mut harness.command(&["tokens", "list", "--json"]));
    listed.exited(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn secret(address: &str) -> &str {
    address.split_once("#token=").unwrap().1.split('&').next().unwrap()
}

#[test]
fn it_prints_an_address_with_a_token_of_half_a_day_that_drives() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let printed = Finished::of(harness.command(&["ui", "--print"]).env("USER", "ann"));
    let address = printed.exited(0).stdout.trim();
    assert!(address.starts_with(&format!("{}/ui/#token=omniglot_", daemon.url())), "{printed:?}");
    assert!(address.ends_with("&scope=drive"), "{printed:?}");
    let listed = Finished::of(harness.command(&["sessions", "list"]).env("OMNIGLOT_TOKEN", secret(address)));
    listed.exited(0);
    let made = &tokens(&harness)[0];
    assert!(made.name.starts_with("ui-ann-"), "{made:?}");
    let lasts = made.expires_at.map(|at| at - made.created_at);
    assert_eq!((made.scope, lasts), (Scope::Drive, Some(TWELVE_HOURS)));
    let more = ["ui", "--no-open", "--admin", "--url", "https://agents.example.com/"];
    let printed = Finished::of(&mut harness.command(&more));
    assert!(printed.exited(0).stdout.starts_with("https://agents.example.com/ui/#token="), "{printed:?}");
    assert_eq!(tokens(&harness)[1].scope, Scope::Admin);
    daemon.stop().exited(0);
}

#[test]
fn a_browser_is_given_a_private_file_and_no_argument_has_the_token() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let programs = tempfile::tempdir().unwrap();
    let (told, opener) = (programs.path().join("told"), programs.path().join("xdg-open"));
    std::fs::write(&opener, format!("#!/bin/sh\necho \"$@\" > {}\n", told.display())).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("mkfifo").arg(&told).status().unwrap().success());
    let mut command = harness.command(&["ui"]);
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let opened = Finished::of(command.env("DISPLAY", ":9").env("PATH", path));
    assert_eq!(opened.exited(0).stdout, "");
    // Reads until the program has written.
    let argument = std::fs::read_to_string(&told).unwrap();
    let redirect = harness.data_dir().join("private/open-ui.html");
    assert_eq!(argument.trim(), redirect.display().to_string());
    assert_eq!(std::fs::metadata(&redirect).unwrap().permissions().mode() & 0o777, 0o600);
    let page = std::fs::read_to_string(&redirect).unwrap();
    assert!(page.contains(&format!("url={}/ui/#token=omniglot_", daemon.url())), "{page}");
    assert!(!opened.stderr.contains("omniglot_"), "{opened:?}");
    daemon.stop().exited(0);
}

#[test]
fn a_token_that_may_not_make_tokens_is_told_so() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let made = Finished::of(&mut harness.command(&["tokens", "create", "bob", "--scope", "drive"]));
    let refused =
        Finished::of(harness.command(&["ui", "--print"]).env("OMNIGLOT_TOKEN", made.exited(0).stdout.trim()));
    assert!(refused.exited(1).stderr.contains("`admin`"), "{refused:?}");
    daemon.stop().exited(0);
}

#[test]
fn without_a_daemon_it_starts_one_that_stays() {
    let harness = Harness::new();
    harness.configure("listen = \"127.0.0.1:0\"\n");
    Finished::of(&mut harness.command(&["ui", "--print"])).exited(0);
    Finished::of(&mut harness.command(&["daemon", "status"])).exited(0);
    Finished::of(&mut harness.command(&["daemon", "stop"])).exited(0);
}
