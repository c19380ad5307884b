//! Gives memory back to the system after a burst: the allocator keeps what was freed between blocks that are in use.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

/// How often the resident memory is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So much more than after the last burst is worth the work.
const WORTH: u64 = 32 << 20;

/// Gives memory back after each burst; never ends.
pub(crate) async fn keep_small() {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = Watch::default();
    loop {
        looks.tick().await;
        if watch.is_over(resident()) {
            // It walks over all that the allocator has.
            drop(tokio::task::spawn_blocking(give_back).await);
            watch.settled(resident());
        }
    }
}

#[derive(Debug, Default)]
struct Watch {
    /// The resident memory after the last burst, or the least since.
    floor: Option<u64>,
    last: u64,
}

impl Watch {
    /// Whether a burst is over: more is resident than after the last one, and no more than a moment ago.
    fn is_over(&mut self, resident: u64) -> bool {
        let grows = resident > std::mem::replace(&mut self.last, resident);
        let floor = *self.floor.insert(self.floor.unwrap_or(resident).min(resident));
        !grows && resident > floor.saturating_add(WORTH)
    }

    fn settled(&mut self, resident: u64) {
        (self.floor, self.last) = (Some(resident), resident);
    }
}

/// Returns the resident memory of this process in bytes; 0 where nobody tells it.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "only the allocator itself can do it")]
fn give_back() {
    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> std::ffi::c_int;
    }
    // SAFETY: it may be called at any time and by any thread, and takes no pointer.
    unsafe {
        malloc_trim(0);
    }
}

/// Other allocators give it back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_burst_is_over_when_memory_does_not_grow_any_more() {
        let mut watch = Watch::default();
        let looks = [20, 40, 90, 300, 300].map(|now| watch.is_over(now * MIB));
        assert_eq!(looks, [false, false, false, false, true]);
        watch.settled(50 * MIB);
        let looks = [50, 70, 70, 90, 90].map(|now| watch.is_over(now * MIB));
        assert_eq!(looks, [false, false, false, false, true]);
        // What stays in use is not looked for again and again.
        watch.settled(90 * MIB);
        assert!(![90, 100, 90, 100, 90].map(|now| watch.is_over(now * MIB)).contains(&true));
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn memory_between_blocks_that_are_in_use_is_given_back() {
        const BLOCKS: usize = 64 << 10;
        let before = resident();
        let mut blocks: Vec<Option<Box<[u8; 1024]>>> =
            (0..BLOCKS).map(|_| Some(Box::new([1; 1024]))).collect();
        assert!(resident() > before + 48 * MIB);
        // One of a hundred stays, the last one too, so that nothing is free at the end of the heap.
        for (number, block) in blocks.iter_mut().enumerate() {
            if number % 100 != 0 && number + 1 != BLOCKS {
                *block = None;
            }
        }
        give_back();
        let after = resident();
        assert!(after < before + 24 * MIB, "{} MiB stay", (after - before) / MIB);
        assert!(blocks.iter().flatten().all(|block| block[0] == 1));
    }
}
