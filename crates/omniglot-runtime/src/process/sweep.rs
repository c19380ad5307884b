//! The record of running guards, and the sweep of what a dead daemon left: for the case that even a guard
//! failed (it was stopped, or its agent could not be killed then).
//!
//! A record names a process by number *and* start time, so that a later process with that number is never
//! touched.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::Pid;

use crate::process::tree::{self, Stat};

/// One guard's file below the run directory; removed when dropped.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
}

impl Record {
    pub fn create(dir: &Path, pid: u32) -> io::Result<Self> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        let name = Name { pid: number, start: Stat::read(number)?.start };
        fs::create_dir_all(dir)?;
        let path = dir.join(name.render());
        fs::write(&path, boot_id())?;
        Ok(Self { path })
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "a guard's record was not removed");
        }
    }
}

/// Kills what the records in `dir` name and all below it, and removes them. Returns the guards killed.
///
/// To be called at start-up, by the daemon that owns the data directory, before it starts a guard.
pub fn sweep(dir: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let boot = boot_id();
    let mut killed = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(name) = path.file_name().and_then(|name| Name::parse(name.to_str()?)) else { continue };
        // Start times count from boot: a record from before it names nobody.
        let same_boot = fs::read_to_string(&path).is_ok_and(|written| written == boot);
        if same_boot && name.end_tree() {
            killed.push(name.pid.as_raw_nonzero().get().unsigned_abs());
        }
        drop(Record { path });
    }
    killed
}

/// A process, as the name of its record has it.
struct Name {
    pid: Pid,
    start: u64,
}

impl Name {
    fn render(&self) -> String {
        format!("{}-{}", self.pid, self.start)
    }

    fn parse(name: &str) -> Option<Self> {
        let (pid, start) = name.split_once('-')?;
        Some(Self { pid: Pid::from_raw(pid.parse().ok()?)?, start: start.parse().ok()? })
    }

    /// Kills it and all below it; false when it was gone before. The descendants go first: without the
    /// guard nobody would know whose they were.
    fn end_tree(&self) -> bool {
        let found = self.living().is_some();
        let deadline = Instant::now() + KILL_TIMEOUT;
        while let Some(guard) = self.living() {
            let below = tree::descendants(self.pid).unwrap_or_default();
            if below.is_empty() || Instant::now() > deadline {
                tree::kill(&guard);
                break;
            }
            for process in &below {
                tree::kill(process);
            }
            thread::yield_now();
        }
        found
    }

    fn living(&self) -> Option<Stat> {
        Stat::read(self.pid).ok().filter(|stat| stat.start == self.start && !stat.zombie)
    }
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// How long one tree may resist.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    /// A process with a child below it; returns the child's number too.
    fn tree() -> (Child, Pid) {
        let mut parent = Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; exec sleep 1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (parent, Pid::from_raw(line.trim().parse().unwrap()).unwrap())
    }

    #[test]
    fn what_a_dead_daemon_left_is_killed_with_all_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let (mut parent, below) = tree();
        let below = pidfd_open(below, PidfdFlags::empty()).unwrap();
        // A daemon that is killed runs no destructor.
        std::mem::forget(Record::create(dir.path(), parent.id()).unwrap());

        assert_eq!(sweep(dir.path()), [parent.id()]);
        assert_eq!(parent.wait().unwrap().signal(), Some(9));
        poll(&mut [PollFd::new(&below, PollFlags::IN)], None).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_later_process_with_the_same_number_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let (mut parent, _) = tree();
        let record = Record::create(dir.path(), parent.id()).unwrap();
        let start = Stat::read(Pid::from_child(&parent)).unwrap().start;
        let other = dir.path().join(format!("{}-{}", parent.id(), start - 1));
        fs::rename(&record.path, &other).unwrap();

        assert_eq!(sweep(dir.path()), [0; 0]);
        assert!(!other.exists());
        assert!(parent.try_wait().unwrap().is_none());
        assert!(Name { pid: Pid::from_child(&parent), start }.end_tree());
        parent.wait().unwrap();
    }

    #[test]
    fn a_record_of_another_boot_and_a_strange_file_name_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let (mut parent, _) = tree();
        let record = Record::create(dir.path(), parent.id()).unwrap();
        fs::write(&record.path, "another boot").unwrap();
        fs::write(dir.path().join("notes.txt"), "").unwrap();

        assert_eq!(sweep(dir.path()), [0; 0]);
        assert!(parent.try_wait().unwrap().is_none());
        assert!(dir.path().join("notes.txt").exists(), "what we did not write stays");
        let start = Stat::read(Pid::from_child(&parent)).unwrap().start;
        assert!(Name { pid: Pid::from_child(&parent), start }.end_tree());
        parent.wait().unwrap();
    }

    #[test]
    fn a_record_goes_when_its_guard_does() {
        let dir = tempfile::tempdir().unwrap();
        let record = Record::create(dir.path(), std::process::id()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        drop(record);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(sweep(&dir.path().join("missing")), [0; 0]);
    }
}
