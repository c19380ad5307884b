//! The messages between the daemon and a guard, over one socket: first the agent's pipes go to the guard,
//! then orders of one byte; reports of one line come back. The end of the socket says that the other is gone.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::WaitStatus;

/// An order of the daemon about the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As Ctrl-C does: SIGINT to the agent and its group.
    Interrupt,
    /// SIGTERM to the agent.
    Terminate,
    /// SIGKILL to the agent and all its descendants.
    Kill,
}

impl Order {
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Interrupt => b'I',
            Self::Terminate => b'T',
            Self::Kill => b'K',
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Interrupt, Self::Terminate, Self::Kill].into_iter().find(|order| order.to_byte() == byte)
    }
}

/// A report of a guard. The first is `Pid` or `Unspawned`, the last is about the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    Pid(u32),
    Exit(i32),
    Signal(i32),
    Unspawned { errno: i32, message: String },
}

impl Report {
    pub(crate) fn ended(status: WaitStatus) -> Self {
        match status.terminating_signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Exit(status.exit_status().unwrap_or_default()),
        }
    }

    pub(crate) fn unspawned(error: &io::Error) -> Self {
        Self::Unspawned { errno: error.raw_os_error().unwrap_or_default(), message: error.to_string() }
    }

    pub(crate) fn render(&self) -> String {
        match self {
            Self::Pid(pid) => format!("pid {pid}\n"),
            Self::Exit(code) => format!("exit {code}\n"),
            Self::Signal(signal) => format!("signal {signal}\n"),
            Self::Unspawned { errno, message } => format!("spawn {errno} {message}\n"),
        }
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.trim_end().split_once(' ')?;
        match word {
            "pid" => rest.parse().ok().map(Self::Pid),
            "exit" => rest.parse().ok().map(Self::Exit),
            "signal" => rest.parse().ok().map(Self::Signal),
            "spawn" => {
                let (errno, message) = rest.split_once(' ')?;
                Some(Self::Unspawned { errno: errno.parse().ok()?, message: message.to_owned() })
            }
            _ => None,
        }
    }
}

/// Tells the daemon. That it is gone is noticed by reading, so a failed write is no news.
pub(crate) fn send_report(mut control: &UnixStream, report: &Report) {
    drop(control.write_all(report.render().as_bytes()));
}

/// The agent's ends of its pipes. They travel over the socket, so that the guard never has them as its own
/// standard streams and no number has to be agreed upon.
#[derive(Debug)]
pub(crate) struct AgentStdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl From<AgentStdio> for [OwnedFd; 3] {
    fn from(stdio: AgentStdio) -> Self {
        [stdio.stdin, stdio.stdout, stdio.stderr]
    }
}

/// To be sent before the guard is started: the socket is empty then, so this does not block.
pub(crate) fn send_stdio(control: &UnixStream, stdio: &AgentStdio) -> io::Result<()> {
    let pipes = [stdio.stdin.as_fd(), stdio.stdout.as_fd(), stdio.stderr.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&pipes)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(control, &[IoSlice::new(b"S")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for the pipes. They are closed on exec, so that only the agent's own three reach the agent.
pub(crate) fn receive_stdio(control: &UnixStream) -> io::Result<AgentStdio> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(control, &mut [IoSliceMut::new(&mut [0])], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut pipes = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(pipes) => Some(pipes),
        _ => None,
    });
    let mut pipes = pipes.next().into_iter().flatten();
    match (pipes.next(), pipes.next(), pipes.next()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(AgentStdio { stdin, stdout, stderr }),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_wire() {
        let unspawned = Report::Unspawned { errno: 13, message: "Permission denied (os error 13)".into() };
        for report in [Report::Pid(7), Report::Exit(3), Report::Signal(9), unspawned] {
            assert_eq!(Report::parse(&report.render()), Some(report));
        }
        assert_eq!(Report::parse("hello"), None);
    }

    #[test]
    fn orders_survive_the_wire() {
        for order in [Order::Interrupt, Order::Terminate, Order::Kill] {
            assert_eq!(Order::from_byte(order.to_byte()), Some(order));
        }
        assert_eq!(Order::from_byte(b'?'), None);
    }

    #[test]
    fn a_socket_without_pipes_is_refused() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(ours);
        assert_eq!(receive_stdio(&theirs).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
