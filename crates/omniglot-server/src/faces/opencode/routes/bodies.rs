//! The request bodies of clients. Unknown members are ignored: clients of other versions send more.

use axum::extract::{FromRequest, Request};
use omniglot_schema::PermissionReply;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::refusal::Refusal;
use crate::app::Unscoped;
use crate::faces::opencode::Face;
use crate::faces::opencode::wire::tool_names::QUESTION;
use crate::http::body;

/// A body that may be left out.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<Unscoped<Face>> for OptionalBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, face: &Unscoped<Face>) -> Result<Self, Refusal> {
        let (head, body) = request.into_parts();
        let bytes = body::read(&head.headers, body, face.limits()).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        body::require_json(&head.headers)?;
        parse(&bytes).map(Self)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut json).map_err(|error| Refusal::invalid(format!("body: {error}")))
}

/// `POST /session`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NewSession {
    pub(crate) title: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<ModelChoice>,
    #[serde(rename = "parentID")]
    pub(crate) parent_id: Option<String>,
    #[serde(default)]
    pub(crate) permission: Vec<Rule>,
}

/// A rule of a session. Agents keep their own rules for their tools; the one about questions is ours.
#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    permission: String,
    action: String,
}

/// Whether a person will answer questions: `opencode run` denies them. The last rule counts.
pub(crate) fn may_ask(rules: &[Rule]) -> bool {
    let about = |rule: &&Rule| matches!(&*rule.permission, QUESTION | "*");
    rules.iter().rev().find(about).is_none_or(|rule| rule.action != "deny")
}

/// Sessions name a model's id `id`, messages name it `modelID`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ModelChoice {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    #[serde(rename = "modelID", alias = "id")]
    pub(crate) model_id: String,
    pub(crate) variant: Option<String>,
}

/// `POST /session/{id}/message` and `…/prompt_async`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    #[serde(rename = "messageID")]
    pub(crate) message_id: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<ModelChoice>,
    pub(crate) variant: Option<String>,
    #[serde(default)]
    pub(crate) no_reply: bool,
    pub(crate) system: Option<String>,
    #[serde(default)]
    pub(crate) parts: Vec<PartInput>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum PartInput {
    Text {
        id: Option<String>,
        text: String,
    },
    File(FileInput),
    /// Names an agent that the text mentions; only the text counts.
    Agent {},
    Subtask {},
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileInput {
    pub(crate) id: Option<String>,
    pub(crate) mime: String,
    pub(crate) filename: Option<String>,
    pub(crate) url: String,
}

/// `POST /session/{id}/command`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RunCommand {
    #[serde(rename = "messageID")]
    pub(crate) message_id: Option<String>,
    pub(crate) agent: Option<String>,
    /// `provider/model`.
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    #[serde(default)]
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) arguments: String,
    #[serde(default)]
    pub(crate) parts: Vec<PartInput>,
}

/// `POST /session/{id}/shell`. The agent and the model that come with it have no part in the command.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Shell {
    #[serde(rename = "messageID")]
    pub(crate) message_id: Option<String>,
    #[serde(default)]
    pub(crate) command: String,
}

/// `POST /session/{id}/fork`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Fork {
    #[serde(rename = "messageID")]
    pub(crate) message_id: Option<String>,
}

/// `POST /session/{id}/revert`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Revert {
    #[serde(rename = "messageID", default)]
    pub(crate) message_id: String,
    #[serde(rename = "partID")]
    pub(crate) part_id: Option<String>,
}

/// `PATCH /session/{id}`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Change {
    pub(crate) title: Option<String>,
    pub(crate) time: Option<ChangeTime>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChangeTime {
    pub(crate) archived: Option<f64>,
}

/// The body of both routes of a permission: the older one uses `response`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PermissionAnswer {
    #[serde(alias = "response")]
    pub(crate) reply: Option<PermissionReply>,
    pub(crate) message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct QuestionAnswer {
    #[serde(default)]
    pub(crate) answers: Vec<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_of_another_version_is_read_as_far_as_it_is_known() {
        let body = r#"{"messageID":"msg_1","new":1,"model":{"providerID":"claude","modelID":"m/x"},
            "parts":[{"type":"text","id":"prt_1","text":"hi","synthetic":false},
                     {"type":"file","mime":"a/b","url":"file:///x","source":{"type":"file"}},
                     {"type":"agent","name":"plan","source":{"value":"@plan","start":0,"end":5}}]}"#;
        let prompt: Prompt = parse(body.as_bytes()).unwrap();
        assert_eq!(prompt.model.unwrap().model_id, "m/x");
        assert_eq!(prompt.parts.len(), 3);
        let new: NewSession = parse(br#"{"model":{"providerID":"claude","id":"m"}}"#).unwrap();
        assert_eq!(new.model.unwrap().model_id, "m");
    }

    #[test]
    fn the_last_rule_about_questions_counts() {
        let may = |rules: &str| {
            let new: NewSession = parse(format!(r#"{{"permission":{rules}}}"#).as_bytes()).unwrap();
            may_ask(&new.permission)
        };
        let rule = |name, action| format!(r#"{{"permission":"{name}","pattern":"*","action":"{action}"}}"#);
        assert!(may("[]") && may(&format!("[{}]", rule("bash", "deny"))));
        assert!(!may(&format!("[{},{}]", rule("question", "deny"), rule("plan_exit", "deny"))));
        assert!(may(&format!("[{},{}]", rule("*", "deny"), rule("question", "ask"))));
    }

    #[test]
    fn both_words_for_the_answer_to_a_permission_are_known() {
        for body in [r#"{"reply":"always"}"#, r#"{"response":"always"}"#] {
            let answer: PermissionAnswer = parse(body.as_bytes()).unwrap();
            assert_eq!(answer.reply, Some(PermissionReply::Always));
        }
    }
}
