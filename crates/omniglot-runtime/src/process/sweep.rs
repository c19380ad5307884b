//! The record of running guards, and the sweep of what a dead daemon left: for the case that even a guard
//! failed (it was killed or stopped, or its agent could not be killed then).
//!
//! A record names a process by number *and* start time, so that a later process with that number is never
//! touched. It outlives its daemon unless the guard is known to have ended. What a dead guard left behind is found by
//! its [`Mark`].

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, getpid};

use crate::digest::sha256;
use crate::process::tree::{self, Stat};

/// The environment variable that everything below a guard inherits. A process that clears its environment after its
/// guard was killed is not found again.
pub const MARK: &str = "OMNIGLOT_GUARD";

/// Names a guard among all of a machine: the daemon's data directory, then the guard.
#[derive(Debug, Clone)]
pub struct Mark(String);

impl Mark {
    pub(crate) fn new(run_dir: &Path) -> Self {
        // Its path is final only once it is there; a record that cannot be written is told by its own error.
        drop(fs::create_dir_all(run_dir));
        Self(format!("{}{}", owner(run_dir), uuid::Uuid::new_v4().simple()))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// Kills everything that bears the mark; false when something is left.
    pub(crate) fn end_all(&self) -> bool {
        end_marked(&self.0).1
    }
}

/// The first half of a mark, common to all guards of a daemon.
fn owner(run_dir: &Path) -> String {
    let dir = run_dir.canonicalize().unwrap_or_else(|_| run_dir.to_owned());
    let hash = sha256(dir.as_os_str().as_encoded_bytes());
    format!("{}.", hash.get(..16).unwrap_or(&hash))
}

/// Kills all processes with such a mark. Returns how many there were, and whether all are gone.
fn end_marked(mark: &str) -> (usize, bool) {
    let variable = format!("{MARK}={mark}");
    let deadline = Instant::now() + KILL_TIMEOUT;
    let mut killed = 0;
    loop {
        let mut found = tree::with_variable(&variable).unwrap_or_default();
        // A daemon that an agent started bears the mark of that agent's guard.
        found.retain(|stat| stat.pid != getpid());
        if found.is_empty() || Instant::now() > deadline {
            return (killed, found.is_empty());
        }
        killed += found.iter().filter(|stat| tree::kill(stat)).count();
        thread::yield_now();
    }
}

/// One guard's file below the run directory. It stays when this is dropped: the guard may live on.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    guard: Name,
}

impl Record {
    pub fn create(dir: &Path, pid: u32) -> io::Result<Self> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        let guard = Name { pid: number, start: Stat::read(number)?.start };
        fs::create_dir_all(dir)?;
        let path = dir.join(guard.render());
        fs::write(&path, boot_id())?;
        Ok(Self { path, guard })
    }

    pub(crate) fn guard(&self) -> Name {
        self.guard
    }

    /// The guard and all below it are gone.
    pub fn remove(self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(%error, path = %path.display(), "a guard's record was not removed");
    }
}

/// The processes that a sweep has ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub guards: Vec<u32>,
    /// The number of processes that had lost their guard.
    pub orphans: usize,
}

/// Kills what the records in `dir` name and all below it, removes them, and kills what guards that were killed have
/// left.
///
/// To be called at start-up, by the daemon that owns the data directory, before it starts a guard.
pub fn sweep(dir: &Path) -> Swept {
    let Ok(entries) = fs::read_dir(dir) else { return Swept::default() };
    let boot = boot_id();
    let mut guards = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(name) = path.file_name().and_then(|name| Name::parse(name.to_str()?)) else { continue };
        // Start times count from boot: a record from before it names nobody.
        let same_boot = fs::read_to_string(&path).is_ok_and(|written| written == boot);
        if same_boot && name.end_tree() {
            guards.push(name.number());
        }
        remove(&path);
    }
    let (orphans, _) = end_marked(&owner(dir));
    Swept { guards, orphans }
}

/// A process, as the name of its record has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    pid: Pid,
    start: u64,
}

impl Name {
    pub(crate) fn number(self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

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

    /// Ends a guard that is stopped, and all below it: it would obey no order.
    pub(crate) fn end_if_stopped(&self) {
        if self.living().is_some_and(|guard| guard.stopped) {
            tracing::warn!(guard = %self.pid, "a guard is stopped; it is ended with all below it");
            self.end_tree();
        }
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
        Record::create(dir.path(), parent.id()).unwrap();

        assert_eq!(sweep(dir.path()), Swept { guards: vec![parent.id()], orphans: 0 });
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

        assert_eq!(sweep(dir.path()), Swept::default());
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

        assert_eq!(sweep(dir.path()), Swept::default());
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
        record.remove();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(sweep(&dir.path().join("missing")), Swept::default());
    }

    #[test]
    fn what_a_killed_guard_left_is_found_by_its_mark() {
        let [dir, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let marked = |dir: &Path| {
            let mark = Mark::new(dir);
            Command::new("sleep").arg("1000").env(MARK, mark.value()).spawn().unwrap()
        };
        let [mut ours, mut another] = [marked(dir.path()), marked(other.path())];
        let wait_for_exec = |child: &Child| {
            let path = format!("/proc/{}/comm", child.id());
            while fs::read_to_string(&path).unwrap().trim() != "sleep" {
                thread::yield_now();
            }
        };
        [&ours, &another].into_iter().for_each(wait_for_exec);
        assert_eq!(sweep(dir.path()), Swept { guards: vec![], orphans: 1 });
        assert_eq!(ours.wait().unwrap().signal(), Some(9));
        assert!(another.try_wait().unwrap().is_none(), "that of another daemon stays");
        another.kill().unwrap();
        another.wait().unwrap();
    }
}
