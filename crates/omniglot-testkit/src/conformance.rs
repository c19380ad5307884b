//! The checks of our HTTP log: cursors, replay, epochs, event streams, idempotency, problems.
//!
//! They know the service by its address alone, so whatever serves the log can be held to them: the daemon, or a
//! relay before it. A [`Service`] says how to reach it, how to make it write, and how to crash it; a check is one
//! function, named after the sentence that it proves, and [`conformance_tests!`](crate::conformance_tests) makes a
//! test of each. Agents and the rules of the stream are checked elsewhere.

pub mod all_sessions;
pub mod cursors;
pub mod idempotency;
pub mod problems;
pub mod streams;

use futures_util::StreamExt as _;
use omniglot_client::{Client, EventStream, EventsQuery, SseItem, StreamFrom, Trust};
use omniglot_schema::{CreateSessionRequest, MessageRequest, SessionId, UniversalEvent, UniversalEventType};

use crate::session_driver::session_id;

/// The way to a service, with a token that may do everything.
#[derive(Debug, Clone)]
pub struct Address {
    pub url: String,
    pub token: String,
    pub trust: Trust,
}

/// A service that keeps sessions and serves their events.
pub trait Service: Sync {
    /// Returns where it is now; a crash may move it.
    fn address(&self) -> Address;

    /// Returns a request for a session whose agent asks nobody.
    fn request(&self) -> CreateSessionRequest;

    /// Returns a message that leads to a turn of several events; another number is another message.
    fn message(&self, number: u64) -> MessageRequest;

    /// Ends the service without warning, and starts it again on its data.
    fn crash(&mut self);

    fn client(&self) -> Client {
        self.client_with(&self.address().token)
    }

    fn client_with(&self, token: &str) -> Client {
        let Address { url, trust, .. } = self.address();
        Client::trusting(&url, Some(token.to_owned()), trust).expect("a client")
    }
}

/// One session of a service.
struct Log {
    client: Client,
    id: SessionId,
}

impl Log {
    /// Makes a session of this name.
    async fn create(service: &impl Service, name: &str) -> Self {
        let log = Self::of(service, name);
        log.client.create(&log.id, &service.request()).await.expect("a session");
        log
    }

    /// Makes a session in which one turn has ended.
    async fn with_turn(service: &impl Service, name: &str) -> Self {
        let log = Self::create(service, name).await;
        log.turn(service).await;
        log
    }

    fn of(service: &impl Service, name: &str) -> Self {
        Self { client: service.client(), id: session_id(name) }
    }

    /// Runs a turn to its end.
    async fn turn(&self, service: &impl Service) {
        let posted = self.client.post_stream(&self.id, &service.message(3), None).await;
        let (_, mut stream) = posted.expect("the message is taken");
        while let Some(item) = stream.next().await {
            item.expect("an event");
        }
    }

    /// Returns the whole log, in one page.
    async fn events(&self) -> Vec<UniversalEvent> {
        let page = self.client.events(&self.id, &EventsQuery::default()).await.expect("a page");
        assert!(!page.has_more, "a log that fits into one page");
        page.events
    }

    async fn stream(&self, from: StreamFrom) -> Reader {
        Reader { stream: self.client.sse(&self.id, &from, false).await.expect("the stream opens") }
    }

    /// Returns what a stream tells from there on until it has caught up.
    async fn replay(&self, from: StreamFrom) -> Vec<Told> {
        self.stream(from).await.until_caught_up().await
    }

    /// Returns the status of the refusal to stream from there; `None` if it is none.
    async fn refusal(&self, from: StreamFrom) -> Option<u16> {
        self.client.sse(&self.id, &from, false).await.err().map(|error| error.status().expect("a problem"))
    }

    async fn turns(&self) -> usize {
        self.events().await.iter().filter(|event| event.kind() == UniversalEventType::TurnStarted).count()
    }
}

/// An event as a stream tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    cursor: String,
    sequence: u64,
    kind: UniversalEventType,
    json: String,
}

impl Told {
    /// Returns the epoch of its cursor, which is `EPOCH.SEQUENCE`.
    #[track_caller]
    fn epoch(&self) -> &str {
        let (epoch, sequence) = self.cursor.split_once('.').expect("EPOCH.SEQUENCE");
        assert_eq!(sequence, self.sequence.to_string(), "the cursor is that of its event");
        epoch
    }
}

struct Reader {
    stream: EventStream,
}

impl Reader {
    /// Returns the next event; `None` for the word that all have been told.
    async fn next(&mut self) -> Option<Told> {
        match self.stream.next().await.expect("the stream stays open").expect("an item") {
            SseItem::Event { id, event, json } => {
                Some(Told { cursor: id, sequence: event.sequence, kind: event.kind(), json })
            }
            SseItem::CaughtUp => None,
            SseItem::Deleted => panic!("the session was deleted"),
        }
    }

    async fn until_caught_up(&mut self) -> Vec<Told> {
        let mut told = vec![];
        while let Some(event) = self.next().await {
            told.push(event);
        }
        told
    }

    async fn until(&mut self, kind: UniversalEventType) -> Vec<Told> {
        let mut told: Vec<Told> = vec![];
        while told.last().is_none_or(|last| last.kind != kind) {
            told.extend(self.next().await);
        }
        told
    }
}

/// Returns events as they are written.
fn json(events: &[UniversalEvent]) -> Vec<String> {
    events.iter().map(|event| serde_json::to_string(event).expect("JSON")).collect()
}

/// Makes a test of every check, or of those that are named, for the service that a function starts.
#[macro_export]
macro_rules! conformance_tests {
    ($service:path) => {
        $crate::conformance_tests! { $service:
            all_sessions::the_stream_over_all_sessions_tells_each_log_in_its_order,
            all_sessions::the_stream_over_all_sessions_goes_on_after_any_of_its_frames,
            all_sessions::the_stream_over_all_sessions_begins_now_unless_it_has_a_cursor,
            all_sessions::the_stream_over_all_sessions_tells_of_a_deleted_session,
            all_sessions::a_cursor_over_all_sessions_outlives_a_crash_and_nonsense_is_refused,
            cursors::pages_of_any_size_join_to_the_whole_log,
            cursors::a_place_beyond_the_end_is_gone_and_the_end_itself_is_not,
            cursors::what_is_no_cursor_is_refused,
            cursors::a_cursor_of_a_deleted_session_is_gone_when_its_name_is_used_again,
            cursors::a_cursor_of_one_session_is_none_of_another,
            cursors::cursors_outlive_a_crash_and_name_the_same_events,
            idempotency::a_repeated_message_with_the_same_key_is_one_message,
            idempotency::messages_that_come_at_once_with_one_key_are_one_message,
            idempotency::a_key_counts_in_its_own_session_alone,
            problems::a_refusal_is_a_problem_that_names_its_kind,
            streams::a_stream_tells_the_log_as_it_is_written,
            streams::a_stream_that_begins_after_any_event_goes_on_with_the_next,
            streams::a_stream_goes_on_with_what_comes,
            streams::a_stream_ends_with_the_deletion_of_its_session,
            streams::a_stream_stays_open_over_the_end_of_its_session_and_goes_on_when_it_is_resumed,
        }
    };
    ($service:path: $($module:ident :: $check:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $check() {
                $crate::conformance::$module::$check(&mut $service()).await;
            }
        )+
    };
}
