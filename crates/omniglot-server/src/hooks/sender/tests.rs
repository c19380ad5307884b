//! Calls over the loopback, by hooks whose resolver is the test's.

use std::collections::VecDeque;
use std::sync::Mutex;

use omniglot_runtime::config::Config;
use omniglot_testkit::webhooks::{Answer, Receiver};
use tokio::net::TcpListener;

use super::*;
use crate::hooks::HookSettings;

const LIMIT: Duration = Duration::from_secs(20);

/// Gives one answer after another.
struct Scripted(Mutex<VecDeque<Vec<SocketAddr>>>);

impl Scripted {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }
}

impl Resolver for Scripted {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        let next = self.0.lock().unwrap().pop_front();
        Box::pin(async move { next.ok_or_else(|| io::Error::other("nobody may ask again")) })
    }
}

fn hook(url: &str, more: &str) -> Hook {
    let text = format!(
        "[[hooks]]\nname = \"h\"\nurl = \"{url}\"\nsecret = \"a-secret-of-16-b\"\nallow_http = true\n{more}"
    );
    let config =
        Config::parse("omniglot.toml".as_ref(), &text, &omniglot_agents::Registry::default()).unwrap();
    HookSettings::of(&config).unwrap().hooks.remove(0)
}

async fn outcome(resolver: Arc<dyn Resolver>, hook: &Hook) -> Outcome {
    Network::new(resolver, LIMIT).call(hook, &Message::of_test(hook).unwrap()).await
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_called() {
    let mut receiver = Receiver::start([]).await;
    let address = receiver.url.strip_prefix("http://").unwrap().strip_suffix("/hook").unwrap().to_owned();
    let hook = hook("http://user:pass@hooks.example/a/b?c=d", "allow_private = true");
    let taken = outcome(Scripted::of(&[&[&address]]), &hook).await;
    assert_eq!(taken, Outcome::Taken(204), "a second question to the resolver would fail");
    let call = receiver.calls(1).await.remove(0);
    assert_eq!((&*call.path, call.header("host")), ("/a/b", "hooks.example"));
    assert_eq!(call.header("authorization"), "Basic dXNlcjpwYXNz");
}

#[tokio::test]
async fn a_host_that_leads_to_loopback_the_second_time_is_refused_then() {
    let receiver = Receiver::start([]).await;
    let own = receiver.url.strip_prefix("http://").unwrap().strip_suffix("/hook").unwrap().to_owned();
    let hook = hook("http://hooks.example/hook", "");
    let network = Network::new(Scripted::of(&[&["1.1.1.1:80"], &[&own]]), LIMIT);
    let first = network.checked(&hook, "hooks.example", 80).await.unwrap();
    assert_eq!(first, ["1.1.1.1:80".parse().unwrap()]);
    let refused = network.call(&hook, &Message::of_test(&hook).unwrap()).await;
    let Outcome::Failed { why, .. } = refused else { panic!("{refused:?}") };
    assert!(why.contains("is no address of the internet") && why.contains("allow_private"), "{why}");
    assert!(receiver.now().is_empty());
}

#[tokio::test]
async fn one_private_address_among_others_refuses_the_host() {
    let hook = hook("http://hooks.example/hook", "");
    for private in [
        "127.0.0.1:80",
        "10.1.2.3:80",
        "169.254.169.254:80",
        "100.64.0.1:80",
        "[::1]:80",
        "[fd00::1]:80",
        "[::ffff:127.0.0.1]:80",
    ] {
        let refused = outcome(Scripted::of(&[&["1.1.1.1:80", private]]), &hook).await;
        assert!(refused.to_string().contains("no address of the internet"), "{private}: {refused}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Receiver::start([]).await;
    let receiver = Receiver::start([Answer::Redirect(other.url.clone())]).await;
    let hook = hook(&receiver.url, "allow_private = true");
    let failed = outcome(Arc::new(SystemResolver), &hook).await;
    assert_eq!(failed.status(), Some(307));
    assert!(failed.to_string().contains("redirects are not followed"), "{failed}");
    assert!(other.now().is_empty());
}

#[tokio::test]
async fn statuses_mean_what_standard_webhooks_says() {
    let answers = [200, 299, 400, 404, 410, 408, 429, 500, 503].map(Answer::Status);
    let receiver = Receiver::start(answers).await;
    let hook = hook(&receiver.url, "allow_private = true");
    let mut outcomes = vec![];
    for _ in 0..9 {
        outcomes.push(outcome(Arc::new(SystemResolver), &hook).await);
    }
    assert_eq!(
        outcomes[..5],
        [
            Outcome::Taken(200),
            Outcome::Taken(299),
            Outcome::Refused(400),
            Outcome::Refused(404),
            Outcome::Gone
        ]
    );
    for failed in &outcomes[5..] {
        assert!(matches!(failed, Outcome::Failed { .. }), "{failed:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_never_answers_is_left_after_the_limit() {
    let receiver = Receiver::start([Answer::Hang]).await;
    let hook = hook(&receiver.url, "allow_private = true");
    let network = Network::new(Arc::new(SystemResolver), Duration::from_millis(50));
    let failed = network.call(&hook, &Message::of_test(&hook).unwrap()).await;
    assert!(failed.to_string().contains("did not answer within"), "{failed}");
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let endless = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n").await.unwrap();
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    });
    let hook = hook(&url, "allow_private = true");
    assert_eq!(outcome(Arc::new(SystemResolver), &hook).await, Outcome::Taken(200));
    endless.await.unwrap();
}

#[tokio::test]
async fn a_receiver_without_tls_gets_nothing_of_a_call_by_https() {
    let receiver = Receiver::start([]).await;
    let hook = hook(&receiver.url.replace("http:", "https:"), "allow_private = true");
    let failed = outcome(Arc::new(SystemResolver), &hook).await;
    assert!(matches!(failed, Outcome::Failed { status: None, .. }), "{failed:?}");
    assert!(receiver.now().is_empty());
}
