//! Tests of the permissions of Codex as a person sees them.

use omniglot_timeline::PermissionAsk;

use super::*;
use crate::contract::{Draft, StreamOutput};

/// The action of the one permission that is asked for, its pattern and its detail.
fn asked(session: &mut Session, frame: &str) -> (String, Option<String>, Option<String>) {
    let mut out = vec![];
    session.codex.handle(Input::Frame(&raw(frame)), &mut out);
    let ask = out.into_iter().find_map(|output| {
        if let Output::Stream(StreamOutput::Draft(Draft::PermissionRequested(ask))) = output {
            Some(ask)
        } else {
            None
        }
    });
    let PermissionAsk { action, pattern, detail, .. } = ask.unwrap();
    (action, pattern, detail)
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn the_action_of_a_permission_is_the_command_and_the_reason_is_a_detail() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let ask = |reason: &str| {
        format!(
            r#"{{"id":0,"method":"item/commandExecution/requestApproval","params":{{"threadId":"t","itemId":"c","command":"rm -rf build"{reason}}}}}"#
        )
    };
    let harmless = asked(&mut session, &ask(r#","reason":"List the files?""#));
    assert_eq!(harmless, ("rm -rf build".to_owned(), some("rm -rf build"), some("List the files?")));
    let bare = asked(&mut session, &ask(""));
    assert_eq!(bare, ("rm -rf build".to_owned(), some("rm -rf build"), None));
}

#[test]
fn the_action_of_a_network_permission_names_the_host_and_not_the_reason() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let ask = r#"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","itemId":"c","command":"curl evil.example","reason":"Fetch the docs?","networkApprovalContext":{"host":"evil.example","protocol":"https"}}}"#;
    let (action, pattern, detail) = asked(&mut session, ask);
    assert!(action.contains("evil.example") && pattern.unwrap().contains("evil.example"), "{action}");
    assert_eq!(detail, some("Fetch the docs?\ncurl evil.example"));
}

#[test]
fn the_action_of_a_patch_is_its_files_and_of_more_rights_the_rights() {
    let mut session = Session::open(SettingsRequest::default());
    session.turn();
    let patch = r#"{"type":"fileChange","id":"f","status":"inProgress","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}]}"#;
    session.item("started", "t", patch);
    let ask = r#"{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"t","itemId":"f","reason":"Just a note"}}"#;
    assert_eq!(asked(&mut session, ask), ("change /w/a".to_owned(), some("/w/a"), some("Just a note")));
    let ask = r#"{"id":1,"method":"item/permissions/requestApproval","params":{"threadId":"t","itemId":"p","permissions":{"network":{"enabled":true}},"reason":"Just a look"}}"#;
    let rights = r#"{"network":{"enabled":true}}"#;
    let told = (format!("more permissions: {rights}"), some(rights), some("Just a look"));
    assert_eq!(asked(&mut session, ask), told);
}
