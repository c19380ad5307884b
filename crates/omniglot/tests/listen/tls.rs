//! A daemon that speaks TLS.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use std::io::{Read as _, Write as _};

use omniglot_client::{Client, ClientError, Trust};
use omniglot_schema::PermissionReply;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use omniglot_testkit::tls::{KEY, OTHER_KEY, TlsFiles};
use serde_json::Value;
use tempfile::TempDir;

use super::{a_stop_ends_the_turn_and_then_its_stream, omniglot, omniglot_with, refused, succeeded};

fn daemon(files: &TlsFiles) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).tls(files).start()
}

fn host(daemon: &Daemon) -> &str {
    daemon.url.strip_prefix("https://").expect("a daemon that speaks TLS")
}

#[tokio::test]
async fn sessions_work_over_tls_also_after_the_daemon_was_killed() {
    let files = TlsFiles::default();
    let mut daemon = daemon(&files);
    assert!(daemon.url.starts_with("https://"), "{}", daemon.url);
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:3]] [[permission]]", PermissionReply::Once).await;
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    session.turn("[[text:1]]", PermissionReply::Once).await;
    session.history().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_over_tls_ends_with_the_turn_that_a_stop_ends() {
    let files = TlsFiles::default();
    a_stop_ends_the_turn_and_then_its_stream(daemon(&files)).await;
}

#[tokio::test]
async fn a_client_believes_only_the_daemon_that_it_was_told_of() {
    let files = TlsFiles::default();
    let daemon = daemon(&files);
    let health = async |url: &str, trust| Client::trusting(url, None, trust).unwrap().health().await;
    // Nobody vouches for the daemon among these authorities, nor is this its certificate.
    for trust in [Trust::Authorities(files.path("cert.pem")), Trust::Certificate("00".repeat(32))] {
        let refused = health(&daemon.url, trust).await;
        assert!(matches!(refused, Err(ClientError::Connect(_))), "{refused:?}");
    }
    let authority = Trust::Authorities(files.path("ca.pem"));
    health(&daemon.url, authority.clone()).await.unwrap();
    // A name that is not in the certificate.
    let port = host(&daemon).rsplit(':').next().unwrap();
    let refused = health(&format!("https://127.0.0.2:{port}"), authority).await;
    assert!(matches!(refused, Err(ClientError::Connect(_))), "{refused:?}");
    let nothing = Client::trusting(&daemon.url, None, Trust::Authorities(files.path("key.pem")));
    assert!(matches!(nothing.err(), Some(ClientError::Authorities { .. })));
}

#[test]
fn plain_http_is_told_to_use_https() {
    let files = TlsFiles::default();
    let daemon = daemon(&files);
    let mut stream = TcpStream::connect(host(&daemon)).unwrap();
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("use https://"), "{answer}");
}

#[tokio::test]
async fn connections_that_never_finish_their_handshake_keep_nobody_out() {
    let files = TlsFiles::default();
    let setup = Setup::new(env!("CARGO_BIN_EXE_omniglot")).tls(&files);
    let daemon = setup.config("[limits]\nunauthenticated_connections = 4\n").start();
    let mut silent = vec![];
    for _ in 0..20 {
        let mut stream = TcpStream::connect(host(&daemon)).unwrap();
        // The beginning of a handshake, and no more of it.
        stream.write_all(&[22, 3, 1, 2, 0, 1]).unwrap();
        silent.push(stream);
    }
    for connection in silent.iter_mut().take(16) {
        assert_eq!(connection.read(&mut [0; 1]).unwrap_or(0), 0);
    }
    daemon.client.health().await.unwrap();
}

#[test]
fn curl_reads_over_tls() {
    let files = TlsFiles::default();
    let daemon = daemon(&files);
    let curl = Command::new("curl")
        .args(["-sS", "-H", &format!("Authorization: Bearer {}", daemon.token), "--cacert"])
        .args([files.path("ca.pem").as_os_str(), format!("{}/v1/sessions", daemon.url).as_ref()])
        .output()
        .unwrap();
    assert!(succeeded(&curl).contains("\"sessions\":[]"), "{curl:?}");
}

#[test]
fn tls_is_spoken_in_its_versions_1_2_and_1_3_alone() {
    let files = TlsFiles::default();
    let daemon = daemon(&files);
    let code = |version: &str| {
        let curl = Command::new("curl")
            .args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "--ciphers", "ALL:@SECLEVEL=0"])
            .args(["--tls-max", version, &format!("--tlsv{version}"), "--cacert"])
            .args([files.path("ca.pem").as_os_str(), format!("{}/v1/health", daemon.url).as_ref()])
            .output()
            .unwrap();
        String::from_utf8_lossy(&curl.stdout).into_owned()
    };
    assert_eq!(["1.1", "1.2", "1.3"].map(code), ["000", "200", "200"]);
}

#[test]
fn commands_know_the_daemon_of_their_data_by_its_certificate_alone() {
    let (home, files) = (TempDir::new().unwrap(), TlsFiles::default());
    fs::create_dir(home.path().join("data")).unwrap();
    let config = format!("listen = \"127.0.0.1:0\"\n{}", files.table());
    fs::write(home.path().join("data/omniglot.toml"), config).unwrap();
    let started: Value =
        serde_json::from_str(&succeeded(&omniglot(home.path(), &["daemon", "start", "--json"]))).unwrap();
    assert!(started["url"].as_str().unwrap().starts_with("https://127.0.0.1:"), "{started}");
    succeeded(&omniglot(home.path(), &["run", "--session", "s", "[[text:1]]"]));
    assert!(succeeded(&omniglot(home.path(), &["sessions", "list"])).contains('s'));
    succeeded(&omniglot(home.path(), &["daemon", "restart"]));
    // A mistake does not cost the daemon that runs.
    fs::remove_file(files.path("key.pem")).unwrap();
    refused(&omniglot(home.path(), &["daemon", "restart"]), &["key.pem: cannot be read"]);
    assert!(succeeded(&omniglot(home.path(), &["daemon", "status"])).contains("https://"));
    succeeded(&omniglot(home.path(), &["daemon", "stop"]));
}

#[test]
fn the_environment_names_a_daemon_elsewhere_and_who_vouches_for_it() {
    let files = TlsFiles::default();
    let daemon = daemon(&files);
    let home = TempDir::new().unwrap();
    let list = |ca: &str| {
        let ca = files.path(ca).display().to_string();
        let variables =
            [("OMNIGLOT_URL", &*daemon.url), ("OMNIGLOT_CA", &*ca), ("OMNIGLOT_TOKEN", &*daemon.token)];
        omniglot_with(home.path(), &["sessions", "list"], &variables)
    };
    succeeded(&list("ca.pem"));
    refused(&list("cert.pem"), &["no daemon answers at https://", "OMNIGLOT_URL", "certificate"]);
    refused(&list("missing.pem"), &["the authorities in", "missing.pem"]);
    let nowhere = omniglot_with(home.path(), &["sessions", "list"], &[("OMNIGLOT_URL", "box:1")]);
    refused(&nowhere, &["OMNIGLOT_URL", "is not the address of a daemon"]);
}

/// Passes connections on to a daemon, and keeps what its clients say.
fn recorded(daemon: &Daemon) -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (to, said) = (daemon.url.replace("http://", ""), Arc::<Mutex<Vec<u8>>>::default());
    let keep = said.clone();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map(Result::unwrap) {
            let mut daemon = TcpStream::connect(&to).unwrap();
            let (mut answers, mut back) = (daemon.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
            let keep = keep.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = client.read(&mut bytes) {
                    keep.lock().unwrap().extend(&bytes[..read]);
                    daemon.write_all(&bytes[..read]).unwrap();
                }
            });
        }
    });
    (url, said)
}

#[test]
fn the_token_of_this_machine_is_never_sent_elsewhere() {
    let start = || Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let (here, elsewhere) = (start(), start());
    let (url, said) = recorded(&elsewhere);
    let listed = omniglot_with(here.home(), &["sessions", "list"], &[("OMNIGLOT_URL", &url)]);
    refused(&listed, &["OMNIGLOT_TOKEN"]);
    let said = String::from_utf8_lossy(&said.lock().unwrap()).into_owned();
    assert!(said.contains("GET /v1/") && !said.contains(&here.token), "{said}");
    succeeded(&omniglot(here.home(), &["sessions", "list"]));
}

#[test]
fn files_that_cannot_work_are_refused_with_what_to_do() {
    let (home, files) = (TempDir::new().unwrap(), TlsFiles::default());
    files.write("other.pem", OTHER_KEY, 0o600);
    files.write("open.pem", KEY, 0o644);
    let at = |name: &str| files.path(name).display().to_string();
    let serve = |cert: &str, key: &str| {
        let words = ["serve", "--port", "0", "--tls-cert", &at(cert), "--tls-key", &at(key)];
        omniglot(home.path(), &words)
    };
    refused(&serve("missing.pem", "key.pem"), &["missing.pem: cannot be read: No such file"]);
    refused(&serve("key.pem", "key.pem"), &["there is no certificate in it", "BEGIN CERTIFICATE"]);
    refused(&serve("cert.pem", "cert.pem"), &["there is no key in it", "BEGIN PRIVATE KEY"]);
    refused(&serve("cert.pem", "other.pem"), &["the key is not that of the certificate", "made together"]);
    refused(&serve("cert.pem", "open.pem"), &["everybody on this machine can read the key", "chmod 600"]);
    refused(&omniglot(home.path(), &["serve", "--tls-cert", &at("cert.pem")]), &["--tls-key"]);
    let config = home.path().join("tls.toml");
    let table = format!("[tls]\ncert = {:?}\nkey = {:?}\n", at("cert.pem"), at("other.pem"));
    fs::write(&config, table).unwrap();
    let check = omniglot(home.path(), &["config", "check", &config.display().to_string()]);
    refused(&check, &["the key is not that of the certificate"]);
}
