//! Whether somebody is logged in is known before a thread is opened.

use super::*;

fn account(session: &mut Session, account: &str) -> Vec<String> {
    session.command(Command::Open(Open { cwd: "/w".into(), new_id: "s".into(), ..Open::default() }));
    session.hear(&format!(r#"{{"id":"s.1","result":{MODELS}}}"#));
    session.hear(&format!(r#"{{"id":"s.2","result":{account}}}"#))
}

#[test]
fn a_codex_that_nobody_is_logged_in_to_opens_no_thread_and_says_what_to_run() {
    let mut session = Session::new();
    let told = account(&mut session, r#"{"account":null,"requiresOpenaiAuth":true}"#);
    insta::assert_snapshot!(told.join("\n"), @r#"
    state {"auth":{"state":"required","methods":[{"id":"codex-login","name":"codex login","description":"Log in with ChatGPT or an API key in a terminal"}]}}
    refused Auth Codex is not logged in "run `codex login`"
    "#);
    assert!(!has(&session.sent, "thread/start"), "{:?}", session.sent);
}

#[test]
fn a_codex_that_needs_no_login_or_has_one_opens_a_thread() {
    for ready in [
        r#"{"account":null,"requiresOpenaiAuth":false}"#,
        r#"{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}"#,
    ] {
        let mut session = Session::new();
        account(&mut session, ready);
        assert!(has(&session.sent, "thread/start"), "{:?}", session.sent);
    }
}

#[test]
fn a_mode_that_codex_does_not_have_is_refused_also_while_nobody_is_logged_in() {
    let mut session = Session::new();
    let requested =
        SettingsRequest { permission_mode: Some("nonsense".into()), ..SettingsRequest::default() };
    session.command(Command::Open(Open {
        cwd: "/w".into(),
        new_id: "s".into(),
        requested,
        ..Open::default()
    }));
    session.hear(&format!(r#"{{"id":"s.1","result":{MODELS}}}"#));
    let told = session.hear(r#"{"id":"s.2","result":{"account":null,"requiresOpenaiAuth":true}}"#);
    assert!(has(&told, "refused BadMode"), "{told:?}");
}

#[test]
fn an_account_that_codex_cannot_tell_is_asked_for_once_more() {
    let mut session = Session::new();
    session.command(Command::Open(Open { cwd: "/w".into(), new_id: "s".into(), ..Open::default() }));
    session.hear(&format!(r#"{{"id":"s.1","result":{MODELS}}}"#));
    let changed =
        |id: &str| format!(r#"{{"id":"{id}","error":{{"code":-32603,"message":"account changed"}}}}"#);
    session.hear(&changed("s.2"));
    assert!(!has(&session.sent, "thread/start"), "{:?}", session.sent);
    session.hear(r#"{"id":"s.3","result":{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}}"#);
    assert!(has(&session.sent, "thread/start"), "{:?}", session.sent);
    let told = session.hear(&format!(r#"{{"id":"s.4","result":{THREAD}}}"#));
    assert!(has(&told, r#""state":"ready""#), "{told:?}");

    let mut session = Session::new();
    session.command(Command::Open(Open { cwd: "/w".into(), new_id: "s".into(), ..Open::default() }));
    session.hear(&format!(r#"{{"id":"s.1","result":{MODELS}}}"#));
    session.hear(&changed("s.2"));
    session.hear(&changed("s.3"));
    assert!(has(&session.sent, "thread/start"), "who cannot tell is believed to be logged in");
}
