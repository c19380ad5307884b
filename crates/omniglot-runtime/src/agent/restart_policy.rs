//! How often a server, or the process of a session, was started and how it ended: whether to start it again, and what
//! to tell.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniglot_schema::{ServerStatus, ServerStatusInfo};
use omniglot_store::SessionNo;
use tokio::time::Instant;

use crate::agent::session_start::StartErrorKind;

/// So many deaths within this time, and it is left alone until the first of them is forgotten.
const DEATHS: usize = 5;
const WITHIN: Duration = Duration::from_secs(10 * 60);

/// The pause before it is started again doubles with every death.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(crate) struct RestartPolicy {
    started: u64,
    running_since: Option<Instant>,
    /// When it died unexpectedly, or did not start.
    deaths: VecDeque<Instant>,
    /// Whether the last thing that it did was to die.
    is_dead: bool,
    last_error: Option<String>,
}

impl RestartPolicy {
    /// How long to wait before the next start, or why there is none.
    pub(crate) fn pause(&mut self, what: &str) -> Result<Duration, String> {
        self.forget();
        if self.deaths.len() >= DEATHS {
            let last = self.last_error.as_deref().unwrap_or("no reason given");
            return Err(format!(
                "{what} ended {DEATHS} times within 10 minutes and is not started again for now; the last time: {last}"
            ));
        }
        let doublings = u32::try_from(self.deaths.len()).unwrap_or(u32::MAX);
        // The first restart is at once: most servers die once and never again.
        Ok(doublings.checked_sub(2).map_or(Duration::ZERO, |n| FIRST_PAUSE * 2_u32.saturating_pow(n)))
    }

    fn forget(&mut self) {
        while self.deaths.front().is_some_and(|death| death.elapsed() > WITHIN) {
            self.deaths.pop_front();
        }
    }

    /// Whether a later start has to know of it.
    pub(crate) fn is_of_use(&mut self) -> bool {
        self.forget();
        self.running_since.is_some() || !self.deaths.is_empty()
    }

    pub(crate) fn started(&mut self) {
        self.started += 1;
        self.is_dead = false;
        self.running_since = Some(Instant::now());
    }

    pub(crate) fn ended(&mut self) {
        self.is_dead = false;
        self.running_since = None;
    }

    /// A program that is not there, or says no, has not died: the next try tells the same reason, or works
    /// because somebody has installed it.
    pub(crate) fn not_started(&mut self, why: &StartErrorKind) {
        let told = why.tell().0;
        match why {
            StartErrorKind::Spawn(_) | StartErrorKind::Refused(_) | StartErrorKind::Unknown(_) => {
                self.last_error = Some(told)
            }
            StartErrorKind::Exited { .. } | StartErrorKind::Silent { .. } | StartErrorKind::GaveUp(_) => {
                self.failed(&told)
            }
        }
    }

    pub(crate) fn failed(&mut self, why: &str) {
        self.is_dead = true;
        self.running_since = None;
        self.deaths.push_back(Instant::now());
        self.last_error = Some(why.to_owned());
    }

    pub(crate) fn status(&self) -> ServerStatusInfo {
        let uptime = self.running_since.map(|since| since.elapsed());
        let status = match (uptime, self.deaths.back()) {
            (Some(_), _) => ServerStatus::Running,
            (None, Some(death)) if self.is_dead && death.elapsed() <= WITHIN => ServerStatus::Error,
            (None, _) => ServerStatus::Stopped,
        };
        ServerStatusInfo {
            status,
            base_url: None,
            uptime_ms: uptime.map(|uptime| u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX)),
            restart_count: self.started.saturating_sub(1),
            last_error: self.last_error.clone(),
        }
    }
}

/// The deaths of the processes that sessions have for themselves. A turn that ends makes them forgotten.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionRestarts {
    policies: Arc<Mutex<HashMap<SessionNo, RestartPolicy>>>,
}

impl SessionRestarts {
    pub(crate) fn pause(&self, session: SessionNo) -> Result<Duration, String> {
        self.lock().get_mut(&session).map_or(Ok(Duration::ZERO), |policy| policy.pause("its process"))
    }

    pub(crate) fn died(&self, session: SessionNo, why: &str) {
        let mut policies = self.lock();
        policies.retain(|_, policy| policy.is_of_use());
        policies.entry(session).or_default().failed(why);
    }

    pub(crate) fn worked(&self, session: SessionNo) {
        self.lock().remove(&session);
    }

    /// Locks also after a panic: every change is whole.
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionNo, RestartPolicy>> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::SpawnError;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_keeps_dying_is_left_alone_until_its_deaths_are_forgotten() {
        let mut restarts = RestartPolicy::default();
        let mut pauses = Vec::new();
        for _ in 0..DEATHS {
            pauses.push(restarts.pause("its server").unwrap());
            restarts.failed("it exited with code 7");
        }
        assert!(pauses.is_sorted() && pauses.last() > pauses.first());
        assert!(restarts.pause("its server").unwrap_err().contains("code 7"));
        assert_eq!(restarts.status().status, ServerStatus::Error);
        tokio::time::advance(WITHIN + Duration::from_secs(1)).await;
        assert_eq!(restarts.pause("its server"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_program_that_is_not_there_is_looked_for_again_and_again() {
        let mut restarts = RestartPolicy::default();
        let missing = SpawnError::NotFound { program: "codex".to_owned() };
        let why = StartErrorKind::Spawn(missing);
        for _ in 0..=DEATHS {
            assert_eq!(restarts.pause("its server"), Ok(Duration::ZERO));
            restarts.not_started(&why);
        }
        let status = restarts.status();
        assert_eq!(status.status, ServerStatus::Stopped);
        assert_eq!(status.last_error.as_deref(), Some("program not found: codex"));
    }

    #[test]
    fn one_that_died_and_later_ended_in_peace_is_stopped_and_not_an_error() {
        let mut restarts = RestartPolicy::default();
        restarts.started();
        restarts.failed("gone");
        assert_eq!(restarts.status().status, ServerStatus::Error);
        restarts.started();
        restarts.ended();
        assert_eq!(restarts.status().status, ServerStatus::Stopped);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_server_tells_its_uptime_and_restarts() {
        let mut restarts = RestartPolicy::default();
        restarts.started();
        restarts.failed("gone");
        restarts.started();
        tokio::time::advance(Duration::from_millis(1500)).await;
        let status = restarts.status();
        assert_eq!((status.status, status.uptime_ms), (ServerStatus::Running, Some(1500)));
        assert_eq!(status.restart_count, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_process_of_a_session_is_started_again_after_growing_pauses_until_it_is_left_alone() {
        let (one, other) = (SessionNo(1), SessionNo(2));
        let restarts = SessionRestarts::default();
        let mut pauses = Vec::new();
        for _ in 0..DEATHS {
            pauses.push(restarts.pause(one).unwrap());
            restarts.died(one, "it crashed");
        }
        assert!(pauses.is_sorted() && pauses.last() > pauses.first(), "{pauses:?}");
        assert!(restarts.pause(one).unwrap_err().contains("it crashed"));
        assert_eq!(restarts.pause(other), Ok(Duration::ZERO));
        tokio::time::advance(WITHIN + Duration::from_secs(1)).await;
        restarts.died(other, "it crashed");
        assert_eq!(restarts.lock().len(), 1, "what is over is not kept");
        restarts.worked(other);
        assert_eq!(restarts.pause(other), Ok(Duration::ZERO));
    }
}
