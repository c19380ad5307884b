//! B5: what the terminal interface offers and is not served is refused on its screen.

use omniglot_schema::{CreateTokenRequest, PermissionReply, Scope};
use omniglot_testkit::clients::OpenCode;
use omniglot_testkit::session_driver::SessionDriver;

use crate::tui::{open, prompt};
use crate::{OMNIGLOT, mock};

#[test]
fn a_key_for_a_provider_is_refused_on_the_screen() {
    let (daemon, client) = (mock(), OpenCode::default());
    let terminal = open(&client, &daemon, &[]);
    prompt(&terminal, "/connect");
    terminal.sees("Connect a provider");
    terminal.press("Enter");
    terminal.sees("API key");
    terminal.write("not-a-key");
    terminal.press("Enter");
    terminal.sees("not served");
}

/// The interface itself is silent when an undo is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_only_read_is_told_on_the_screen_what_it_lacks() {
    let (daemon, client) = (mock(), OpenCode::default());
    let session = SessionDriver::create(&daemon.client, "earlier").await;
    session.turn("Remember the heron. [[text]]", PermissionReply::Once).await;
    let (name, scope) = ("reader".to_owned(), Scope::Read);
    let request = CreateTokenRequest { name, scope, sessions: None, expires_in_seconds: None };
    let secret = daemon.client.create_token(&request).await.unwrap().secret;
    let terminal = client.interface_with_token(OMNIGLOT, &daemon, &secret);
    terminal.sees("as a real model does.");
    terminal.sees("Default · Mock Small mock");
    prompt(&terminal, "/undo");
    terminal.sees("scope `drive`");
}
