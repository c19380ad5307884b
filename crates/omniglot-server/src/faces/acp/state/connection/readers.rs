//! The open streams of one client, and the position of each.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::lock;

#[derive(Debug)]
pub(crate) struct Readers {
    places: Mutex<Vec<watch::Receiver<u64>>>,
    open: watch::Sender<usize>,
}

/// The position of a stream; dropped with the stream.
#[derive(Debug)]
pub(crate) struct Reading {
    told: watch::Sender<u64>,
    open: watch::Sender<usize>,
}

impl Readers {
    pub(crate) fn new() -> Self {
        Self { places: Mutex::default(), open: watch::Sender::new(0) }
    }

    pub(crate) fn enter(&self, told: u64) -> Reading {
        let told = watch::Sender::new(told);
        lock(&self.places).push(told.subscribe());
        self.open.send_modify(|open| *open += 1);
        Reading { told, open: self.open.clone() }
    }

    pub(crate) fn count(&self) -> usize {
        self.places().len()
    }

    /// Returns the number up to which every stream has sent; `None` when there is no stream.
    pub(crate) fn slowest(&self) -> Option<u64> {
        self.places().iter().map(|place| *place.borrow()).min()
    }

    /// Resolves when every open stream has sent everything up to `number`. The connection's stall guard cuts
    /// a stream that is not read, and a stream that has ended no longer counts.
    pub(crate) async fn told(&self, number: u64) {
        for mut place in self.places() {
            drop(place.wait_for(|told| *told >= number).await);
        }
    }

    /// Resolves when there has been no stream for `timeout`.
    pub(crate) async fn deserted(&self, timeout: Duration) {
        let mut open = self.open.subscribe();
        loop {
            // The sender is ours, so waiting cannot fail.
            drop(open.wait_for(|open| *open == 0).await);
            tokio::select! {
                () = sleep(timeout) => return,
                _ = open.wait_for(|open| *open > 0) => {}
            }
        }
    }

    fn places(&self) -> Vec<watch::Receiver<u64>> {
        let mut places = lock(&self.places);
        places.retain(|place| place.has_changed().is_ok());
        places.clone()
    }
}

impl Reading {
    pub(crate) fn told(&self, number: u64) {
        self.told.send_if_modified(|told| std::mem::replace(told, number) != number);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;
    use tokio::time::{Instant, advance};

    use super::*;

    #[tokio::test]
    async fn everybody_is_as_far_as_the_slowest() {
        let readers = Readers::new();
        assert_eq!(readers.slowest(), None);
        let (one, two) = (readers.enter(3), readers.enter(5));
        assert_eq!((readers.slowest(), readers.count()), (Some(3), 2));
        let telling = async {
            two.told(7);
            one.told(7);
        };
        tokio::join!(readers.told(7), telling);
        drop(one);
        assert_eq!((readers.slowest(), readers.count()), (Some(7), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_gone_when_nobody_has_read_for_a_while() {
        let readers = Readers::new();
        let timeout = Duration::from_secs(30);
        let reading = readers.enter(0);
        let left = async {
            advance(2 * timeout).await;
            drop(reading);
            yield_now().await;
            advance(timeout / 2).await;
            let back = readers.enter(0);
            yield_now().await;
            advance(timeout).await;
            drop(back);
        };
        let begun = Instant::now();
        tokio::join!(readers.deserted(timeout), left);
        assert!(begun.elapsed() >= 4 * timeout, "{:?}", begun.elapsed());
    }
}
