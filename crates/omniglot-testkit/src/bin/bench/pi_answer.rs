//! One long answer of Pi, which repeats the whole message twice in every delta: what is said, and what is kept of it.
//!
//! The agent is this program, which speaks as Pi 0.73 does.

use std::fs;
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use omniglot_schema::{CreateSessionRequest, PermissionReply};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::SessionDriver;
use serde_json::{Value, json};

use crate::process::cpu_time;
use crate::subject::Programs;
use crate::table::Better::{Less, More};
use crate::table::{Figure, Table};

const NAME: &str = "omniglot";

pub(crate) async fn measure(programs: &Programs, deltas: u64, table: &mut Table) -> anyhow::Result<()> {
    let (repeated, plain) = (run(programs, deltas, "pi").await?, run(programs, deltas, "pi-plain").await?);
    let length = answer(deltas).concat().len() as u64;
    let mut add = |what: &str, figure, better, target| {
        table.add(NAME, format!("Pi, an answer of {} kB: {what}", length / 1000), figure, better, target);
    };
    // Two copies of a text that grows evenly to this length.
    add("said by the agent", Figure::megabytes(deltas * length), Less, "");
    let more = repeated.database.used.saturating_sub(plain.database.used);
    add("database, for what it repeats", Figure::megabytes(more), Less, "≤ 2 MB");
    add("database, all of it", Figure::megabytes(repeated.database.used), Less, "");
    add("database, with pages that are free again", Figure::megabytes(repeated.database.file), Less, "");
    add("daemon CPU", Figure::millis(repeated.cpu), Less, "");
    add("deltas", Figure::rate(deltas, repeated.took), More, "");
    Ok(())
}

/// The cost of one answer.
struct Cost {
    took: Duration,
    cpu: Duration,
    database: Database,
}

/// Has this program give a long answer in one of its two ways.
async fn run(programs: &Programs, deltas: u64, agent: &str) -> anyhow::Result<Cost> {
    let bench = programs.bench.display().to_string();
    let config = format!("[agents.pi]\nprotocol = \"pi\"\ncommand = [{bench:?}, {agent:?}]\n");
    let mut daemon = Setup::new(&programs.omniglot).config(config).start();
    let session = SessionDriver::create_with(&daemon.client, "long", &CreateSessionRequest::new("pi")).await;
    let (began, before) = (Instant::now(), cpu_time(daemon.pid())?);
    let turn = session.turn(&deltas.to_string(), PermissionReply::Once).await;
    let took = began.elapsed();
    anyhow::ensure!(turn.text() == answer(deltas).concat(), "the answer is not what was said");
    rests(daemon.pid()).await?;
    let cpu = cpu_time(daemon.pid())? - before;
    daemon.stop();
    let database = Database::read(&daemon.data().join("private/omniglot.db"))?;
    Ok(Cost { took, cpu, database })
}

/// Waits until the daemon has packed the frames of the turn, which it does when it has nothing else to do.
async fn rests(pid: u32) -> anyhow::Result<()> {
    let mut before = cpu_time(pid)?;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = cpu_time(pid)?;
        if now == before {
            return Ok(());
        }
        before = now;
    }
}

/// The size of a database, from the head of its file. Pages that are free now are used for what comes next.
struct Database {
    used: u64,
    file: u64,
}

impl Database {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let mut head = [0; 40];
        fs::File::open(path).with_context(|| path.display().to_string())?.read_exact(&mut head)?;
        let number =
            |at: usize| head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        let (pages, free) = number(28).zip(number(36)).context("the head of a database")?;
        let file = fs::metadata(path)?.len();
        Ok(Self { used: file / u64::from(pages.max(1)) * u64::from(pages.saturating_sub(free)), file })
    }
}

/// Returns the pieces of an answer. Its words come in no order, so that it is as hard to compress as prose.
fn answer(deltas: u64) -> Vec<String> {
    const WORDS: [&str; 16] = [
        "the ",
        "parser ",
        "reads ",
        "every ",
        "line ",
        "before ",
        "it ",
        "returns ",
        "a ",
        "value, ",
        "which ",
        "callers ",
        "keep ",
        "until ",
        "their ",
        "session ends. ",
    ];
    let mut random = 1_u64;
    let mut word = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 60).ok().and_then(|nth| WORDS.get(nth)).copied().unwrap_or_default()
    };
    (0..deltas).map(|_| [word(), word(), word(), word()].concat()).collect()
}

/// Speaks as Pi does, or without repeating itself. A prompt is the number of the deltas of its answer.
pub(crate) fn agent(repeats: bool) -> anyhow::Result<()> {
    let ready = json!({"type": "extension_ui_request", "id": "gate", "method": "setStatus",
        "statusKey": "omniglot-gate", "statusText": "ready"});
    say(&ready)?;
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let command = request.get("type").and_then(Value::as_str).unwrap_or_default();
        let data = match command {
            "get_state" => json!({"sessionId": "long", "thinkingLevel": "off"}),
            "get_available_models" => json!({"models": []}),
            "get_commands" => json!({"commands": []}),
            _ => Value::Null,
        };
        say(
            &json!({"type": "response", "id": request.get("id"), "command": command, "success": true, "data": data}),
        )?;
        if let Some(prompt) = request.get("message").and_then(Value::as_str) {
            speak(prompt, prompt.trim().parse().context("the prompt is a number")?, repeats)?;
        }
    }
    Ok(())
}

fn speak(prompt: &str, deltas: u64, repeats: bool) -> anyhow::Result<()> {
    let message = |text: &str| {
        json!({"role": "assistant", "content": [{"type": "text", "text": text}], "api": "bench",
            "provider": "bench", "model": "long", "stopReason": "stop", "responseId": "r", "timestamp": 1})
    };
    say(&json!({"type": "agent_start"}))?;
    say(&json!({"type": "turn_start"}))?;
    let user = json!({"role": "user", "content": [{"type": "text", "text": prompt}], "timestamp": 1});
    say(&json!({"type": "message_start", "message": user}))?;
    say(&json!({"type": "message_end", "message": user}))?;
    say(&json!({"type": "message_start", "message": message("")}))?;
    let mut text = String::new();
    let partial = |text: &str| message(if repeats { text } else { "" });
    let update = |event: Value, text: &str| {
        say(&json!({"type": "message_update", "assistantMessageEvent": event, "message": partial(text)}))
    };
    update(json!({"type": "text_start", "contentIndex": 0, "partial": partial("")}), "")?;
    for delta in answer(deltas) {
        text.push_str(&delta);
        let event =
            json!({"type": "text_delta", "contentIndex": 0, "delta": delta, "partial": partial(&text)});
        update(event, &text)?;
    }
    update(
        json!({"type": "text_end", "contentIndex": 0, "content": text, "partial": partial(&text)}),
        &text,
    )?;
    say(&json!({"type": "message_end", "message": message(&text)}))?;
    say(&json!({"type": "turn_end", "message": message(&text), "toolResults": []}))?;
    say(&json!({"type": "agent_end", "messages": [user, message(&text)]}))
}

fn say(message: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    Ok(out.flush()?)
}
