//! Checks our messages against the protocol's own JSON Schema.

use std::collections::HashMap;

use jsonschema::Validator;
use omniglot_server::faces::acp::project::Outgoing;
use omniglot_server::faces::acp::project::inquiry::ClientRequestBody;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) struct Schema {
    validators: HashMap<&'static str, Validator>,
}

impl Schema {
    pub(crate) fn load() -> Self {
        let document: Value = serde_json::from_str(include_str!("acp-v1.schema.json")).unwrap();
        let kinds = [
            "SessionNotification",
            "RequestPermissionRequest",
            "CreateElicitationRequest",
            "PromptResponse",
            "Error",
            "InitializeResponse",
            "NewSessionResponse",
            "SessionInfo",
        ];
        let validator = |kind: &'static str| {
            let schema = json!({ "$defs": document["$defs"], "$ref": format!("#/$defs/{kind}") });
            (kind, jsonschema::draft202012::new(&schema).unwrap())
        };
        Self { validators: kinds.into_iter().map(validator).collect() }
    }

    #[track_caller]
    pub(crate) fn assert_lawful(&self, place: &str, message: &Outgoing) {
        match message {
            Outgoing::Update(update) => self.assert_is("SessionNotification", place, update),
            Outgoing::ClientRequest(inquiry) => match inquiry.ask().unwrap().request {
                ClientRequestBody::Permission(request) => {
                    self.assert_is("RequestPermissionRequest", place, &request)
                }
                ClientRequestBody::Elicitation(request) => {
                    self.assert_is("CreateElicitationRequest", place, &request)
                }
            },
            Outgoing::TurnEnded(ended) => match &ended.answer {
                Ok(answer) => self.assert_is("PromptResponse", place, answer),
                Err(error) => self.assert_is("Error", place, error),
            },
            // An extension, and no message at all.
            Outgoing::Exited(_) | Outgoing::Settled(_) => {}
        }
    }

    #[track_caller]
    pub(crate) fn assert_is(&self, kind: &str, place: &str, message: &impl Serialize) {
        let json = serde_json::to_value(message).unwrap();
        let complaints: Vec<_> =
            self.validators[kind].iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(complaints.is_empty(), "{place}: {kind}: {complaints:#?}\n{json:#}");
    }
}
