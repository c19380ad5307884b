//! The agent at work: it writes frames, and has its fault.

use std::fs::File;
use std::io::{Write as _, stdout};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::fault::Fault;
use super::server::Streams;
use super::wire::Turn;

/// More than the longest line that the tests allow.
const HUGE: usize = 3 << 20;
const FLOOD: usize = 1_500;
/// More than may be open.
const REQUESTS: usize = 300;
/// A child that somebody has to end sleeps for this long.
const CHILD_SECONDS: &str = "86399";

pub(crate) struct Agent {
    fault: Fault,
    output: Output,
}

impl Agent {
    pub(crate) fn new(fault: Fault, output: Output) -> Self {
        Self { fault, output }
    }

    pub(crate) fn fault(&self) -> Fault {
        self.fault
    }

    pub(crate) fn starts(&self) {
        match self.fault {
            Fault::NeverReads => rest(),
            Fault::ExitsAtOnce => std::process::exit(3),
            Fault::GarbageAtStart => raw(b"Welcome!\n{\"half\": \n\n[1, 2\n"),
            Fault::FloodAtStart => {
                (0..FLOOD).for_each(|_| raw(b"Loading the best agent that there is ...\n"))
            }
            Fault::HugeLineAtStart => raw(&[&vec![b'x'; HUGE][..], b"\n"].concat()),
            Fault::EndlessLineAtStart => loop {
                raw(&[b'x'; 1 << 16]);
            },
            Fault::ClosesOutputAtStart => {
                close_output();
                rest();
            }
            _ => {}
        }
    }

    pub(crate) fn sets_up(&self, answers: &[Value]) {
        let frame = |value: &Value| self.output.frame(value);
        match self.fault {
            Fault::NeverAnswers => {}
            Fault::DiesInHandshake => self.output.dies_within(answers),
            Fault::AnswersTwice => answers.iter().chain(answers).for_each(frame),
            _ => answers.iter().for_each(frame),
        }
    }

    pub(crate) fn works(&self, turn: &Turn) {
        let frame = |value: &Value| self.output.frame(value);
        let raw = |bytes: &[u8]| self.output.raw(bytes);
        let text = |words: &str| frame(&(turn.text)(words));
        let ask = |number: usize| frame(&(turn.ask)(number));
        let begin = || turn.begin.iter().for_each(frame);
        let end = || turn.end.iter().for_each(frame);
        match self.fault {
            Fault::Silent | Fault::IgnoresSignals => rest(),
            Fault::DiesUnanswered => std::process::exit(3),
            Fault::EndsWithoutBeginning => return end(),
            Fault::ClosesInput => close_input(),
            _ => {}
        }
        begin();
        text("Working.");
        match self.fault {
            Fault::DiesInMidLine => self.output.dies_within(&[(turn.text)("half of a sentence")]),
            Fault::DiesInMidTurn => std::process::exit(3),
            Fault::KillsItself => std::process::abort(),
            Fault::ClosesOutput => {
                self.output.close();
                rest();
            }
            Fault::ClosesInput | Fault::NeverEnds => rest(),
            Fault::Garbage => raw(b"Segmentation fault (core dumped)\n{\"type\":\n\"words\"\n{}\n[]\nnull\n"),
            Fault::NotUtf8 => raw(b"{\"type\":\"\xff\xfe\"}\n\xc3\x28\n"),
            Fault::NulBytes => raw(b"\0\0\0\n{\"type\":\"\0\"}\n"),
            Fault::EmptyLines => raw(b"\n\n   \n\t\n\r\n"),
            Fault::CarriageReturns => raw(format!("{}\r\n", (turn.text)("with a return")).as_bytes()),
            Fault::HugeLine => text(&"x".repeat(HUGE)),
            Fault::HugeSum => (0..64).for_each(|number| text(&format!("{number} {}", "x".repeat(1 << 16)))),
            Fault::Floods => (0..FLOOD).for_each(|number| text(&format!("word {number}"))),
            Fault::DeepJson => raw(format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()),
            Fault::UnknownFrames => {
                frame(&json!({ "type": "telepathy", "method": "mind/read", "params": {} }));
                frame(&json!({ "jsonrpc": "2.0", "id": 5555, "method": "mind/ask", "params": {} }));
            }
            Fault::WrongTypes => {
                frame(&json!({ "type": 7, "id": [], "method": {}, "params": 3 }));
                frame(&json!({ "type": "assistant", "message": 7, "session_id": 7 }));
                frame(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": 7 } }));
                frame(&json!({ "method": "item/completed", "params": { "threadId": 7, "item": "x" } }));
            }
            Fault::StrayAnswer => frame(&turn.stray_answer),
            Fault::AnswersItself => {
                ask(0);
                frame(&turn.own_answer);
            }
            Fault::OtherSession => frame(&turn.foreign_text),
            Fault::EndlessRequests => {
                (0..REQUESTS).for_each(ask);
                rest();
            }
            Fault::RepeatsRequest => (0..3).for_each(|_| ask(0)),
            Fault::RepeatsFrames => {
                begin();
                text("Working.");
            }
            Fault::LeavesChild => child(&["sleep", CHILD_SECONDS]),
            Fault::LeavesDaemon => {
                child(&["setsid", "sh", "-c", &format!("sleep {CHILD_SECONDS} & sleep {CHILD_SECONDS}")])
            }
            Fault::FloodsStderr => {
                let line = [b'e'; 120];
                let mut stderr = std::io::stderr().lock();
                (0..FLOOD).for_each(|_| done(stderr.write_all(&line).and_then(|()| stderr.write_all(b"\n"))));
            }
            Fault::Drips => {
                for byte in format!("{}\n", (turn.text)("drop by drop")).bytes() {
                    raw(&[byte]);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Fault::EatsMemory => drop(std::hint::black_box(vec![1_u8; 256 << 20])),
            Fault::FillsDisk => done(std::fs::write("large.bin", vec![0_u8; 32 << 20])),
            _ => {}
        }
        end();
        match self.fault {
            Fault::EndsTwice => end(),
            Fault::SpeaksAfterTheEnd => text("One more thing."),
            Fault::AsksAfterTheEnd => ask(0),
            Fault::FloodsAfterTheEnd => (0..FLOOD).for_each(|number| text(&format!("word {number}"))),
            _ => {}
        }
    }

    pub(crate) fn input_ended(&self) {
        if matches!(self.fault, Fault::IgnoresSignals | Fault::NeverAnswers) {
            rest();
        }
    }
}

/// Sleeps until somebody ends the process.
pub(crate) fn rest() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Where the frames go.
pub(crate) enum Output {
    Stdout,
    /// The event streams of a server.
    Events(Streams),
}

impl Output {
    fn frame(&self, frame: &Value) {
        match self {
            Self::Stdout => raw(format!("{frame}\n").as_bytes()),
            Self::Events(streams) => streams.write(format!("data: {frame}\n\n").as_bytes()),
        }
    }

    fn raw(&self, bytes: &[u8]) {
        match self {
            Self::Stdout => raw(bytes),
            Self::Events(streams) => streams.write(bytes),
        }
    }

    fn close(&self) {
        match self {
            Self::Stdout => close_output(),
            Self::Events(streams) => streams.close(),
        }
    }

    /// Writes a part of the last frame and exits.
    fn dies_within(&self, frames: &[Value]) -> ! {
        let text = frames.last().map(Value::to_string).unwrap_or_default();
        let half: String = text.chars().take(text.len() / 2).collect();
        self.raw(half.as_bytes());
        std::process::exit(3);
    }
}

pub(crate) fn raw(bytes: &[u8]) {
    let mut out = stdout().lock();
    done(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Nobody listens any more: so nothing more is said.
fn done(result: std::io::Result<()>) {
    if result.is_err() {
        std::process::exit(4);
    }
}

fn child(words: &[&str]) {
    let Some((program, arguments)) = words.split_first() else { return };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    done(command.spawn().map(drop));
}

/// The pipe is closed; what is written goes nowhere.
fn close_output() {
    let nowhere = File::options().write(true).open("/dev/null");
    done(nowhere.and_then(|nowhere| Ok(rustix::stdio::dup2_stdout(nowhere)?)));
}

fn close_input() {
    done(File::open("/dev/null").and_then(|nothing| Ok(rustix::stdio::dup2_stdin(nothing)?)));
}
