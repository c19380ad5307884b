//! A daemon, and scripts that open its screen in a browser.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use omniglot_testkit::clients::{browser, library, node};
use omniglot_testkit::daemon::{Daemon, Setup};
use serde_json::{Value, json};

use crate::OMNIGLOT;

pub(crate) struct Screen {
    daemon: Option<Daemon>,
}

impl Screen {
    pub(crate) fn open() -> Self {
        Self::of(Setup::new(OMNIGLOT))
    }

    /// Opens one with an agent `demo`, which plays the script of that name in this folder.
    pub(crate) fn open_with_demo() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/demo.jsonl");
        let command = json!([OMNIGLOT, "mock-agent", "--script", script]);
        Self::of(
            Setup::new(OMNIGLOT).config(format!("[agents.demo]\nprotocol = \"acp\"\ncommand = {command}\n")),
        )
    }

    fn of(setup: Setup) -> Self {
        let daemon = setup.start();
        std::fs::write(daemon.work().join("README.md"), "One line.\n").unwrap();
        Self { daemon: Some(daemon) }
    }

    pub(crate) fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    /// Runs a script to its end. It is given the members of `more` beside those that every script gets, and may ask for
    /// a killed daemon and a new one.
    #[track_caller]
    pub(crate) fn play(&mut self, script: &str, more: Value) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui").join(script);
        let home = tempfile::tempdir().unwrap();
        let mut complaint = tempfile::tempfile().unwrap();
        let mut child = node(&script, &[&self.given(more).to_string()])
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaint.try_clone().unwrap())
            .spawn()
            .unwrap();
        let (mut stdin, mut said) = (child.stdin.take().unwrap(), String::new());
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap) {
            if line == "ask restart" {
                self.restart();
                writeln!(stdin, "{}", self.daemon().url).unwrap();
            }
            said += &format!("{line}\n");
        }
        let status = child.wait().unwrap();
        let mut stderr = String::new();
        complaint.rewind().unwrap();
        complaint.read_to_string(&mut stderr).unwrap();
        assert!(status.success() && said.ends_with("all done\n"), "{said}\n{stderr}");
    }

    fn given(&self, more: Value) -> Value {
        let daemon = self.daemon();
        let mut given = json!({
            "playwright": library("playwright", "node_modules/playwright-core/index.mjs"),
            "axe": library("axe", "node_modules/axe-core/axe.min.js"),
            "browser": browser(),
            "url": daemon.url,
            "token": daemon.token,
            "directory": daemon.work(),
        });
        given.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        given
    }

    fn restart(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill();
        self.daemon = Some(daemon.restart());
    }

    /// Ends the daemon without reading all its sessions once more, which were made by the test.
    pub(crate) fn leave(mut self) {
        self.daemon.take().unwrap().kill();
    }
}
