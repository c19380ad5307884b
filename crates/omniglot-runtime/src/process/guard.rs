//! `omniglot guard`: the parent of one agent, which leaves none of its descendants behind.
//!
//! The tool shells of agents leave their process group, and a parent-death signal reaches only a child, so
//! nothing but a subreaper finds them all. One thread, no runtime and no allocation to speak of: it lives as
//! long as its agent, and there may be hundreds.
//!
//! Talks to the daemon alone, over the socket that is its standard input (see `wire`). Restarts nothing
//! and decides nothing: the daemon does.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgid, getpid, getppid, ioctl_tiocsctty, kill_process,
    kill_process_group, set_child_subreaper, set_parent_process_death_signal, setsid, wait,
};
use rustix::termios::isatty;
use signal_hook::consts::signal::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::pipe;

use self::wire::{AgentStdio, Order, Report};
use super::tree;
use crate::files;

pub(crate) mod wire;

/// Runs the program that `args` name (after `--`) until it or the daemon is gone. To be called before
/// anything else of the program has started: a second thread would break the parent-death signal.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    match guard(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when this fails too.
            drop(writeln!(io::stderr(), "omniglot guard, which only the daemon starts: {error}"));
            ExitCode::from(2)
        }
    }
}

/// The name of the process: `killall omniglot` means the daemon.
const NAME: &str = "agent-guard";

fn guard(args: impl Iterator<Item = OsString>) -> io::Result<()> {
    // A guard by another name works as well.
    drop(fs::write("/proc/self/comm", NAME));
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdio = wire::receive_stdio(&control)?;
    let wake = catch_signals()?;
    set_child_subreaper(Some(getpid()))?;
    if let Err(error) = setsid() {
        // It leads a group already when it was started as one: then no terminal reaches it either.
        (error == Errno::PERM).then_some(()).ok_or(error)?;
    }
    match spawn(args, stdio) {
        Ok(agent) => {
            let mut guard = Guard { control, wake, agent, reaped: false };
            guard.report(&Report::Pid(agent.as_raw_nonzero().get().unsigned_abs()));
            guard.watch();
            guard.end_all();
        }
        Err(error) => wire::send_report(&control, &Report::unspawned(&error)),
    }
    Ok(())
}

/// Caught, not ignored: what is ignored stays ignored in the agent, what is caught does not. They only wake
/// the guard up, for the end of an agent is the daemon's to order.
fn catch_signals() -> io::Result<UnixStream> {
    let (wake, write) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    for signal in [SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        pipe::register(signal, write.try_clone()?)?;
    }
    Ok(wake)
}

/// Starts the agent. The guard's own copies of its pipes are closed on return, so that the daemon sees
/// their end when the agent's are.
fn spawn(args: impl Iterator<Item = OsString>, stdio: AgentStdio) -> io::Result<Pid> {
    let mut args = args.skip_while(|arg| arg == "--" || files::obeyed(arg));
    let program = args.next().ok_or(io::ErrorKind::InvalidInput)?;
    let has_terminal = isatty(&stdio.stdin);
    let [input, output, errors] = <[OwnedFd; 3]>::from(stdio).map(Stdio::from);
    let mut command = Command::new(program);
    command.args(args).stdin(input).stdout(output).stderr(errors);
    if !has_terminal {
        command.process_group(0);
    }
    let (guard, stdin) = (getpid(), io::stdin());
    let prepare = move || {
        if has_terminal {
            // A session of its own, which this terminal controls: Ctrl-C and job control work then.
            setsid()?;
            ioctl_tiocsctty(stdin.as_fd())?;
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The guard may have died before the line above.
        (getppid() == Some(guard)).then_some(()).ok_or_else(|| io::Error::from(Errno::SRCH))
    };
    #[expect(unsafe_code, reason = "these are properties of the child and must be set in it")]
    // SAFETY: between fork and exec it makes at most four system calls and allocates nothing.
    unsafe {
        command.pre_exec(prepare);
    }
    Ok(Pid::from_child(&command.spawn()?))
}

struct Guard {
    control: UnixStream,
    /// Readable after a signal.
    wake: UnixStream,
    agent: Pid,
    /// After this the agent's number may be somebody else's.
    reaped: bool,
}

impl Guard {
    /// Obeys until the agent or the daemon is gone.
    fn watch(&mut self) {
        while !self.reaped {
            if self.await_event() && !self.obey() {
                return;
            }
            self.reap();
        }
    }

    /// Takes the orders that are there; false when the daemon is gone.
    fn obey(&mut self) -> bool {
        let mut orders = [0; 16];
        match self.control.read(&mut orders) {
            Ok(0) => false,
            Ok(count) => {
                let orders = orders.into_iter().take(count).filter_map(Order::from_byte);
                orders.for_each(|order| self.follow(order));
                true
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        }
    }

    fn follow(&self, order: Order) {
        match order {
            Order::Interrupt => self.interrupt(),
            Order::Terminate => unless_ended(kill_process(self.agent, Signal::TERM)),
            Order::Kill => self.kill_all(),
        }
    }

    /// Sends SIGINT as Ctrl-C in a terminal does. Each process gets it once: many take a second one for "at once".
    fn interrupt(&self) {
        if getpgid(Some(self.agent)) != Ok(self.agent) {
            unless_ended(kill_process(self.agent, Signal::INT));
        }
        unless_ended(kill_process_group(self.agent, Signal::INT));
    }

    fn kill_all(&self) {
        if !self.reaped {
            // In one step for the whole group: faster than it can fork.
            unless_ended(kill_process_group(self.agent, Signal::KILL));
        }
        for process in tree::descendants(getpid()).unwrap_or_default() {
            tree::kill(&process);
        }
    }

    /// Kills until nobody is left. It never gives up: what cannot be killed now (another user's, or stuck in
    /// the kernel) is killed when it can, or is seen to end.
    fn end_all(&mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            self.kill_all();
            if !self.reap() {
                return;
            }
            self.await_signal(&pause);
            pause.tv_nsec = (pause.tv_nsec * 2).min(LONGEST_PAUSE_NS);
        }
    }

    /// Takes leave of all that have ended: the agent, and orphans that became ours. False when no child is
    /// left, and then no descendant is: a subreaper gets every orphan.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => self.agent_ended(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn agent_ended(&mut self, status: WaitStatus) {
        self.reaped = true;
        self.report(&Report::ended(status));
    }

    fn report(&self, report: &Report) {
        wire::send_report(&self.control, report);
    }

    /// Waits for the daemon or a signal; true when the daemon has said something, or is gone.
    fn await_event(&mut self) -> bool {
        let mut both = [PollFd::new(&self.control, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        let said = retry_on_intr(|| poll(&mut both, None)).is_ok();
        let [control, _] = both;
        let said = said && !control.revents().is_empty();
        self.forget_signals();
        said
    }

    /// Waits for a signal only: the daemon may be gone, and its socket readable for ever.
    fn await_signal(&mut self, limit: &Timespec) {
        let mut wake = [PollFd::new(&self.wake, PollFlags::IN)];
        // A pause that ends early, by a signal, costs one more look.
        let _early = poll(&mut wake, Some(limit));
        self.forget_signals();
    }

    fn forget_signals(&mut self) {
        // What and how many they were does not matter: they only woke us. Empty is an error, and fine.
        drop(self.wake.read(&mut [0; 64]));
    }
}

/// A process that has ended in the meantime cannot be signalled, and need not be.
fn unless_ended(_: rustix::io::Result<()>) {}

const FIRST_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
const LONGEST_PAUSE_NS: i64 = 500_000_000;
