//! The receivers that may be called, and what nobody learns of them.

use omniglot_schema::PermissionReply;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::SessionDriver;
use omniglot_testkit::tls::TlsFiles;
use omniglot_testkit::webhooks::Receiver;

use super::{OMNIGLOT, SECRET, daemon, hook, omniglot};

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_this_machine_are_refused_unless_they_are_allowed() {
    let receiver = Receiver::start([]).await;
    let url = &receiver.url;
    let table = |name: &str, url: &str| {
        format!("[[hooks]]\nname = \"{name}\"\nurl = \"{url}\"\nsecret = \"{SECRET}\"\nallow_http = true\n")
    };
    let port = url.rsplit(':').next().unwrap();
    let mapped = format!("http://[::ffff:127.0.0.1]:{port}");
    let named = format!("http://localhost:{port}");
    let short = format!("http://0x7f.1:{port}");
    let config =
        table("plain", url) + &table("mapped", &mapped) + &table("named", &named) + &table("short", &short);
    let daemon = daemon(config);
    let (code, said, _) = omniglot(&daemon.data(), &["notify", "test"]);
    assert_eq!(code, 1);
    assert_eq!(said.matches("no address of the internet; `allow_private = true`").count(), 4, "{said}");
    assert!(receiver.now().is_empty());
}

/// The receiver is another daemon, which refuses the call: what counts is that it was asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_with_tls_must_show_a_certificate_that_this_machine_trusts() {
    let files = TlsFiles::default();
    let target = Setup::new(OMNIGLOT).tls(&files).start();
    let url = target.url.replace("127.0.0.1", "localhost");
    let config = format!(
        "[[hooks]]\nname = \"h\"\nurl = \"{url}/v1/none\"\nsecret = \"{SECRET}\"\nallow_private = true\n"
    );
    let stranger = daemon(config.clone());
    let (_, said, _) = omniglot(&stranger.data(), &["notify", "test"]);
    assert!(said.contains("there is no secure connection to localhost"), "{said}");
    let authorities = files.path("ca.pem").display().to_string();
    let knowing = Setup::new(OMNIGLOT).config(config).env("SSL_CERT_FILE", authorities).start();
    let (_, said, _) = omniglot(&knowing.data(), &["notify", "test"]);
    assert!(said.contains("the receiver refused it (401)"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_the_secret_nor_the_path_of_a_hook_is_logged_or_shown() {
    let mut receiver = Receiver::start([]).await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let config = hook("h", &receiver, "").replace("/hook", "/T0P-SECRET-PATH");
    let mut daemon = Setup::new(OMNIGLOT).config(config).log_all_to(log.path()).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    receiver.calls(1).await;
    let (_, listed, _) = omniglot(&daemon.data(), &["hooks", "list", "--json"]);
    let (_, shown, _) = omniglot(&daemon.data(), &["config", "show"]);
    assert!(shown.contains("[[hooks]]"), "{shown}");
    daemon.stop();
    let logged = std::fs::read_to_string(log.path()).unwrap();
    for secret in ["T0P-SECRET-PATH", SECRET, &SECRET[6..]] {
        assert!(![&listed, &shown, &logged].iter().any(|text| text.contains(secret)), "{secret}");
    }
}

#[test]
fn a_hook_whose_secret_cannot_be_used_keeps_the_daemon_from_starting() {
    for (secret, words) in [
        ("secret = \"short-one\"", "it has 9 bytes and needs 16"),
        ("secret_file = \"not-there\"", "not-there: No such file"),
        ("secret_env = \"OMNIGLOT_NOT_SET\"", "the variable OMNIGLOT_NOT_SET of secret_env is not set"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let table = format!("[[hooks]]\nname = \"h\"\nurl = \"https://h.example\"\n{secret}\n");
        std::fs::write(dir.path().join("omniglot.toml"), table).unwrap();
        for command in [&["serve", "--port", "0"][..], &["config", "check"]] {
            let (code, _, said) = omniglot(dir.path(), command);
            assert!(
                code == 2 && said.contains("hook h: its secret cannot be used") && said.contains(words),
                "{said}"
            );
            assert!(!said.contains("short-one"), "{said}");
        }
    }
}
