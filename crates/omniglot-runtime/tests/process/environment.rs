//! Tests of the environment of a new process.

use omniglot_runtime::process::{Launch, Limits};
use rustix::process::{Pid, getpgid};

use crate::support::{Running, guard_program, launch, shell, start, start_with};

#[tokio::test]
async fn none_of_the_daemons_own_variables_reaches_an_agent_but_the_mark_of_its_guard() {
    let run_dir = tempfile::tempdir().unwrap();
    let output = tokio::process::Command::new(guard_program())
        .arg("own")
        .arg(run_dir.path())
        .arg("env")
        .env("OMNIGLOT_TOKEN", "secret")
        .env("OTHER", "kept")
        .output()
        .await
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("OTHER=kept"), "{text}");
    let own: Vec<_> = text.matches("OMNIGLOT_").collect();
    assert!(text.contains("OMNIGLOT_GUARD=") && own.len() == 1, "{text}");
}

#[tokio::test]
async fn a_cleared_environment_has_only_what_was_added_and_the_mark() {
    let env = [("ADDED".to_owned(), "yes".to_owned())].into_iter().collect();
    let launch = Launch { env, env_clear: true, ..launch("env", &[]) };
    let mut agent = start_with(launch, Limits::default()).await.unwrap();
    let mut variables = agent.all_text().await;
    variables.retain(|variable| !variable.starts_with("OMNIGLOT_GUARD="));
    assert_eq!(variables, ["ADDED=yes"]);
}

#[tokio::test]
async fn an_agent_works_in_its_sessions_directory() {
    let dir = tempfile::tempdir().unwrap();
    let launch = Launch { cwd: dir.path().to_owned(), ..launch("pwd", &["-P"]) };
    let mut agent = start_with(launch, Limits::default()).await.unwrap();
    assert_eq!(agent.line().await, dir.path().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn nothing_that_belongs_to_the_guard_is_open_in_an_agent() {
    let mut agent = start("ls", &["/proc/self/fd"]).await.unwrap();
    // Whoever started the tests may have left files open for all; no more than those.
    let plain = tokio::process::Command::new("ls").arg("/proc/self/fd").output().await.unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert_eq!(agent.all_text().await, plain.lines().collect::<Vec<_>>());
}

#[tokio::test]
async fn no_signal_is_blocked_or_ignored_in_an_agent() {
    let mut agent = start("grep", &["-E", "Sig(Blk|Ign)", "/proc/self/status"]).await.unwrap();
    let lines = agent.all_text().await;
    let masks = lines.iter().map(|line| {
        let (_, mask) = line.split_once('\t').unwrap();
        u64::from_str_radix(mask, 16).unwrap()
    });
    let of_interest = [1, 2, 3, 13, 15, 17].iter().fold(0u64, |mask, signal| mask | 1 << (signal - 1));
    assert_eq!(masks.map(|mask| mask & of_interest).collect::<Vec<_>>(), [0, 0]);
}

#[tokio::test]
async fn ctrl_c_in_the_daemons_terminal_does_not_reach_an_agent() {
    let Running { process, .. } = shell("exec sleep 1000").await;
    let pid = Pid::from_raw(process.pid().try_into().unwrap()).unwrap();
    assert_eq!(getpgid(Some(pid)).unwrap(), pid);
    assert_ne!(terminal_session(&pid.as_raw_nonzero().to_string()), terminal_session("self"));
}

/// As the kernel tells it: 0 where the session began outside of this container, which `getsid` of rustix does
/// not survive.
fn terminal_session(pid: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    after_name.split(' ').nth(3).unwrap().to_owned()
}
