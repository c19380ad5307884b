//! A terminal for tests that type and read the screen: tmux, with one program in it.
//!
//! Tests wait for the content of the screen, never for a time. `cargo xtask programs` installs tmux.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The timeout for a text to appear on the screen; a program may start slowly.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(60);
/// tmux does not report changes of a screen, so it is polled at this interval.
const PAUSE: Duration = Duration::from_millis(50);
/// Keeps a program's last output on the screen, with its exit code.
const STAYING: &str = "\"$@\"; echo \"[left with $?]\"; exec cat";
const COLUMNS: &str = "120";
const ROWS: &str = "60";
/// The patience of a person whose keys did nothing.
const PRESS_AGAIN: Duration = Duration::from_secs(5);

/// One program on a screen. It is ended when this value is dropped, as by closing the window.
pub struct Terminal {
    /// The folder of the socket of a separate tmux server.
    folder: TempDir,
}

impl Terminal {
    /// Starts a program with these variables and no others.
    pub fn open(command: &[String], env: &[(String, String)], directory: &Path) -> Self {
        let terminal = Self { folder: TempDir::new().expect("a temporary directory") };
        let mut tmux = terminal.tmux();
        tmux.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
        tmux.envs([("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]).current_dir(directory);
        tmux.args(["new-session", "-d", "-x", COLUMNS, "-y", ROWS, "-s", "screen", "--"]);
        tmux.args(["/bin/sh", "-c", STAYING, "sh"]).args(command);
        run(&mut tmux);
        terminal
    }

    /// Types a text as a person does, without the enter key.
    pub fn write(&self, text: &str) {
        run(self.tmux().args(["send-keys", "-t", "screen", "-l", "--", text]));
    }

    /// Presses a key by tmux's name for it: `Enter`, `Escape`, `Down`, `C-c`.
    pub fn press(&self, key: &str) {
        run(self.tmux().args(["send-keys", "-t", "screen", key]));
    }

    /// Returns the present screen, without the empty ends of lines.
    pub fn screen(&self) -> String {
        run(self.tmux().args(["capture-pane", "-p", "-t", "screen"]))
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn sees(&self, text: &str) -> String {
        self.until(&format!("{text:?} on it"), |screen| screen.contains(text))
    }

    /// Presses keys until a text is on the screen, as a person does whose keys came before the program was ready.
    #[track_caller]
    pub fn presses_until(&self, keys: &[&str], text: &str) -> String {
        let last_press = Cell::new(None);
        self.until(&format!("{text:?} on it after {keys:?}"), |screen| {
            let seen = screen.contains(text);
            if !seen && last_press.get().is_none_or(|press: Instant| press.elapsed() > PRESS_AGAIN) {
                keys.iter().for_each(|key| self.press(key));
                last_press.set(Some(Instant::now()));
            }
            seen
        })
    }

    /// Waits until a text is gone from the screen.
    #[track_caller]
    pub fn sees_no(&self, text: &str) -> String {
        self.until(&format!("no {text:?} on it"), |screen| !screen.contains(text))
    }

    /// Waits until the program has exited with this code.
    #[track_caller]
    pub fn sees_the_end(&self, code: i32) -> String {
        self.sees(&format!("[left with {code}]"))
    }

    /// Polls the screen until `good` accepts it.
    #[track_caller]
    pub fn until(&self, wanted: &str, good: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if good(&screen) {
                return screen;
            }
            assert!(began.elapsed() < SCREEN_TIMEOUT, "the screen never had {wanted}:\n{}", crop(&screen));
            std::thread::sleep(PAUSE);
        }
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("socket")).args(["-f", "/dev/null"]);
        command
    }
}

impl Drop for Terminal {
    #[expect(clippy::print_stderr, reason = "whoever reads of a failure wants to see the screen")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let screen = self.tmux().args(["capture-pane", "-p", "-t", "screen"]).output();
            let screen = screen.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            eprintln!("the screen at the end:\n{}", crop(&screen.unwrap_or_default()));
        }
        // The server may have ended already.
        let _ = self.tmux().arg("kill-server").output();
    }
}

fn crop(screen: &str) -> String {
    screen.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn run(command: &mut Command) -> String {
    let words: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
    let output = command.output().expect("tmux is not installed; run `cargo xtask programs`");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tmux {words:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Terminal {
        let command = ["/bin/sh", "-c", script].map(str::to_owned);
        Terminal::open(&command, &[("PATH".into(), "/usr/bin:/bin".into())], Path::new("/"))
    }

    #[test]
    fn what_is_typed_reaches_the_program_and_its_answer_the_screen() {
        let terminal = shell("echo ready; read word; echo \"got <$word>\"; read word");
        terminal.sees("ready");
        terminal.write("a; b");
        terminal.press("Enter");
        terminal.sees("got <a; b>");
    }

    #[test]
    fn the_last_words_of_a_program_stay() {
        let terminal = shell("echo farewell; exit 3");
        let screen = terminal.sees_the_end(3);
        assert!(screen.contains("farewell"), "{screen}");
    }
}
