//! Tests the requests to clients, and the results of their answers.

use omniglot_schema::{EventData, UniversalEvent};
use serde_json::json;

use super::*;
use crate::faces::acp::project::{Blobs, Echo, Outgoing, Projector};

fn event(kind: &str, data: serde_json::Value) -> UniversalEvent {
    serde_json::from_value(json!({
        "event_id": "evt_1", "sequence": 1, "time": "2026-01-01T00:00:00Z", "session_id": "s",
        "source": "agent", "synthetic": false, "type": kind, "data": data,
    }))
    .unwrap()
}

fn inquiry(event: &UniversalEvent, audience: Audience) -> Inquiry {
    let mut told = Projector::new(audience, Echo::All).event(event, &Blobs::default());
    let Some(Outgoing::ClientRequest(inquiry)) = told.pop() else { panic!("{told:?}") };
    *inquiry
}

fn permission(options: serde_json::Value) -> Inquiry {
    let data = json!({
        "permission_id": "perm_1", "action": "Write: /w/a", "status": "requested",
        "metadata": { "options": options },
    });
    inquiry(&event("permission.requested", data), Audience::default())
}

fn questions(forms: bool) -> Inquiry {
    let option = |label: &str| json!({ "label": label, "description": format!("about {label}") });
    let data = json!({
        "question_id": "qst_1", "prompt": "Colour?", "options": ["Red", "Blue"], "status": "requested",
        "metadata": { "questions": [
            { "prompt": "Colour?", "header": "Colour", "options": [option("Red"), option("Blue")],
              "multi_select": false, "free_text": true },
            { "prompt": "Extras?", "options": [option("Icon"), option("Shadow")],
              "multi_select": true, "free_text": false },
            { "prompt": "How many?", "options": [], "multi_select": false, "free_text": true,
              "format": "integer" },
        ] },
    });
    inquiry(&event("question.requested", data), Audience { forms, ..Audience::default() })
}

fn selected(option: &str) -> Result<Value, Error> {
    Ok(json!({ "outcome": { "outcome": "selected", "optionId": option } }))
}

fn offered(inquiry: &Inquiry) -> Vec<(String, String)> {
    let Some(ClientRequest { request: ClientRequestBody::Permission(request), .. }) = inquiry.ask() else {
        panic!()
    };
    request.options.iter().map(|option| (option.option_id.to_string(), option.name.clone())).collect()
}

#[test]
fn a_permission_offers_what_its_agent_offers_in_its_own_words() {
    let theirs = json!([
        { "id": "x", "name": "Yes", "kind": "allow_once" },
        { "id": "y", "name": "Not now", "kind": "reject_once" },
    ]);
    let pair = |id: &str, name: &str| (id.to_owned(), name.to_owned());
    assert_eq!(offered(&permission(theirs)), [pair("once", "Yes"), pair("reject", "Not now")]);
    assert_eq!(
        offered(&permission(json!([]))),
        [pair("once", "Allow once"), pair("always", "Allow always"), pair("reject", "Reject")]
    );
}

#[test]
fn only_a_clear_yes_allows() {
    let reply = |answer| permission(json!([])).answer(answer);
    assert_eq!(reply(selected("once")), Verdict::Permission(PermissionReply::Once));
    assert_eq!(reply(selected("always")), Verdict::Permission(PermissionReply::Always));
    let unclear = [
        selected("reject"),
        selected("anything"),
        Ok(json!({ "outcome": { "outcome": "cancelled" } })),
        Ok(json!("yes")),
        Err(Error::method_not_found()),
    ];
    for answer in unclear {
        assert_eq!(reply(answer.clone()), Verdict::Permission(PermissionReply::Reject), "{answer:?}");
    }
    assert_eq!(reply(Err(Error::request_cancelled())), Verdict::Withdrawn);
}

#[test]
fn a_client_with_forms_gets_all_questions_at_once() {
    let mut asked = questions(true);
    let ask = asked.ask().unwrap();
    assert_eq!((ask.id.as_str(), ask.request.method()), ("qst_1", "elicitation/create"));
    let json = serde_json::to_value(&ask.request).unwrap();
    insta::assert_json_snapshot!(json["requestedSchema"], @r#"
    {
      "type": "object",
      "properties": {
        "question_01": {
          "type": "string",
          "title": "Colour",
          "description": "Colour?",
          "oneOf": [
            {
              "const": "Red",
              "title": "Red",
              "description": "about Red"
            },
            {
              "const": "Blue",
              "title": "Blue",
              "description": "about Blue"
            }
          ]
        },
        "question_01_other": {
          "type": "string",
          "title": "Another answer"
        },
        "question_02": {
          "type": "array",
          "title": "Extras?",
          "items": {
            "anyOf": [
              {
                "const": "Icon",
                "title": "Icon",
                "description": "about Icon"
              },
              {
                "const": "Shadow",
                "title": "Shadow",
                "description": "about Shadow"
              }
            ]
          }
        },
        "question_03": {
          "type": "integer",
          "title": "How many?"
        }
      },
      "required": [
        "question_02",
        "question_03"
      ]
    }
    "#);
    let content =
        json!({ "question_01_other": "Green", "question_02": ["Icon", "Shadow"], "question_03": 3 });
    let answers = [vec!["Green"], vec!["Icon", "Shadow"], vec!["3"]];
    let answers = answers.map(|words| words.into_iter().map(str::to_owned).collect()).to_vec();
    let verdict = asked.answer(Ok(json!({ "action": "accept", "content": content })));
    assert_eq!(verdict, Verdict::Question(Some(answers)));
    for action in ["decline", "cancel", "shrug"] {
        assert_eq!(questions(true).answer(Ok(json!({ "action": action }))), Verdict::Question(None));
    }
}

#[test]
fn a_client_without_forms_is_asked_one_question_after_the_other() {
    let mut asked = questions(false);
    assert_eq!(asked.ask().unwrap().id, "qst_1");
    assert_eq!(asked.answer(selected("1")), Verdict::More);
    assert_eq!(asked.ask().unwrap().id, "qst_1.2");
    assert_eq!(asked.answer(selected("0")), Verdict::More);
    assert_eq!(asked.ask().unwrap().id, "qst_1.3");
    // A question without options cannot be answered by a choice.
    assert_eq!(offered(&asked), [("reject".to_owned(), "Do not answer".to_owned())]);
    assert_eq!(asked.answer(selected("reject")), Verdict::Question(None));
}

#[test]
fn the_last_choice_answers_the_question() {
    let data = json!({
        "question_id": "qst_1", "prompt": "Go on?", "options": ["Yes", "No"], "status": "requested",
    });
    let mut asked = inquiry(&event("question.requested", data), Audience::default());
    assert_eq!(asked.answer(selected("1")), Verdict::Question(Some(vec![vec!["No".to_owned()]])));
}

#[test]
fn a_resolved_request_is_settled_by_its_name() {
    let data = json!({ "permission_id": "perm_1", "action": "a", "status": "accept" });
    let resolved = event("permission.resolved", data);
    assert!(matches!(resolved.data, EventData::PermissionResolved(_)));
    let told = Projector::new(Audience::default(), Echo::All).event(&resolved, &Blobs::default());
    assert!(matches!(&told[..], [Outgoing::Settled(name)] if name.as_str() == "perm_1"), "{told:?}");
}
