//! Sessions that requests are about: `s`, which is free, and one that waits for a person.

use omniglot_client::Client;
use omniglot_schema::{PendingRequest, UniversalEventType};
use omniglot_testkit::session_driver::{SessionDriver, session_id};

use crate::routes::{Route, fill};

pub(crate) struct Seed {
    client: Client,
}

/// The session that asks for permissions and questions.
const ASKING: &str = "asking";

impl Seed {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone() }
    }

    /// Returns the path of the route about things that exist.
    pub(crate) async fn path(&self, route: &Route) -> String {
        self.exists("s").await;
        let asks = ["permission", "question"].into_iter().find(|word| route.path.contains(word));
        let request = match asks {
            Some(word) => self.pending(&format!("[[{word}]]")).await,
            None => String::new(),
        };
        let (session, is_opencode) =
            (if asks.is_some() { ASKING } else { "s" }, route.path.starts_with("/opencode"));
        let about_session = route.path.contains("/session/{id}");
        let path = fill(&route.path, |name| match (name, is_opencode) {
            ("session_id" | "new", false) => session.to_owned(),
            ("session", true) => format!("ses_{session}"),
            ("id", true) if about_session => format!("ses_{session}"),
            ("id", true) if asks == Some("question") => format!("que_0~{request}~{ASKING}"),
            ("id", true) => format!("per_0~{request}~{ASKING}"),
            ("permission_id" | "question_id", false) => request.clone(),
            ("server_id", false) => "c".to_owned(),
            ("agent", false) => "mock".to_owned(),
            _ => "other".to_owned(),
        });
        match path.as_str() {
            "/v1/fs/move" => path + "?session_id=s",
            _ if path.starts_with("/v1/fs/") => path + "?session_id=s&path=x",
            _ if path.starts_with("/v1/acp/") => path + "?agent=mock",
            _ => path,
        }
    }

    async fn exists(&self, name: &str) {
        if self.client.detail(&session_id(name)).await.is_err() {
            SessionDriver::create(&self.client, name).await;
        }
    }

    /// Returns the id of a request that waits for an answer, and has it asked if there is none.
    async fn pending(&self, script: &str) -> String {
        self.exists(ASKING).await;
        let session = SessionDriver::of(&self.client, ASKING);
        let waits = self.client.detail(&session.id).await.unwrap();
        let is_wanted = |request: &PendingRequest| {
            matches!(request, PendingRequest::Permission(_)) == (script == "[[permission]]")
        };
        if let Some(request) = waits.pending.iter().find(|request| is_wanted(request)) {
            return id(request);
        }
        self.client.cancel(&session.id, omniglot_schema::QueueOnCancel::Drop).await.unwrap();
        let offset = self.client.detail(&session.id).await.unwrap().info.event_count;
        session.post(script).await;
        let wanted = [UniversalEventType::PermissionRequested, UniversalEventType::QuestionRequested];
        session.wait_for(offset, |event| wanted.contains(&event.kind())).await;
        let waits = self.client.detail(&session.id).await.unwrap();
        waits.pending.first().map(id).unwrap_or_default()
    }
}

fn id(request: &PendingRequest) -> String {
    match request {
        PendingRequest::Permission(asked) => asked.permission_id.to_string(),
        PendingRequest::Question(asked) => asked.question_id.to_string(),
    }
}
