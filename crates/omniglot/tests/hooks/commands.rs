//! `omniglot hooks` and `omniglot notify test`, and who may use the routes beneath them.

use omniglot_client::Client;
use omniglot_schema::{CreateTokenRequest, DeadLetter, HookInfo, HookState, PermissionReply, Scope};
use omniglot_testkit::session_driver::{SessionDriver, status_of};
use omniglot_testkit::webhooks::{Answer, Receiver};

use super::{SECRET, daemon, hook, omniglot};

#[tokio::test(flavor = "multi_thread")]
async fn a_test_call_tells_in_plain_words_whether_it_arrived() {
    let mut good = Receiver::start([]).await;
    let bad = Receiver::start([Answer::Status(500), Answer::Status(403)]).await;
    let daemon = daemon(hook("good", &good, "") + &hook("bad", &bad, ""));
    let (code, said, _) = omniglot(&daemon.data(), &["notify", "test", "good"]);
    assert_eq!((code, &*said), (0, "good: the call arrived: the receiver took it (204)\n"));
    let call = good.calls(1).await.remove(0);
    assert_eq!(call.json()["type"], "test");
    assert!(call.id().starts_with("test_"), "{}", call.id());
    let (code, said, _) = omniglot(&daemon.data(), &["notify", "test"]);
    assert_eq!(code, 1);
    let told = "good: the call arrived: the receiver took it (204)\nbad: the call did not arrive: the receiver answered 500\n";
    assert_eq!(said, told);
    let (code, said, _) = omniglot(&daemon.data(), &["notify", "test", "bad", "--json"]);
    assert_eq!(code, 1);
    assert!(said.contains("\"status\":403") && said.contains("the receiver refused it (403)"), "{said}");
    let (code, _, said) = omniglot(&daemon.data(), &["notify", "test", "none"]);
    assert!(code == 1 && said.contains("no hook none") && said.contains("omniglot hooks list"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_is_gone_is_listed_with_its_dead_letters_and_retried() {
    let mut receiver = Receiver::start([Answer::Status(410)]).await;
    let daemon = daemon(hook("h", &receiver, ""));
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    receiver.calls(1).await;
    let hook = loop {
        let hook: HookInfo = daemon.client.hooks().await.unwrap().remove(0);
        if hook.state == HookState::Disabled {
            break hook;
        }
    };
    assert_eq!((hook.dead, hook.queued), (1, 0));
    assert!(receiver.url.starts_with(&hook.target) && !hook.target.contains("hook"), "{}", hook.target);
    let (code, said, _) = omniglot(&daemon.data(), &["hooks", "list"]);
    assert!(code == 0 && said.contains("disabled") && !said.contains(SECRET), "{said}");
    let (code, said, _) = omniglot(&daemon.data(), &["hooks", "dead", "h", "--json"]);
    let letter: DeadLetter = serde_json::from_str(&said).unwrap();
    assert_eq!((code, letter.attempts, letter.session_id.as_str()), (0, 1, "s"));
    let (code, said, _) = omniglot(&daemon.data(), &["hooks", "dead", "h"]);
    assert!(code == 0 && said.contains("turn.ended"), "{said}");
    let (code, _, said) = omniglot(&daemon.data(), &["hooks", "retry", "h", "evt_none"]);
    assert!(code == 1 && said.contains("no dead letter evt_none"), "{said}");
    let (code, _, said) = omniglot(&daemon.data(), &["hooks", "retry", "h"]);
    assert!(code == 0 && said.contains("1 dead letter is sent again"), "{said}");
    let calls = receiver.calls(2).await;
    assert_eq!((calls[0].id(), calls[1].id()), (letter.id.as_str(), letter.id.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_admin_sees_and_uses_hooks() {
    let receiver = Receiver::start([]).await;
    let daemon = daemon(hook("h", &receiver, ""));
    for scope in [Scope::Read, Scope::Answer, Scope::Drive, Scope::Metrics] {
        let request =
            CreateTokenRequest { name: scope.to_string(), scope, sessions: None, expires_in_seconds: None };
        let token = daemon.client.create_token(&request).await.unwrap();
        let client = Client::new(&daemon.url, Some(token.secret)).unwrap();
        assert_eq!(status_of(client.hooks().await), 403);
        assert_eq!(status_of(client.dead_letters("h").await), 403);
        assert_eq!(status_of(client.retry_hook("h", None).await), 403);
        assert_eq!(status_of(client.test_hook("h").await), 403);
    }
    assert!(receiver.now().is_empty());
}
