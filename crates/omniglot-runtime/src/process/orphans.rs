//! Ends processes that an agent has started and lost sight of.
//!
//! Which they are the adapter says, by their environment; a process that cannot be looked into is none.

use std::time::Duration;

use omniglot_agents::{Mark, Orphans};
use rustix::process::Pid;

use crate::process::tree::{self, Stat};

/// Such a process may still be on its way when the agent says that it has stopped: it is looked for twice.
const LOOKS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(100)];

/// A process that starts later than this after the order belongs to the next turn.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// How long the next turn waits after the order, so that none of its processes is taken for one of the last. The
/// system counts their start in hundredths of a second.
pub(crate) const QUIET: Duration = ON_ITS_WAY.saturating_add(Duration::from_millis(20));

/// Looks for them below the process `root`, beside whatever the caller does next.
pub(crate) fn end(root: u32, orphans: Orphans) {
    let Some(root) = i32::try_from(root).ok().and_then(Pid::from_raw) else { return };
    let latest = tree::ticks(tree::uptime() + ON_ITS_WAY);
    // Nobody waits for it: it ends by itself, and with the daemon all of its agents' processes end anyway.
    tokio::spawn(async move {
        for pause in LOOKS {
            tokio::time::sleep(pause).await;
            let orphans = orphans.clone();
            let look = tokio::task::spawn_blocking(move || look(root, latest, &orphans));
            drop(look.await);
        }
    });
}

fn look(root: Pid, latest: u64, orphans: &Orphans) {
    for process in tree::descendants(root).unwrap_or_default() {
        if process.start <= latest && is_left(&process, orphans) && tree::kill(&process) {
            tracing::info!(pid = %process.pid, "ended a process that its agent had lost");
        }
    }
}

fn is_left(process: &Stat, Orphans { of, spared, .. }: &Orphans) -> bool {
    let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
    bears(&environment, of) && !bears(&environment, spared)
}

fn bears(environment: &[u8], mark: &Mark) -> bool {
    let value = |variable: &[u8]| {
        let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
        (name == mark.name).then(|| value.to_owned())
    };
    let values = environment.split(|byte| *byte == 0).filter_map(value);
    values.into_iter().any(|value| mark.values.contains(&value))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(variables: &[(&str, &str)]) -> Child {
        Command::new("sleep").arg("1000").env_clear().envs(variables.iter().copied()).spawn().unwrap()
    }

    fn mark(name: &'static str, value: &str) -> Mark {
        Mark { name, values: vec![value.to_owned()] }
    }

    #[tokio::test]
    async fn what_bears_the_mark_and_is_not_spared_is_ended() {
        let mut left = sleeper(&[("THREAD", "orphans-a"), ("CALL", "2")]);
        let mut others = [
            sleeper(&[("THREAD", "orphans-a"), ("CALL", "1")]),
            sleeper(&[("THREAD", "orphans-b"), ("CALL", "2")]),
            sleeper(&[]),
        ];
        let spared = mark("CALL", "1");
        end(std::process::id(), Orphans { of: mark("THREAD", "orphans-a"), spared, detached: false });
        let ended = tokio::task::spawn_blocking(move || left.wait().unwrap()).await.unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
        for other in &mut others {
            assert_eq!(other.try_wait().unwrap(), None);
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    #[test]
    fn what_begins_later_belongs_to_the_next_turn() {
        let mut late = sleeper(&[("THREAD", "orphans-c")]);
        let stat = Stat::read(Pid::from_child(&late)).unwrap();
        let (of, spared) = (mark("THREAD", "orphans-c"), mark("CALL", "1"));
        let orphans = Orphans { of, spared, detached: false };
        look(rustix::process::getpid(), stat.start - 1, &orphans);
        assert_eq!(late.try_wait().unwrap(), None);
        look(rustix::process::getpid(), stat.start, &orphans);
        late.wait().unwrap();
    }
}
