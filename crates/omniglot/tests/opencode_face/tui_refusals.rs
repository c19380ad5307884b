//! B5: what the terminal interface offers and is not served is refused on its screen.

use omniglot_testkit::clients::OpenCode;

use crate::mock;
use crate::tui::{open, prompt};

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
