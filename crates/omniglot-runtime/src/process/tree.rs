//! The process tree from `/proc`: parents, children, and which of two processes with the same pid is meant.
//!
//! Decides nothing: the guard and the sweep say who has to go.

use std::collections::HashMap;
use std::time::Duration;
use std::{fs, io};

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};

/// A process as `/proc/<pid>/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
    /// Ended, and only waiting for its parent to look.
    pub(crate) zombie: bool,
    /// Stopped by a signal or a debugger: it does nothing until it is let go on.
    pub(crate) stopped: bool,
    /// In clock ticks since boot. Numbers are used again, a number with its start time is not.
    pub(crate) start: u64,
}

impl Stat {
    pub(crate) fn read(pid: Pid) -> io::Result<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat"))?;
        Self::parse(pid, &stat).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    fn parse(pid: Pid, stat: &[u8]) -> Option<Self> {
        // The name stands in parentheses and may contain anything, parentheses and spaces too.
        let after_name = memchr::memrchr(b')', stat)? + 1;
        let text = std::str::from_utf8(stat.get(after_name..)?).ok()?;
        let mut fields = text.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = Pid::from_raw(fields.next()?.parse().ok()?);
        let start = fields.nth(START_AFTER_PARENT)?.parse().ok()?;
        let (zombie, stopped) = (matches!(state, "Z" | "X"), matches!(state, "T" | "t"));
        Some(Self { pid, parent, zombie, stopped, start })
    }
}

/// All living processes below `root`, without itself. Parents come before their children.
pub(crate) fn descendants(root: Pid) -> io::Result<Vec<Stat>> {
    let mut children: HashMap<Pid, Vec<Stat>> = HashMap::new();
    for stat in all()? {
        if let Some(parent) = stat.parent {
            children.entry(parent).or_default().push(stat);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            found.push(child);
        }
    }
    found.retain(|stat| !stat.zombie);
    Ok(found)
}

/// All living processes of ours whose environment has a variable that begins so.
pub(crate) fn with_variable(beginning: &str) -> io::Result<Vec<Stat>> {
    let is_marked = |stat: &Stat| {
        // That of another user is not readable, and not ours to end.
        let variables = fs::read(format!("/proc/{}/environ", stat.pid)).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable.starts_with(beginning.as_bytes()))
    };
    Ok(all()?.filter(|stat| !stat.zombie && is_marked(stat)).collect())
}

fn all() -> io::Result<impl Iterator<Item = Stat>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| {
        let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
        // It may have ended since the directory was read.
        Stat::read(Pid::from_raw(number)?).ok()
    }))
}

/// Kills that very process and no later one with its number; says whether it was still there.
pub(crate) fn kill(stat: &Stat) -> bool {
    let Ok(pidfd) = pidfd_open(stat.pid, PidfdFlags::empty()) else { return false };
    // The pidfd holds whoever has the number now, so comparing after opening leaves no gap.
    let same = Stat::read(stat.pid).is_ok_and(|now| now.start == stat.start);
    same && pidfd_send_signal(&pidfd, Signal::KILL).is_ok()
}

/// How long the machine has been up, which is what start times count.
pub(crate) fn uptime() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// As start times are counted.
pub(crate) fn ticks(time: Duration) -> u64 {
    let ticks = time.as_millis() * u128::from(clock_ticks_per_second()) / 1000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// `starttime` is field 22, the parent's number is field 4.
const START_AFTER_PARENT: usize = 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"7 (a) S 1 (b) Z 42 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0 0\n";
        let pid = Pid::from_raw(7).unwrap();
        let stat = Stat::parse(pid, line).unwrap();
        assert_eq!(stat, Stat { pid, parent: Pid::from_raw(42), zombie: true, stopped: false, start: 98765 });
    }

    #[test]
    fn a_process_is_told_from_another_with_its_number() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let stat = Stat::read(Pid::from_child(&child)).unwrap();
        assert_eq!(stat.parent, Some(rustix::process::getpid()));
        assert!(!kill(&Stat { start: stat.start + 1, ..stat }));
        assert!(kill(&stat));
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(9));
        assert!(!kill(&stat));
    }
}
