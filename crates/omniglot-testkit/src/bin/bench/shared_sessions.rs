//! Many sessions on one real `codex app-server`: the cost of each for the daemon itself.
//!
//! The model is scripted, so that only the machine decides the duration. Without Codex the rows are missing,
//! and a line gives the reason.

use std::time::Instant;

use futures_util::future::join_all;
use omniglot_schema::{CreateSessionRequest, PermissionReply};
use omniglot_testkit::agents::{RealAgent, is_installed};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::session_driver::SessionDriver;

use crate::process::{cpu_time, rss};
use crate::progress;
use crate::subject::Programs;
use crate::table::Better::{Less, More};
use crate::table::{Figure, Table};

const SESSIONS: u64 = 50;
/// Each word of an answer is a delta.
const WORDS: usize = 200;
const NAME: &str = "omniglot";

pub(crate) async fn measure(programs: &Programs, table: &mut Table) -> anyhow::Result<()> {
    if !is_installed("codex") {
        progress("sessions on a shared server not measured: `cargo xtask agents codex` installs Codex");
        return Ok(());
    }
    let model = Model::responses().reply(Reply::text(&"word ".repeat(WORDS)).forever()).start();
    let agent = RealAgent::codex(&model);
    let daemon = Setup::new(&programs.omniglot).config(agent.toml()).start();
    // The first session starts the server and allocates everything that the daemon needs once.
    open(&daemon, 0).await.turn("Warm up.", PermissionReply::Once).await;
    let before = rss(daemon.pid())?;
    let sessions = join_all((1..=SESSIONS).map(|number| open(&daemon, number))).await;
    let memory = rss(daemon.pid())?.saturating_sub(before) / SESSIONS;
    let (began, cpu) = (Instant::now(), cpu_time(daemon.pid())?);
    let turns = sessions.iter().map(|session| session.turn("Go on.", PermissionReply::Once));
    let events: u64 = join_all(turns).await.iter().map(|turn| turn.events.len() as u64).sum();
    let (took, cpu) = (began.elapsed(), cpu_time(daemon.pid())? - cpu);
    let worked = rss(daemon.pid())?.saturating_sub(before) / SESSIONS;
    let mut add = |what: &str, figure, better| {
        table.add(NAME, format!("{SESSIONS} sessions on one Codex server: {what}"), figure, better, "");
    };
    add("servers", Figure::count(servers(&daemon)), Less);
    add("daemon memory per session, idle", Figure::kilobytes(memory), Less);
    add("daemon memory per session, after a turn", Figure::kilobytes(worked), Less);
    add("daemon CPU per turn", Figure::micros(cpu, SESSIONS), Less);
    add("daemon CPU per event", Figure::micros(cpu, events), Less);
    add("events", Figure::rate(events, took), More);
    Ok(())
}

async fn open(daemon: &Daemon, number: u64) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, &format!("s{number}"), &CreateSessionRequest::new("codex"))
        .await
}

fn servers(daemon: &Daemon) -> u64 {
    let is_server = |pid: &u32| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.ends_with("bin/codex")
    };
    daemon.descendants().iter().filter(|pid| is_server(pid)).count() as u64
}
