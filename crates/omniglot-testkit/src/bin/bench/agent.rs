//! The smallest ACP agent that can be timed: each chunk of a turn is its monotonic time of writing.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

/// Returns nanoseconds on the clock that all processes of this machine share.
pub(crate) fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

pub(crate) fn run() -> anyhow::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let result = match request.get("method").and_then(Value::as_str) {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}),
            Some("session/new") => json!({"sessionId": "clock"}),
            Some("session/prompt") => {
                let text = request.pointer("/params/prompt/0/text").and_then(Value::as_str);
                tick(text.and_then(|text| text.parse().ok()).context("the prompt is a number")?)?;
                json!({"stopReason": "end_turn"})
            }
            _ => continue,
        };
        say(&json!({"jsonrpc": "2.0", "id": request.get("id"), "result": result}))?;
    }
    Ok(())
}

fn tick(chunks: u64) -> anyhow::Result<()> {
    for _ in 0..chunks {
        std::thread::sleep(Duration::from_millis(2));
        let content = json!({"type": "text", "text": format!("t{} ", monotonic())});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        let params = json!({"sessionId": "clock", "update": update});
        say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))?;
    }
    Ok(())
}

fn say(message: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    Ok(out.flush()?)
}
