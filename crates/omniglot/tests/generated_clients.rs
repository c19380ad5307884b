//! Clients that generators make from our description drive a session: the description ties `type` and `data` of
//! events and parts together, so that TypeScript narrows them and Python parses them to their own classes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_testkit::clients::{library, node};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::sdk::succeed;

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated_clients").join(name)
}

/// Writes the description that this build serves.
fn description(folder: &Path) -> PathBuf {
    let path = folder.join("openapi.json");
    let output = Command::new(OMNIGLOT).arg("openapi").output().unwrap();
    fs::write(&path, output.stdout).unwrap();
    path
}

fn daemon() -> Daemon {
    Setup::new(OMNIGLOT).start()
}

#[test]
fn a_generated_typescript_client_narrows_events_and_runs_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let generator = library("openapi-typescript", "node_modules/openapi-typescript/bin/cli.js");
    let compiler = library("openapi-typescript", "node_modules/typescript/bin/tsc");
    let (document, types) = (description(folder.path()), folder.path().join("api.d.ts"));
    succeed(
        node(Path::new(&generator), &[document.to_str().unwrap(), "-o", types.to_str().unwrap()])
            .env("HOME", folder.path()),
    );
    fs::copy(source("session.ts"), folder.path().join("session.ts")).unwrap();
    fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#).unwrap();
    let switches = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"];
    succeed(node(Path::new(&compiler), &switches).arg("session.ts").current_dir(folder.path()));
    let daemon = daemon();
    let said = succeed(&mut node(&folder.path().join("session.js"), &[&daemon.url, &daemon.token]));
    assert!(said.contains("item.completed ") && said.contains("permission.resolved "), "{said}");
    assert!(said.ends_with("all done idle 0 generated\n"), "{said}");
}

#[test]
fn a_generated_python_client_parses_events_to_their_own_classes_and_runs_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let python = library("openapi-python", "bin/python");
    let document = description(folder.path());
    let module = "from openapi_python_client.cli import app; app()";
    let said = succeed(
        Command::new(&python)
            .args(["-c", module, "generate", "--meta", "none", "--output-path"])
            .arg(folder.path().join("generated"))
            .arg("--path")
            .arg(document)
            // The formatter that it starts stands beside its interpreter.
            .env("PATH", Path::new(&python).parent().unwrap())
            .env("HOME", folder.path())
            .current_dir(folder.path()),
    );
    let left_out: Vec<_> = said.lines().filter(|line| line.contains("Unable to process schema")).collect();
    assert!(left_out.is_empty(), "{said}");
    let daemon = daemon();
    let said = succeed(
        Command::new(&python)
            .arg(source("session.py"))
            .args([&daemon.url, &daemon.token])
            .env_clear()
            .env("PYTHONPATH", folder.path())
            .env("PYTHONDONTWRITEBYTECODE", "1"),
    );
    assert!(said.ends_with("all done\n"), "{said}");
}
