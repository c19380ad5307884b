//! `run` on a terminal, which here is one end of a pair.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use unicode_width::UnicodeWidthChar as _;

use super::harness::Harness;

const SPINNER: &[char] = &['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

#[test]
fn silence_is_told_by_a_spinner_that_leaves_no_trace() {
    let harness = Harness::new();
    let mut run = Terminal::run(&harness, 60, &["run", "[[text:3]] [[silence:1200]] [[text:3]]"]);
    assert!(run.finish().success());
    assert!(run.seen.contains(SPINNER), "{:?}", run.seen);
    let screen = run.screen();
    assert!(!screen.contains(SPINNER), "{screen}");
    assert!(screen.contains("many agents speak\n\nmany agents speak\n"), "{screen}");
}

#[test]
fn a_narrow_terminal_shows_no_line_too_long_and_takes_answers() {
    let harness = Harness::new();
    let mut run = Terminal::run(&harness, 40, &["run", "--scratch", "[[demo]]"]);
    run.read_until("[r]eject? ");
    run.type_in("o\n");
    assert!(run.finish().success());
    let screen = run.screen();
    // A path is left whole, so that it can be copied.
    let long = screen.lines().filter(|line| columns(line) > 40 && line.contains(' '));
    assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new(), "{screen}");
    for words in
        ["✓ allowed once", "  +One more line, added by the Omniglot\n  … mock agent.\n", "── end_turn ·"]
    {
        assert!(screen.contains(words), "{words:?} is missing in\n{screen}");
    }
    assert!(run.seen.contains("\x1b[32m+One more"), "{:?}", run.seen);
}

#[test]
fn a_terminal_that_changes_its_size_is_written_to_its_new_width() {
    let harness = Harness::new();
    let mut run = Terminal::run(&harness, 80, &["run", "[[text:10]] [[silence:1500]] [[text:10]]"]);
    // Not for a spinner: on a busy machine there is one before the first word, too.
    run.read_until("carries");
    run.resize(30);
    assert!(run.finish().success());
    let screen = run.screen();
    let prose: Vec<usize> =
        screen.lines().filter(|line| line.starts_with("many agents")).map(columns).collect();
    assert!(matches!(prose[..], [first, second] if first > 30 && second <= 30), "{prose:?}\n{screen}");
}

#[test]
fn a_terminal_that_knows_no_colours_gets_none() {
    let harness = Harness::new();
    let mut run = Terminal::of_kind("dumb", &harness, 80, &["run", "[[text:3]]"]);
    assert!(run.finish().success());
    assert!(run.seen.contains("── end_turn") && !run.seen.contains('\x1b'), "{:?}", run.seen);
}

/// A run on a terminal of its own.
pub(crate) struct Terminal {
    ours: File,
    child: Child,
    /// Every byte that was written to it.
    seen: String,
}

impl Terminal {
    pub(crate) fn run(harness: &Harness, width: u16, args: &[&str]) -> Self {
        Self::of_kind("xterm", harness, width, args)
    }

    fn of_kind(kind: &str, harness: &Harness, width: u16, args: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        resize(&ours, width);
        let side = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
        let mut command = harness.command(args);
        command.env("TERM", kind).stdin(side()).stdout(side()).stderr(side());
        let child = command.spawn().unwrap();
        Self { ours: ours.into(), child, seen: String::new() }
    }

    fn resize(&self, width: u16) {
        resize(&self.ours, width);
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn read_until(&mut self, words: &str) {
        while !self.seen.contains(words) {
            assert!(self.read(), "{words:?} never came: {}", self.seen);
        }
    }

    pub(crate) fn finish(&mut self) -> ExitStatus {
        while self.read() {}
        self.child.wait().unwrap()
    }

    /// Reads some bytes; `false` when the other end is closed, which a terminal reports as an error.
    fn read(&mut self) -> bool {
        let mut byte = [0; 1];
        let mut bytes = vec![];
        // Byte by byte to a whole character: the output is short, and is checked as text.
        while self.ours.read(&mut byte).is_ok_and(|count| count > 0) {
            bytes.extend(byte);
            if let Ok(text) = std::str::from_utf8(&bytes) {
                self.seen.push_str(text);
                return true;
            }
        }
        false
    }

    /// Returns the final screen.
    pub(crate) fn screen(&self) -> String {
        let mut lines = vec![vec![]];
        let mut column = 0;
        let mut rest = self.seen.chars();
        while let Some(c) = rest.next() {
            let line: &mut Vec<char> = lines.last_mut().unwrap();
            match c {
                '\x1b' => {
                    let mut number = String::new();
                    let letter = rest.by_ref().skip(1).find(|c| {
                        number.push(*c);
                        c.is_ascii_alphabetic()
                    });
                    match letter.unwrap() {
                        'G' => column = number.trim_end_matches('G').parse::<usize>().unwrap() - 1,
                        'K' => line.truncate(column),
                        'm' => {}
                        other => panic!("what does {other:?} do?"),
                    }
                }
                '\r' => column = 0,
                '\n' => lines.push(vec![]),
                _ => {
                    line.resize(line.len().max(column + 1), ' ');
                    *line.get_mut(column).unwrap() = c;
                    column += 1;
                }
            }
        }
        lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

fn resize(terminal: impl std::os::fd::AsFd, width: u16) {
    let size = Winsize { ws_row: 50, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

fn columns(line: &str) -> usize {
    line.chars().filter_map(char::width).sum()
}
