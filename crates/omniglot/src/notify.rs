//! Tells systemd when the daemon is ready, that it is alive, and that it stops (`sd_notify`).
//!
//! The sign of life goes the way of an event, through the log's writer: a daemon whose writer hangs gives none, and
//! is restarted. One whose disk is full goes on trying, and a restart would not help it.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use omniglot_store::Store;

/// How long a supervisor is given to read what was told before.
const UNREAD_PAUSE: Duration = Duration::from_millis(100);

/// The supervisor that has started this daemon.
#[derive(Debug)]
pub(crate) struct Supervisor {
    socket: UnixDatagram,
    /// How often it wants a sign of life at least.
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// Finds the supervisor by the variables that it has set.
    pub(crate) fn of_environment() -> Option<Self> {
        let address = std::env::var_os("NOTIFY_SOCKET").filter(|address| !address.is_empty())?;
        let text = |name| std::env::var(name).ok();
        let watchdog = watchdog(text("WATCHDOG_USEC"), text("WATCHDOG_PID"), std::process::id());
        match connect(address) {
            Ok(socket) => Some(Self { socket, watchdog }),
            Err(error) => {
                tracing::warn!(%error, "NOTIFY_SOCKET is set and cannot be reached");
                None
            }
        }
    }

    /// Tells that the daemon is ready once the log is, and then gives signs of life until the log is closed.
    pub(crate) async fn attend(self, store: Store) {
        if store.written().await.is_err() {
            return;
        }
        // A supervisor that misses a sign of life gets the next; this one is told once.
        while !self.tell("READY=1\n") {
            tokio::time::sleep(UNREAD_PAUSE).await;
        }
        let Some(watchdog) = self.watchdog else { return };
        loop {
            tokio::time::sleep(watchdog / 2).await;
            if store.written().await.is_err() {
                return;
            }
            self.tell("WATCHDOG=1\n");
        }
    }

    /// Tells that the daemon stops.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\n");
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, watchdog: self.watchdog })
    }

    /// Returns whether there was room for the message.
    fn tell(&self, message: &str) -> bool {
        let sent = self.socket.send(message.as_bytes());
        sent.inspect_err(|error| tracing::debug!(%error, "the supervisor was not told {message}")).is_ok()
    }
}

/// A supervisor that does not read must not hold the daemon up, so nothing is waited for.
fn connect(address: OsString) -> io::Result<UnixDatagram> {
    let address = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The variables are inherited by whoever does not remove them, so they may be meant for another process.
fn watchdog(microseconds: Option<String>, pid: Option<String>, own: u32) -> Option<Duration> {
    if pid.is_some_and(|pid| pid != own.to_string()) {
        return None;
    }
    let microseconds = microseconds?.parse().ok().filter(|microseconds| *microseconds > 0)?;
    Some(Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use omniglot_store::Options;

    use super::*;

    const WATCHDOG: Duration = Duration::from_secs(2);

    fn told(socket: &UnixDatagram) -> Option<String> {
        let mut text = [0; 64];
        match socket.recv(&mut text) {
            Ok(length) => Some(String::from_utf8_lossy(&text[..length]).into_owned()),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                None
            }
        }
    }

    async fn next(socket: &UnixDatagram) -> String {
        loop {
            match told(socket) {
                Some(text) => return text,
                None => tokio::time::advance(WATCHDOG / 2).await,
            }
        }
    }

    /// D7, P22: a side thread would go on telling that all is well.
    #[tokio::test(start_paused = true)]
    async fn a_daemon_whose_writer_hangs_gives_no_sign_of_life() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let (theirs, ours) = UnixDatagram::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let supervisor = Supervisor { socket: ours, watchdog: Some(WATCHDOG) };
        let attending = tokio::spawn(supervisor.attend(store.clone()));
        assert_eq!(next(&theirs).await, "READY=1\n");
        assert_eq!(next(&theirs).await, "WATCHDOG=1\n");

        let hold = store.hold_writer();
        while store.step_age().is_zero() {
            tokio::task::yield_now().await;
        }
        while told(&theirs).is_some() {}
        for _ in 0..100 {
            tokio::time::advance(WATCHDOG).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(told(&theirs), None);

        drop(hold);
        assert_eq!(next(&theirs).await, "WATCHDOG=1\n");
        store.close().await.unwrap();
        while !attending.is_finished() {
            tokio::time::advance(WATCHDOG).await;
        }
    }

    #[test]
    fn a_watchdog_of_another_process_is_none_of_ours() {
        let of = |microseconds: &str, pid: Option<&str>| {
            watchdog(Some(microseconds.into()), pid.map(Into::into), 7)
        };
        assert_eq!(of("3000000", None), Some(Duration::from_secs(3)));
        assert_eq!(of("3000000", Some("7")), Some(Duration::from_secs(3)));
        assert_eq!(of("3000000", Some("8")), None);
        assert_eq!(of("0", None), None);
        assert_eq!(of("soon", None), None);
    }
}
