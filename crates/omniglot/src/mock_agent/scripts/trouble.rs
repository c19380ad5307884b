//! Words that misbehave on purpose: ignored signals, crashes, garbage, floods, huge lines, orphans.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, SessionNotification};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::mock_agent::rpc::Exit;
use crate::mock_agent::turn::{Delivery, Flow, Halt, Turn, message_chunk};

pub(in crate::mock_agent) fn deaf(turn: &mut Turn<'_>, _: u64) -> Flow {
    become_deaf(turn)?;
    let id = turn.next_message()?;
    loop {
        turn.update(message_chunk("I hear nothing. ", &id))?;
        turn.wait(Some(DEAF_PACE))?;
    }
}

pub(in crate::mock_agent) fn deaf_silent(turn: &mut Turn<'_>, _: u64) -> Flow {
    become_deaf(turn)?;
    turn.wait(None)
}

/// Some real agents outlive their stdin. The limit ends the process when no test kills it.
pub(in crate::mock_agent) fn deaf_eof(turn: &mut Turn<'_>, _: u64) -> Flow {
    become_deaf(turn)?;
    std::thread::sleep(Duration::from_secs(600));
    Ok(())
}

fn become_deaf(turn: &mut Turn<'_>) -> Flow {
    turn.deaf = true;
    if let Err(error) = ignore_signals() {
        complain(turn, &format!("signals still reach me: {error}"))?;
    }
    Ok(())
}

/// Only SIGKILL ends the process after this. A signal listener replaces the default action, also after it is
/// dropped; the standard library has no safe way of its own.
fn ignore_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    kinds.into_iter().try_for_each(|kind| signal(kind).map(drop))
}

pub(in crate::mock_agent) fn crash(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("I feel unwell, ")?;
    complain(turn, "this crash was asked for")?;
    Err(Halt::Exit(CRASHED))
}

pub(in crate::mock_agent) fn crash_midline(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("I feel unwell, ")?;
    turn.agent.wire.raw(br#"{"jsonrpc":"2.0","method":"session/update","params":{"sess"#)?;
    Err(Halt::Exit(CRASHED))
}

fn complain(turn: &mut Turn<'_>, text: &str) -> Flow {
    writeln!(turn.agent.errors, "mock-agent: {text}").map_err(|_| Halt::Exit(Exit::PEER_GONE))
}

pub(in crate::mock_agent) fn garbage(turn: &mut Turn<'_>, _: u64) -> Flow {
    let wire = &mut turn.agent.wire;
    wire.raw(b"this line is not JSON\n")?;
    wire.raw(b"this line is not UTF-8: \xff\xfe\xc3\x28\n")?;
    wire.raw(b"{\"neither\":\"request\",\"nor\":\"answer\"}\n")?;
    let unknown = json!({ "sessionUpdate": "mock_unknown_update", "text": "a kind that nobody knows" });
    wire.notify(
        CLIENT_METHOD_NAMES.session_update,
        &json!({ "sessionId": turn.session, "update": unknown }),
    )?;
    wire.notify("mock/unknown_notification", &json!({ "sessionId": turn.session }))?;
    // Its answer is not awaited: a client that never answers must not hang the script.
    wire.call("mock/unknown_request", &json!({ "sessionId": turn.session }))?;
    turn.say("That was garbage; now I speak properly again.")
}

pub(in crate::mock_agent) fn hugeline(turn: &mut Turn<'_>, bytes: u64) -> Flow {
    let id = turn.next_message()?;
    let note = |text| SessionNotification::new(turn.session.clone(), message_chunk(text, &id));
    let frame = json!({
        "jsonrpc": "2.0", "method": CLIENT_METHOD_NAMES.session_update, "params": note(String::new()),
    });
    let overhead = frame.to_string().len() + "\n".len();
    let filler = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(overhead);
    let note = note("x".repeat(filler));
    // Not through `deliver`: so much text must not reach the history.
    turn.agent.wire.notify(CLIENT_METHOD_NAMES.session_update, &note)?;
    turn.breathe()
}

pub(in crate::mock_agent) fn flood(turn: &mut Turn<'_>, count: u64) -> Flow {
    let id = turn.next_message()?;
    for number in 0..count {
        turn.deliver(message_chunk(format!("{number} "), &id), Delivery::Buffered)?;
        if number % 256 == 255 {
            turn.breathe()?;
        }
    }
    Ok(turn.agent.wire.flush()?)
}

pub(in crate::mock_agent) fn stderr(turn: &mut Turn<'_>, count: u64) -> Flow {
    for number in 0..count {
        complain(turn, &format!("line {number}"))?;
    }
    turn.breathe()
}

/// Starts a process of another session whose parent is gone: the kind that survives a careless supervisor.
pub(in crate::mock_agent) fn orphan(turn: &mut Turn<'_>, _: u64) -> Flow {
    let started = Command::new("setsid")
        .args(["sh", "-c", "sleep 600 </dev/null >/dev/null 2>&1 & echo $!"])
        .stdin(Stdio::null())
        .output();
    let text = match started {
        Ok(output) => format!("orphan pid {}", String::from_utf8_lossy(&output.stdout).trim()),
        Err(error) => format!("no orphan: {error}"),
    };
    turn.say(&text)
}

const DEAF_PACE: Duration = Duration::from_millis(200);
const CRASHED: Exit = Exit(7);
