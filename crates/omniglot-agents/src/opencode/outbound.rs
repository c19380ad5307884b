//! Our requests: their paths, and what an answer will mean. Learnt from what is really sent, so that a
//! recording of somebody else's requests is understood like our own.

use omniglot_schema::uri::encoded;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::OpenCode;
use super::wire::Reply;
use crate::contract::Output;
use crate::http::{Method, Request, ToServer};

/// A request of ours that the server has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutboundRequest {
    Create,
    Session(String),
    Fork,
    List(List),
    /// A message of the user, a command or a shell line: each makes a turn.
    Prompt,
    Compact,
    Abort,
    Messages(String),
    Status,
    Todos,
    /// The sessions of subagents.
    Children,
    Permissions,
    Questions,
    PermissionReply {
        id: String,
        reply: Option<Reply>,
        message: Option<String>,
    },
    QuestionReply {
        id: String,
        answers: Option<Vec<Vec<String>>>,
    },
    /// The conversation is taken back, or that is undone.
    Revert,
    /// Settings of the session.
    Change,
    /// An MCP server with this name is added.
    AddMcp(String),
    Other,
}

/// A list that tells what a session is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Config,
    Providers,
    Agents,
    Commands,
}

impl List {
    pub(crate) const ALL: [&str; 4] = ["/config", "/config/providers", "/agent", "/command"];
}

#[derive(Deserialize)]
struct ReplyBody {
    #[serde(alias = "response")]
    reply: Reply,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Answers {
    answers: Vec<Vec<String>>,
}

impl OutboundRequest {
    pub(crate) fn of(request: &Request) -> Self {
        let path = request.path.split('?').next().unwrap_or_default();
        let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
        match (request.method, steps.as_slice()) {
            (Method::Post, ["session"]) => Self::Create,
            (Method::Get, ["session", "status"]) => Self::Status,
            (Method::Get, ["session", id]) => Self::Session((*id).to_owned()),
            (Method::Patch, ["session", _]) => Self::Change,
            (Method::Post, ["session", _, "fork"]) => Self::Fork,
            (Method::Post, ["session", _, "prompt_async" | "message" | "command" | "shell"]) => Self::Prompt,
            (Method::Post, ["session", _, "summarize"]) => Self::Compact,
            (Method::Post, ["session", _, "abort"]) => Self::Abort,
            (Method::Get, ["session", id, "message"]) => Self::Messages((*id).to_owned()),
            (Method::Get, ["session", _, "todo"]) => Self::Todos,
            (Method::Get, ["session", _, "children"]) => Self::Children,
            (Method::Post, ["session", _, "revert" | "unrevert"]) => Self::Revert,
            (Method::Get, ["config"]) => Self::List(List::Config),
            (Method::Get, ["config", "providers"]) => Self::List(List::Providers),
            (Method::Get, ["agent"]) => Self::List(List::Agents),
            (Method::Get, ["command"]) => Self::List(List::Commands),
            (Method::Post, ["mcp"]) => {
                body::<Named>(request).map_or(Self::Other, |server| Self::AddMcp(server.name))
            }
            (Method::Get, ["permission"]) => Self::Permissions,
            (Method::Get, ["question"]) => Self::Questions,
            (Method::Post, ["permission", id, "reply"] | ["session", _, "permissions", id]) => {
                let body = body::<ReplyBody>(request);
                let (reply, message) = body.map(|body| (body.reply, body.message)).unzip();
                Self::PermissionReply { id: (*id).to_owned(), reply, message: message.flatten() }
            }
            (Method::Post, ["question", id, "reply"]) => {
                let answers = body::<Answers>(request).map(|body| body.answers);
                Self::QuestionReply { id: (*id).to_owned(), answers }
            }
            (Method::Post, ["question", id, "reject"]) => {
                Self::QuestionReply { id: (*id).to_owned(), answers: None }
            }
            _ => Self::Other,
        }
    }
}

fn body<'a, T: Deserialize<'a>>(request: &'a Request) -> Option<T> {
    serde_json::from_str(request.body.as_deref()?.get()).ok()
}

/// The session that a request is about.
pub(crate) fn session_of(request: &Request) -> Option<&str> {
    let rest = request.path.strip_prefix("/session/")?;
    let id = rest.split(['/', '?']).next()?;
    id.starts_with("ses").then_some(id)
}

impl OpenCode {
    /// Sends a request; its id, by which its answer is known.
    pub(crate) fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Box<RawValue>>,
        out: &mut Vec<Output>,
    ) -> String {
        let id = self.outbound.next_id();
        let path = match &self.directory {
            Some(directory) => {
                let sign = if path.contains('?') { '&' } else { '?' };
                format!("{path}{sign}directory={}", encoded(directory))
            }
            None => path.to_owned(),
        };
        let request = ToServer::Request(Request { id: id.clone(), method, path, body });
        out.extend(request.to_frame().map(Output::send));
        id
    }

    pub(crate) fn ask_session(
        &mut self,
        method: Method,
        what: &str,
        body: Option<Box<RawValue>>,
        out: &mut Vec<Output>,
    ) -> Option<String> {
        let path = format!("/session/{}{what}", self.session.as_ref()?);
        Some(self.ask(method, &path, body, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_of_a_request_is_in_its_method_and_path() {
        let request = |method, path: &str| Request { id: "1".into(), method, path: path.into(), body: None };
        let meaning = |method, path| OutboundRequest::of(&request(method, path));
        assert_eq!(meaning(Method::Get, "/session/status?directory=/w"), OutboundRequest::Status);
        assert_eq!(meaning(Method::Get, "/session/ses_1"), OutboundRequest::Session("ses_1".into()));
        assert_eq!(meaning(Method::Post, "/session/ses_1/shell"), OutboundRequest::Prompt);
        assert_eq!(meaning(Method::Get, "/global/health"), OutboundRequest::Other);
        assert_eq!(session_of(&request(Method::Post, "/session/ses_1/abort?x")), Some("ses_1"));
        assert_eq!(session_of(&request(Method::Get, "/session/status")), None);
    }
}
