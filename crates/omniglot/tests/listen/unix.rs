//! A daemon behind a socket in the file system.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_schema::PermissionReply;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use omniglot_testkit::tls::TlsFiles;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::{a_stop_ends_the_turn_and_then_its_stream, omniglot, omniglot_with, refused, succeeded};

/// A directory for a socket.
struct SocketDir {
    dir: TempDir,
}

impl SocketDir {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("o.sock")
    }

    fn address(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    fn daemon(&self) -> Daemon {
        Setup::new(env!("CARGO_BIN_EXE_omniglot")).listen(self.address()).start()
    }
}

/// Returns the first bytes of an answer.
async fn ask(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn sessions_work_over_a_socket_that_is_its_users_alone() {
    let socket_dir = SocketDir::new();
    let mut daemon = socket_dir.daemon();
    assert_eq!(daemon.url, socket_dir.address());
    assert_eq!(fs::metadata(socket_dir.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:3]] [[permission]]", PermissionReply::Once).await;
    session.history().await;
    daemon.stop();
    assert!(!socket_dir.socket().exists(), "removed at the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_over_a_socket_ends_with_the_turn_that_a_stop_ends() {
    let socket_dir = SocketDir::new();
    a_stop_ends_the_turn_and_then_its_stream(socket_dir.daemon()).await;
}

#[tokio::test]
async fn the_socket_of_a_killed_daemon_is_taken_over_and_its_sessions_go_on() {
    let socket_dir = SocketDir::new();
    let mut daemon = socket_dir.daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    daemon.kill();
    assert!(socket_dir.socket().exists(), "nobody was left to remove it");
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    session.turn("[[text:1]]", PermissionReply::Once).await;
    session.history().await;
}

#[test]
fn the_socket_of_a_living_daemon_and_a_file_that_is_none_are_left_alone() {
    let socket_dir = SocketDir::new();
    let daemon = socket_dir.daemon();
    let other = TempDir::new().unwrap();
    let second = omniglot(other.path(), &["serve", "--listen", &socket_dir.address()]);
    refused(&second, &[&socket_dir.address(), "a program listens there", "choose another path"]);
    assert!(socket_dir.socket().exists() && omniglot(daemon.home(), &["daemon", "status"]).status.success());

    let file = socket_dir.dir.path().join("precious");
    fs::write(&file, "words").unwrap();
    let at = format!("unix:{}", file.display());
    refused(
        &omniglot(other.path(), &["serve", "--listen", &at]),
        &["the file is no socket", "left as it is"],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "words");
}

#[test]
fn a_path_that_cannot_be_a_socket_is_refused_with_the_reason() {
    let home = TempDir::new().unwrap();
    let serve = |at: &str| omniglot(home.path(), &["serve", "--listen", at]);
    refused(&serve("unix:/no/such/o.sock"), &["there is no directory /no/such", "mkdir -m 700"]);
    refused(&serve(&format!("unix:/tmp/{}", "a".repeat(110))), &["at most 107 bytes"]);
    refused(&serve("unix:"), &["expected the path of a socket"]);
    let both = omniglot(home.path(), &["serve", "--listen", "unix:/tmp/o", "--port", "0"]);
    refused(&both, &["--listen", "cannot be used with"]);
}

#[test]
fn the_configuration_names_a_socket_and_all_commands_find_it() {
    let socket_dir = SocketDir::new();
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("data")).unwrap();
    // A relative path begins at the directory of the file.
    fs::write(home.path().join("data/omniglot.toml"), "listen = \"unix:o.sock\"\n").unwrap();
    let started: Value =
        serde_json::from_str(&succeeded(&omniglot(home.path(), &["daemon", "start", "--json"]))).unwrap();
    let socket = home.path().join("data").canonicalize().unwrap().join("o.sock");
    assert_eq!(started["url"], format!("unix:{}", socket.display()));
    succeeded(&omniglot(home.path(), &["run", "--session", "s", "[[text:1]]"]));
    assert!(succeeded(&omniglot(home.path(), &["sessions", "list"])).contains('s'));
    let elsewhere = omniglot(home.path(), &["daemon", "start", "--listen", &socket_dir.address()]);
    refused(&elsewhere, &["a daemon serves here already", "o.sock"]);
    succeeded(&omniglot(
        home.path(),
        &["daemon", "start", "--listen", &format!("unix:{}", socket.display())],
    ));
    // Without a word about the address a restart keeps it, wherever the daemon was told to listen.
    succeeded(&omniglot(home.path(), &["daemon", "restart"]));
    assert!(socket.exists());
    succeeded(&omniglot(home.path(), &["daemon", "stop"]));
    assert!(!socket.exists());
}

#[test]
fn a_restart_keeps_the_socket_of_the_command_line() {
    let socket_dir = SocketDir::new();
    let home = TempDir::new().unwrap();
    succeeded(&omniglot(home.path(), &["daemon", "start", "--listen", &socket_dir.address()]));
    let told = succeeded(&omniglot(home.path(), &["daemon", "restart"]));
    assert!(told.contains(&socket_dir.address()), "{told}");
    succeeded(&omniglot(home.path(), &["daemon", "stop"]));
}

#[tokio::test]
async fn a_client_on_a_socket_needs_the_token_and_a_name_of_this_machine() {
    let socket_dir = SocketDir::new();
    let daemon = socket_dir.daemon();
    let request = |host: &str, token: &str| {
        format!("GET /v1/sessions HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{token}\r\n")
    };
    let token = format!("Authorization: Bearer {}\r\n", daemon.token);
    let answered = ask(&socket_dir.socket(), &request("localhost", &token)).await;
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
    let stranger = ask(&socket_dir.socket(), &request("localhost", "")).await;
    assert!(stranger.starts_with("HTTP/1.1 401 ") && stranger.contains("omniglot config show"), "{stranger}");
    // A proxy may pass on what a page in a browser has said.
    let forwarded = ask(&socket_dir.socket(), &request("rebound.example", &token)).await;
    assert!(forwarded.starts_with("HTTP/1.1 403 ") && forwarded.contains("--allow-host"), "{forwarded}");
    let page = ask(
        &socket_dir.socket(),
        &request("localhost", &format!("{token}Origin: http://localhost:2468\r\n")),
    )
    .await;
    assert!(page.starts_with("HTTP/1.1 403 ") && page.contains("--allow-origin"), "{page}");
}

#[test]
fn a_socket_needs_no_token_where_that_is_wanted_and_an_open_directory_is_told() {
    let (socket_dir, home) = (SocketDir::new(), TempDir::new().unwrap());
    fs::set_permissions(socket_dir.dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_omniglot"))
        .args(["serve", "--no-token", "--listen", &socket_dir.address()])
        .env("OMNIGLOT_HOME", home.path().join("data"))
        .env_remove("OMNIGLOT_LOG")
        .stdout(std::process::Stdio::piped())
        .stderr(fs::File::create(home.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let curl = Command::new("curl")
        .args(["-sS", "http://localhost/v1/sessions", "--unix-socket"])
        .arg(socket_dir.socket())
        .output();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(succeeded(&curl.unwrap()).contains("\"sessions\":[]"), "{line}");
    let log = fs::read_to_string(home.path().join("log")).unwrap();
    assert!(log.contains("others may make a socket in") && log.contains("mode 777"), "{log}");
}

#[test]
fn curl_reads_over_the_socket() {
    let socket_dir = SocketDir::new();
    let daemon = socket_dir.daemon();
    let curl = Command::new("curl")
        .args(["-sS", "-H", &format!("Authorization: Bearer {}", daemon.token), "--unix-socket"])
        .args([socket_dir.socket().as_os_str(), "http://localhost/v1/sessions".as_ref()])
        .output()
        .unwrap();
    assert!(succeeded(&curl).contains("\"sessions\":[]"), "{curl:?}");
}

#[tokio::test]
async fn silent_connections_to_a_socket_keep_nobody_out() {
    let socket_dir = SocketDir::new();
    let setup = Setup::new(env!("CARGO_BIN_EXE_omniglot")).listen(socket_dir.address());
    let daemon = setup.config("[limits]\nunauthenticated_connections = 4\n").start();
    let mut silent = vec![];
    for _ in 0..20 {
        silent.push(UnixStream::connect(socket_dir.socket()).await.unwrap());
    }
    for connection in silent.iter_mut().take(16) {
        assert_eq!(connection.read(&mut [0; 1]).await.unwrap_or(0), 0);
    }
    daemon.client.health().await.unwrap();
}

#[tokio::test]
async fn a_socket_speaks_plain_http_whatever_certificate_is_configured() {
    let (socket_dir, files) = (SocketDir::new(), TlsFiles::default());
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).listen(socket_dir.address()).tls(&files).start();
    assert_eq!(daemon.url, socket_dir.address());
    daemon.client.health().await.unwrap();
}

#[test]
fn the_environment_names_a_socket_for_commands() {
    let socket_dir = SocketDir::new();
    let daemon = socket_dir.daemon();
    let home = TempDir::new().unwrap();
    let list = |token: &str| {
        let variables = [("OMNIGLOT_URL", &*socket_dir.address()), ("OMNIGLOT_TOKEN", token)];
        omniglot_with(home.path(), &["sessions", "list"], &variables)
    };
    succeeded(&list(&daemon.token));
    refused(&list(""), &["a token is required", "OMNIGLOT_TOKEN"]);
}
