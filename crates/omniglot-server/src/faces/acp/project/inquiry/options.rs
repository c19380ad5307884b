//! Permissions, and questions to clients without forms: both are a choice between options.

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind as Kind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use omniglot_schema::{
    PermissionEventData, PermissionReply, QuestionEventData, QuestionInfo, RequestMetadata, UniversalEvent,
};

use crate::faces::acp::project::{Call, edits};
use crate::faces::acp::wire::meta::Notes;

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";

pub(super) fn permission(
    event: &UniversalEvent,
    data: &PermissionEventData,
    call: Option<&Call>,
    notes: Notes,
) -> RequestPermissionRequest {
    let files = data.metadata.iter().flat_map(|metadata| &metadata.files).flat_map(edits);
    let detail = data.metadata.iter().filter_map(|metadata| metadata.detail.clone());
    let content: Vec<_> = detail.map(ToolCallContent::from).chain(files).collect();
    let fields = fields(call).title(data.action.clone()).content((!content.is_empty()).then_some(content));
    let id = call.map_or(data.permission_id.as_str(), |call| call.id.as_str());
    let call = ToolCallUpdate::new(id.to_owned(), fields);
    let options = offered(data.metadata.as_ref());
    RequestPermissionRequest::new(event.session_id.as_str().to_owned(), call, options).meta(notes.into_meta())
}

/// The waiting call with its details: some clients display a request without looking at the call.
fn fields(call: Option<&Call>) -> ToolCallUpdateFields {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Pending);
    match call {
        Some(call) => fields
            .kind(call.kind)
            .name(call.name.clone())
            .raw_input(call.input.clone())
            .locations((!call.locations.is_empty()).then(|| call.locations.clone())),
        None => fields,
    }
}

/// Returns one option per reply that we know, with the agent's own label where it has one. Where an agent
/// offers several of a kind, its first represents them.
fn offered(metadata: Option<&RequestMetadata>) -> Vec<PermissionOption> {
    let theirs = metadata.map_or(&[][..], |metadata| &metadata.options);
    let known = [
        (ONCE, Kind::AllowOnce, "allow_once", "Allow once"),
        (ALWAYS, Kind::AllowAlways, "allow_always", "Allow always"),
        (REJECT, Kind::RejectOnce, "reject_once", "Reject"),
    ];
    let option = |(id, kind, word, name): (&str, Kind, &str, &str)| {
        let their_name = theirs.iter().find(|option| option.kind == word).map(|option| option.name.as_str());
        // Whatever an agent offers, a person can reject.
        let is_offered = theirs.is_empty() || their_name.is_some() || id == REJECT;
        is_offered.then(|| PermissionOption::new(id.to_owned(), their_name.unwrap_or(name), kind))
    };
    known.into_iter().filter_map(option).collect()
}

/// A request without a decision is not granted.
pub(super) fn reply(response: &RequestPermissionResponse) -> PermissionReply {
    match selected(response) {
        Some(ONCE) => PermissionReply::Once,
        Some(ALWAYS) => PermissionReply::Always,
        _ => PermissionReply::Reject,
    }
}

fn selected(response: &RequestPermissionResponse) -> Option<&str> {
    match &response.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(&selected.option_id.0),
        _ => None,
    }
}

/// One question, as a choice.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) request: RequestPermissionRequest,
    labels: Vec<String>,
}

impl Choice {
    pub(super) fn new(
        event: &UniversalEvent,
        data: &QuestionEventData,
        question: &QuestionInfo,
        call: Option<&Call>,
        notes: Notes,
    ) -> Self {
        let id = call.map_or(data.question_id.as_str(), |call| call.id.as_str());
        let fields = fields(call).title(question.prompt.clone()).content(about(question));
        let option = |(place, option): (usize, &omniglot_schema::QuestionOption)| {
            PermissionOption::new(place.to_string(), option.label.clone(), Kind::AllowOnce)
        };
        let skip = PermissionOption::new(REJECT, "Do not answer", Kind::RejectOnce);
        let options = question.options.iter().enumerate().map(option).chain([skip]).collect();
        let call = ToolCallUpdate::new(id.to_owned(), fields);
        let request = RequestPermissionRequest::new(event.session_id.as_str().to_owned(), call, options);
        let labels = question.options.iter().map(|option| option.label.clone()).collect();
        Self { request: request.meta(notes.into_meta()), labels }
    }

    /// Returns the label of the option that was chosen.
    pub(super) fn chosen(&self, response: &RequestPermissionResponse) -> Option<String> {
        let place: usize = selected(response)?.parse().ok()?;
        self.labels.get(place).cloned()
    }
}

/// Returns the descriptions of the options, and the text that the question is about.
fn about(question: &QuestionInfo) -> Option<Vec<ToolCallContent>> {
    let described = question.options.iter().filter_map(|option| {
        let description = option.description.as_ref()?;
        Some(format!("- **{}**: {description}", option.label))
    });
    let described: Vec<_> = described.collect();
    let texts: Vec<_> = question.detail.iter().cloned().chain([described.join("\n")]).collect();
    let content: Vec<_> =
        texts.into_iter().filter(|text| !text.is_empty()).map(ToolCallContent::from).collect();
    (!content.is_empty()).then_some(content)
}
