//! Titles: a person's reach Codex, and `/rename` gives one.

use super::*;

const NAMED: &str = r#"{"thread":{"id":"t","name":"Known"},"model":"big"}"#;

fn opened(title: &str, thread: &str) -> Vec<String> {
    let mut session = Session::new();
    let title = Some(title.to_owned());
    session.start(Open { cwd: "/w".into(), new_id: "s".into(), title, ..Open::default() });
    session.sent.clear();
    session.hear(&format!(r#"{{"id":"s.3","result":{thread}}}"#));
    session.sent
}

#[test]
fn the_title_of_a_person_names_a_thread_that_has_another_name() {
    let sent = opened("Mine", THREAD);
    assert!(has(&sent, r#""method":"thread/name/set","params":{"threadId":"t","name":"Mine"}"#), "{sent:?}");
    assert!(has(&opened("Mine", NAMED), "thread/name/set"));
    assert_eq!(opened("Known", NAMED), [""; 0]);
    let mut session = Session::open(SettingsRequest::default());
    assert_eq!(session.command(Command::Rename { title: " Other ".into() }), [""; 0]);
    assert!(session.sent[0].contains(r#""name":"Other"}"#), "{:?}", session.sent);
    assert_eq!(session.hear(r#"{"id":"s.4","result":{}}"#), ["dropped internal"]);
    session.command(Command::Rename { title: "  ".into() });
    assert_eq!(session.sent.len(), 1, "Codex takes no empty name");
    session.command(Command::Rename { title: "Bad".into() });
    let told = session.hear(r#"{"id":"s.5","error":{"code":-32600,"message":"no"}}"#);
    assert!(told[0].contains("warning") && told[0].contains("Codex refused the title"), "{told:?}");
}

#[test]
fn rename_is_a_turn_that_gives_the_session_its_title() {
    let mut session = Session::open(SettingsRequest::default());
    let told = session.prompt("/rename  A walrus ");
    assert_eq!(
        told,
        [r#"turn + user null [{"type":"text","text":"/rename A walrus"}]"#, r#"state {"title":"A walrus"}"#]
    );
    assert!(session.sent[0].contains(r#""method":"thread/name/set""#), "{:?}", session.sent);
    assert!(session.hear(r#"{"id":"s.4","result":{}}"#)[0].starts_with(r#"turn . "end_turn""#));
    session.prompt("/rename A seal");
    let told = session.hear(r#"{"id":"s.5","error":{"code":-32600,"message":"no"}}"#);
    assert!(told[0].starts_with(r#"turn . "error""#), "{told:?}");
    session.prompt("/rename");
    assert!(session.sent[2].contains("turn/start"), "without a title it is a prompt: {:?}", session.sent);
}

#[test]
fn rename_during_a_turn_names_the_thread_and_says_nothing_to_the_model() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    session.sent.clear();
    let told = session.prompt("/rename A walrus");
    let item = r#"item + steer:1 native=null message "user" [{"type":"text","text":"/rename A walrus"}]"#;
    assert_eq!(told, [item, "item . steer:1", r#"state {"title":"A walrus"}"#]);
    assert_eq!(session.sent.len(), 1, "{:?}", session.sent);
    assert!(session.sent[0].contains(r#""method":"thread/name/set""#), "{:?}", session.sent);
    assert_eq!(session.hear(r#"{"id":"s.5","result":{}}"#), ["dropped internal"]);
    assert!(session.end_turn("completed")[0].starts_with(r#"turn . "end_turn""#));
}

#[test]
fn new_is_refused_and_not_said_to_the_model() {
    let mut session = Session::open(SettingsRequest::default());
    session.sent.clear();
    let told = session.prompt("/new");
    assert_eq!(told[0], r#"turn + user null [{"type":"text","text":"/new"}]"#);
    assert!(told[1].starts_with(r#"turn . "error""#) && told[1].contains("another session"), "{told:?}");
    session.turn();
    session.sent.clear();
    let told = session.prompt(" /new ");
    assert!(told[0].contains("warning") && told[0].contains("another session"), "{told:?}");
    assert_eq!(session.sent, [""; 0]);
}
