//! The daemon as a service of our HTTP log: every check over a port, and some over the other ways to it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use omniglot_client::Trust;
use omniglot_schema::{CreateSessionRequest, MessageRequest};
use omniglot_testkit::conformance::{Address, Service};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::tls::TlsFiles;
use tempfile::TempDir;

/// A daemon, and what it needs on the disk.
struct Served {
    /// Only absent while it is started again.
    daemon: Option<Daemon>,
    trust: Trust,
    _socket: Option<TempDir>,
    _files: Option<TlsFiles>,
}

impl Served {
    fn new(setup: Setup, trust: Trust, socket: Option<TempDir>, files: Option<TlsFiles>) -> Self {
        Self { daemon: Some(setup.start()), trust, _socket: socket, _files: files }
    }
}

impl Service for Served {
    fn address(&self) -> Address {
        let daemon = self.daemon.as_ref().expect("a daemon");
        Address { url: daemon.url.clone(), token: daemon.token.clone(), trust: self.trust.clone() }
    }

    fn request(&self) -> CreateSessionRequest {
        CreateSessionRequest::new("mock")
    }

    fn message(&self, number: u64) -> MessageRequest {
        MessageRequest::new(format!("[[text:{number}]]"))
    }

    fn crash(&mut self) {
        let mut daemon = self.daemon.take().expect("a daemon");
        daemon.kill();
        self.daemon = Some(daemon.restart());
    }
}

fn setup() -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_omniglot"))
}

fn over_a_port() -> Served {
    Served::new(setup(), Trust::default(), None, None)
}

fn over_a_socket() -> Served {
    let dir = TempDir::new().unwrap();
    let at = format!("unix:{}", dir.path().join("o.sock").display());
    Served::new(setup().listen(at), Trust::default(), Some(dir), None)
}

fn over_tls() -> Served {
    let files = TlsFiles::default();
    let trust = Trust::Authorities(files.path("ca.pem"));
    Served::new(setup().tls(&files), trust, None, Some(files))
}

mod port {
    omniglot_testkit::conformance_tests!(super::over_a_port);
}

mod socket {
    omniglot_testkit::conformance_tests! { super::over_a_socket:
        all_sessions::the_stream_over_all_sessions_goes_on_after_any_of_its_frames,
        cursors::cursors_outlive_a_crash_and_name_the_same_events,
        idempotency::a_repeated_message_with_the_same_key_is_one_message,
        problems::a_refusal_is_a_problem_that_names_its_kind,
        streams::a_stream_goes_on_with_what_comes,
        streams::a_stream_ends_with_the_deletion_of_its_session,
    }
}

mod tls {
    omniglot_testkit::conformance_tests! { super::over_tls:
        all_sessions::the_stream_over_all_sessions_goes_on_after_any_of_its_frames,
        cursors::cursors_outlive_a_crash_and_name_the_same_events,
        idempotency::a_repeated_message_with_the_same_key_is_one_message,
        problems::a_refusal_is_a_problem_that_names_its_kind,
        streams::a_stream_goes_on_with_what_comes,
        streams::a_stream_ends_with_the_deletion_of_its_session,
    }
}
