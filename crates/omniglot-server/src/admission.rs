//! How many connections there may be at once: a bound for all, and a lower one for those who have shown no token, so
//! that whoever connects and says nothing keeps nobody out.
//!
//! A connection is a stranger's until its first request with a valid token. When there are too many strangers the
//! oldest is cut off; when there are too many others the request is refused with 429.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::http::access::Visitor;
use crate::http::problem::Problem;

/// How long a connection may last without a valid token.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(10);

/// The bounds of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Those that have shown no valid token.
    pub strangers: usize,
    /// Those that have.
    pub admitted: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { strangers: 256, admitted: 4096 }
    }
}

#[derive(Debug)]
pub(crate) struct Admission {
    limits: ConnectionLimits,
    present: Mutex<Present>,
}

#[derive(Debug, Default)]
struct Present {
    /// Ends each stranger's connection, by the order of their arrival.
    strangers: BTreeMap<u64, CancellationToken>,
    admitted: usize,
    last: u64,
}

/// One connection. Dropped, it makes room for another.
#[derive(Debug)]
pub(crate) struct Ticket {
    admission: Arc<Admission>,
    number: u64,
    is_admitted: AtomicBool,
    cut_off: CancellationToken,
    entered: Instant,
}

impl Admission {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, present: Mutex::default() })
    }

    /// Takes a new connection, in the place of the oldest stranger's if there are too many.
    pub(crate) fn enter(self: &Arc<Self>) -> Arc<Ticket> {
        let cut_off = CancellationToken::new();
        let mut present = self.present();
        while present.strangers.len() >= self.limits.strangers.max(1) {
            if let Some((_, oldest)) = present.strangers.pop_first() {
                oldest.cancel();
            }
        }
        present.last += 1;
        let number = present.last;
        present.strangers.insert(number, cut_off.clone());
        let (is_admitted, entered) = (AtomicBool::new(false), Instant::now());
        Arc::new(Ticket { admission: self.clone(), number, is_admitted, cut_off, entered })
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Resolves when the connection must make room; never for one that was admitted.
    pub(crate) async fn cut_off(&self) {
        self.cut_off.cancelled().await;
    }

    /// Resolves when the connection has lasted too long without a valid token.
    pub(crate) async fn overdue(&self) {
        tokio::time::sleep_until(self.entered + STRANGER_TIMEOUT).await;
        if self.is_admitted.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Visitor for Ticket {
    fn admit(&self) -> Result<(), Problem> {
        if self.is_admitted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let limit = self.admission.limits.admitted;
        let mut present = self.admission.present();
        if present.admitted >= limit {
            let detail = format!("{limit} connections are open, which is the limit");
            let hint = "close some, or raise `connections` under [limits]; it stays below what the limit of open \
                        files (`ulimit -n`) allows";
            return Err(Problem::overloaded(detail).hint(hint));
        }
        // Another request of this connection may have been as fast.
        if !self.is_admitted.swap(true, Ordering::Relaxed) {
            present.admitted += 1;
            present.strangers.remove(&self.number);
        }
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut present = self.admission.present();
        if self.is_admitted.load(Ordering::Relaxed) {
            present.admitted -= 1;
        } else {
            present.strangers.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_makes_room_and_whoever_was_admitted_never_does() {
        let admission = Admission::new(ConnectionLimits { strangers: 2, admitted: 10 });
        let (known, first, second) = (admission.enter(), admission.enter(), admission.enter());
        assert!(known.cut_off.is_cancelled(), "a stranger as well until it shows its token");
        let known = admission.enter();
        assert!(first.cut_off.is_cancelled());
        known.admit().unwrap();
        let others = [admission.enter(), admission.enter()];
        assert!(second.cut_off.is_cancelled() && !known.cut_off.is_cancelled());
        assert!(others.iter().all(|ticket| !ticket.cut_off.is_cancelled()));
    }

    #[test]
    fn a_connection_that_ends_makes_room() {
        let admission = Admission::new(ConnectionLimits { strangers: 2, admitted: 1 });
        let (first, second) = (admission.enter(), admission.enter());
        first.admit().unwrap();
        first.admit().unwrap();
        assert_eq!(second.admit().unwrap_err().details().status, 429);
        drop(first);
        second.admit().unwrap();
        drop(second);
        let present = admission.present();
        assert_eq!((present.admitted, present.strangers.len()), (0, 0));
    }
}
