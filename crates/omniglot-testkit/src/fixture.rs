//! A real agent under test: a daemon that drives it, a scripted model that it calls, one session.

use omniglot_client::Client;
use omniglot_schema::{
    CreateSessionRequest, CreateTokenRequest, Delivered, Delivery, EventData, MessageRequest,
    PermissionReply, Scope, SteeringMetadata, UniversalEvent,
};
use omniglot_timeline::check::Allow;

use crate::agents::RealAgent;
use crate::daemon::{Daemon, Setup};
use crate::models::{Model, Reply, Script};
use crate::session_driver::{SessionDriver, Turn, message};

/// Everything that one test of a real agent needs. At its end every session is checked; an `agent.unparsed`
/// fails it, and so does a request that no script expects.
pub struct Fixture {
    // In drop order: the daemon stops its agent before the model ends.
    pub daemon: Daemon,
    pub session: SessionDriver,
    pub model: Model,
    pub agent: RealAgent,
}

/// A message of a real agent that was not understood must fail the test.
const REAL: Allow = Allow { open_turn: false, unparsed: false };

impl Fixture {
    /// Starts the model and the daemon and creates a session.
    pub async fn open(program: &str, script: Script, agent: impl FnOnce(&Model) -> RealAgent) -> Self {
        Self::open_with(program, script, agent, |_| {}).await
    }

    /// As [`Self::open`], with further settings for the session.
    pub async fn open_with(
        program: &str,
        script: Script,
        agent: impl FnOnce(&Model) -> RealAgent,
        requested: impl FnOnce(&mut CreateSessionRequest),
    ) -> Self {
        let model = script.start();
        let agent = agent(&model);
        let mut daemon = Setup::new(program).config(agent.toml()).start();
        daemon.allow = REAL;
        let mut request = CreateSessionRequest::new(agent.name());
        requested(&mut request);
        let session = SessionDriver::create_with(&daemon.client, "real", &request).await;
        Self { daemon, session, model, agent }
    }

    /// Stops the daemon as a user does, and starts it again on the same data.
    pub fn restart(self) -> Self {
        let Self { mut daemon, model, agent, .. } = self;
        daemon.stop();
        let mut daemon = daemon.restart();
        daemon.allow = REAL;
        let session = SessionDriver::of(&daemon.client, "real");
        Self { daemon, session, model, agent }
    }

    /// Runs one prompt with everything allowed once.
    pub async fn turn(&self, text: &str) -> Turn {
        self.session.turn(text, PermissionReply::Once).await
    }

    /// Runs one prompt that the model answers with `reply`.
    pub async fn answered(&self, text: &str, reply: Reply) -> Turn {
        self.model.push(reply);
        self.turn(text).await
    }

    /// Sends a message into the running turn, by a token of this name.
    pub async fn steer_as(&self, name: &str, text: &str) -> Steering {
        let token = CreateTokenRequest {
            name: name.to_owned(),
            scope: Scope::Drive,
            sessions: None,
            expires_in_seconds: None,
        };
        let token = self.daemon.client.create_token(&token).await.expect("a token");
        let client = Client::new(&self.daemon.url, Some(token.secret)).expect("a client");
        let client_ids = vec![format!("{name}-1")];
        let steer = MessageRequest {
            delivery: Some(Delivery::Steer),
            client_ids: client_ids.clone(),
            ..message(text)
        };
        let receipt = client.post(&self.session.id, &steer, None).await.expect("the message is taken");
        assert_eq!(receipt.delivered, Delivered::Steered);
        let message_id = Some(receipt.message_id);
        Steering(SteeringMetadata {
            message_id,
            client_ids,
            by: Some(name.to_owned()),
            client_metadata: None,
        })
    }

    /// Returns a file of the session's directory.
    pub fn file(&self, name: &str) -> std::path::PathBuf {
        self.daemon.work().join(name)
    }
}

/// A message that was sent into a running turn.
pub struct Steering(SteeringMetadata);

impl Steering {
    /// Checks that its item, and no other, tells whose message it is.
    #[track_caller]
    pub fn assert_told(&self, events: &[UniversalEvent]) {
        let told = events.iter().filter_map(|event| match &event.data {
            EventData::ItemStarted(data) | EventData::ItemCompleted(data) => data.metadata.as_deref(),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), [&self.0; 2]);
    }
}
