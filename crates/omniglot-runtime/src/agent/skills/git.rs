//! Fetches one commit of a repository: without hooks, submodules, prompts and the user's own settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;
use omniglot_schema::secrets::secrets_in_url;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::copy::{MAX_BYTES, size_of};
use crate::process::{Exit, Launch, Process, SpawnError, Supervisor};

/// How often the size of what has come is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So much of git's own words explains a failure.
const MAX_WORDS: usize = 400;
const MAX_OUTPUT: usize = 64 * 1024;

/// Variables of the daemon that git needs to reach a server: nothing else is inherited.
const INHERITED: [&str; 14] = [
    "PATH",
    "LANG",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GIT_SSL_CAINFO",
];

const FIXED: [(&str, &str); 9] = [
    ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_SSH_COMMAND", "ssh -F none -o BatchMode=yes"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
];

/// Settings of every call.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
];

/// Checks the commit out into `to`, a new folder.
pub(super) async fn fetch(
    supervisor: &Supervisor,
    url: &str,
    reference: Option<&str>,
    to: &Path,
    timeout: Duration,
) -> Result<(), String> {
    std::fs::create_dir_all(to).map_err(|error| format!("no folder for it: {error}"))?;
    let git = Git { supervisor, to: to.to_owned(), timeout, deadline: Instant::now() + timeout };
    let reference = reference.unwrap_or("HEAD");
    let fetch =
        ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", url, reference];
    let steps: [&[&str]; 3] =
        [&["init", "--quiet", "--template="], &fetch, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]];
    for step in steps {
        git.run(step).await.map_err(|why| without_secrets(&why, url))?;
    }
    Ok(())
}

struct Git<'a> {
    supervisor: &'a Supervisor,
    to: PathBuf,
    timeout: Duration,
    deadline: Instant,
}

impl Git<'_> {
    async fn run(&self, words: &[&str]) -> Result<(), String> {
        let spawned = Process::spawn_command(self.supervisor, &launch(&self.to, words)).await;
        let (process, mut output) = spawned.map_err(|error| match error {
            SpawnError::NotFound { .. } => {
                "git is not installed; install it, or use a local folder".to_owned()
            }
            other => format!("git did not start: {other}"),
        })?;
        let mut said = Vec::new();
        let ended = {
            let listening = async {
                while let Some(chunk) = output.recv().await {
                    if said.len() < MAX_OUTPUT {
                        said.extend_from_slice(&chunk);
                    }
                }
                process.wait().await
            };
            self.watched(listening).await
        };
        if ended.is_err() {
            // Nothing writes any more when the folder is removed.
            process.kill();
            process.gone_or_left().await;
        }
        match ended? {
            Exit { code: Some(0), .. } => Ok(()),
            exit => Err(words_of(&said).unwrap_or_else(|| format!("git {exit}"))),
        }
    }

    /// Waits for the end, unless it takes too long or brings too much.
    async fn watched(&self, listening: impl Future<Output = Exit>) -> Result<Exit, String> {
        let mut listening = std::pin::pin!(listening);
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                exit = &mut listening => {
                    return if self.is_too_large() { Err(too_large()) } else { Ok(exit) };
                }
                () = tokio::time::sleep_until(self.deadline) => {
                    return Err(format!(
                        "it was not there within {} s; `skills_seconds` under [limits] in omniglot.toml gives it longer",
                        self.timeout.as_secs()
                    ));
                }
                _ = looks.tick() => {
                    if self.is_too_large() {
                        return Err(too_large());
                    }
                }
            }
        }
    }

    fn is_too_large(&self) -> bool {
        size_of(&self.to) > MAX_BYTES
    }
}

fn launch(to: &Path, words: &[&str]) -> Launch {
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    let inherited = INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let fixed = FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut env: IndexMap<String, String> = inherited.chain(fixed).collect();
    // Without one, programs look up that of the user.
    env.insert("HOME".to_owned(), to.to_string_lossy().into_owned());
    Launch {
        program: "git".to_owned(),
        args: settings.chain(words.iter().copied()).map(str::to_owned).collect(),
        env,
        env_clear: true,
        cwd: to.to_owned(),
    }
}

fn too_large() -> String {
    format!("it is larger than {} MiB", MAX_BYTES / 1024 / 1024)
}

fn words_of(said: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words: String = words.join("; ").chars().take(MAX_WORDS).collect();
    (!words.is_empty()).then(|| format!("git says: {words}"))
}

fn without_secrets(text: &str, url: &str) -> String {
    secrets_in_url(url).iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// A server that wants a password makes git look for one like this.
    #[test]
    fn git_asks_nobody_for_a_password() {
        let dir = tempfile::tempdir().unwrap();
        let (asker, asked) = (dir.path().join("asker"), dir.path().join("asked"));
        std::fs::write(&asker, format!("#!/bin/sh\ntouch {}\necho x\n", asked.display())).unwrap();
        std::fs::set_permissions(&asker, std::fs::Permissions::from_mode(0o755)).unwrap();
        let setting = format!("core.askPass={}", asker.display());
        let launch = launch(dir.path(), &["-c", &setting, "credential", "fill"]);
        let mut command = Command::new(launch.program);
        command.args(launch.args).env_clear().envs(launch.env).current_dir(launch.cwd);
        let mut git = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(b"protocol=https\nhost=127.0.0.1\n\n").unwrap();
        let output = git.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("terminal prompts disabled"), "{said}");
        assert!(!asked.exists());
    }
}
