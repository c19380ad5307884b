//! OpenCode's web page in a browser. The published `opencode serve` serves the page, and its own settings
//! name the daemon; `web.mjs` clicks, this file prepares the daemons.
//!
//! The page and the daemon have different origins, so the daemon must allow the page's.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use omniglot_schema::{CreateTokenRequest, PermissionReply, Scope};
use omniglot_testkit::clients::{OpenCode, browser, library, node};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::Reply;
use omniglot_testkit::session_driver::SessionDriver;

use crate::{OMNIGLOT, Real, claude_asks, claude_makes};

/// A server that serves the page, and nothing else that is used here.
struct Page {
    child: Child,
    origin: String,
    _client: OpenCode,
}

impl Page {
    fn open() -> Self {
        let client = OpenCode::default();
        let mut child = client.page().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let origin = lines.into_iter().find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
        Self { child, origin: origin.expect("the page's address"), _client: client }
    }

    fn allowed(&self) -> Setup {
        let mut setup = Setup::new(OMNIGLOT);
        setup.args = ["--allow-origin", &self.origin].map(str::to_owned).to_vec();
        setup
    }

    /// Clicks through everything, with this model at first, and these prompts for a text, a permission, a
    /// question and a long turn; the last entry is the text that the long turn begins with.
    fn walk(&self, daemon: &Daemon, model: &str, prompts: [&str; 5]) {
        let mut words = vec![model];
        words.extend(prompts);
        self.run("web.mjs", daemon, &words);
    }

    /// Runs a script in the browser, with these words after those that every script gets.
    fn run(&self, script: &str, daemon: &Daemon, more: &[&str]) {
        self.run_as(&daemon.token, script, daemon, more);
    }

    fn run_as(&self, token: &str, script: &str, daemon: &Daemon, more: &[&str]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencode_face");
        let script = folder.join(script);
        let playwright = library("playwright", "node_modules/playwright-core/index.mjs");
        let (work, face) = (daemon.work(), format!("{}/opencode", daemon.url));
        let words = [&*playwright, &browser(), &self.origin, &face, token, work.to_str().unwrap()];
        let home = tempfile::tempdir().unwrap();
        let output = node(&script, &words).args(more).env("HOME", home.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{complaint}");
        assert!(said.ends_with("all done\n"), "{said}\n{complaint}");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
    }
}

#[test]
fn the_page_drives_the_mock_agent() {
    let page = Page::open();
    let daemon = page.allowed().start();
    page.walk(
        &daemon,
        "Mock Small",
        ["[[text]]", "[[permission]]", "[[question:one]]", "[[reasoning]] [[silence]]", "this is my answer"],
    );
}

#[test]
fn the_page_drives_claude() {
    let page = Page::open();
    let real = Real::claude_in(page.allowed());
    let made = real.file("made.txt");
    let (long, _gate) = Reply::text("This takes long ").hold();
    real.says([
        Reply::text("Hello from the model."),
        claude_makes(&made),
        Reply::text("It is made."),
        claude_asks(),
        Reply::text("Blue it is."),
        long,
    ]);
    page.walk(
        &real.daemon,
        "Default (recommended)",
        ["Speak.", "Make it.", "Ask me.", "Begin.", "This takes long"],
    );
    assert!(made.exists());
}

/// B4: nothing of the page needs an address that a person would have to know.
#[test]
fn a_person_clicks_from_the_first_screen_to_the_diff() {
    let page = Page::open();
    let daemon = page.allowed().start();
    std::fs::write(daemon.work().join("README.md"), "One line.\n").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let session = SessionDriver::create(&daemon.client, "earlier").await;
        session.turn("Remember the heron. [[text]]", PermissionReply::Once).await;
    });
    page.run("web_first_click.mjs", &daemon, &["Remember the heron."]);
    let changed = std::fs::read_to_string(daemon.work().join("README.md")).unwrap();
    assert!(changed.lines().count() > 1, "{changed}");
}

/// Who may only look finds the project of a session by clicking, too: its folders are listed, and no others.
#[test]
fn a_person_who_may_only_read_clicks_from_the_first_screen_to_a_session() {
    let page = Page::open();
    let daemon = page.allowed().start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let token = runtime.block_on(async {
        let session = SessionDriver::create(&daemon.client, "earlier").await;
        session.turn("Remember the heron. [[text]]", PermissionReply::Once).await;
        let request = CreateTokenRequest {
            name: "ann".into(),
            scope: Scope::Read,
            sessions: None,
            expires_in_seconds: None,
        };
        daemon.client.create_token(&request).await.unwrap().secret
    });
    page.run_as(&token, "web_first_click.mjs", &daemon, &["Remember the heron.", "looks"]);
}
