//! Tools that run: shell, files, several at once, those of an MCP server.

use std::path::Path;

use omniglot_schema::{FileAction, McpCommand, McpServerConfig, StopReason, ToolKind, ToolSubject};
use serde_json::json;

use super::Dialect;
use crate::agents::mcp_server;
use crate::models::Reply;
use crate::session_driver::Turn;

impl Dialect {
    /// The kind of a call that reads a file: a command where the agent reads by its shell.
    fn read_kind(&self) -> ToolKind {
        let by_shell = (self.read)(Path::new("x")).tool_name() == (self.shell)("x").tool_name();
        if by_shell { ToolKind::Execute } else { ToolKind::Read }
    }
}

fn names(subject: &ToolSubject, file: &Path) -> bool {
    subject.paths.iter().any(|named| file.ends_with(&named.path))
}

/// The call that reads the file says so, and its result names the file.
#[track_caller]
fn assert_read(agent: &Dialect, turn: &Turn, file: &Path) {
    let reads = turn.subjects().into_iter().any(|(kind, subject)| {
        // Codex's wrapper calls a command that only reads a read.
        let fits = [Some(agent.read_kind()), Some(ToolKind::Read)].contains(&kind);
        fits && names(&subject, file)
    });
    assert!(reads, "no call reads {}: {:?}\n{turn}", file.display(), turn.subjects());
    let read = turn.files(FileAction::Read);
    assert!(read.iter().any(|path| file.ends_with(path)), "read {read:?}\n{turn}");
}

/// A call of a tool and its result are told, and the result reaches the model. Some agents tell a person nothing of
/// what they have read, so the text of a result is left to `command_execution`. Where the agent tells its calls of the
/// model, each is a step, and they add up to the usage of the turn.
pub async fn tool_calls_and_results(agent: &Dialect) {
    let fixture = agent.fixture([]).await;
    let file = fixture.file("notes.txt");
    std::fs::write(&file, "three little words\n").expect("a file");
    fixture.model.push((agent.read)(&file));
    fixture.model.push(Reply::text("I have read it."));
    let turn = fixture.turn("Read it.").await;
    assert_eq!(
        (turn.calls().len(), turn.outputs().len(), turn.text().as_str()),
        (1, 1, "I have read it."),
        "{turn}"
    );
    assert_read(agent, &turn, &file);
    assert!(fixture.model.last().tool_results().concat().contains("three little words"));
    let steps = turn.steps();
    assert_eq!(steps.len(), if agent.tells_steps { 2 } else { 0 }, "{turn}");
    if agent.tells_steps {
        let used: Option<u64> = steps.iter().map(|usage| usage.total_tokens).sum();
        assert_eq!(used, turn.ended().usage.as_ref().and_then(|usage| usage.total_tokens), "{turn}");
    }
    fixture.session.history().await;
}

/// A shell command runs. Where the agent tells its two streams apart, they stay apart.
pub async fn command_execution(agent: &Dialect) {
    let command = "touch made && echo shell-works && printf 'complaint-%s\\n' heard >&2";
    let fixture = agent.fixture([(agent.shell)(command), Reply::text("Done.")]).await;
    let turn = fixture.turn("Run it.").await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Done.", StopReason::EndTurn), "{turn}");
    assert!(fixture.file("made").exists(), "{turn}");
    let subjects = turn.subjects();
    let runs = |subject: &ToolSubject| {
        subject.command.as_deref().is_some_and(|command| command.contains("touch made && echo shell-works"))
    };
    assert!(
        matches!(subjects.as_slice(), [(Some(ToolKind::Execute), subject)] if runs(subject)),
        "{subjects:?}"
    );
    let (output, stderr) = (turn.outputs().concat(), turn.stderr());
    let told = fixture.model.last().tool_results().concat();
    let complaint = "complaint-heard";
    if agent.may_lose_output && !told.contains(complaint) {
        assert!(!output.contains(complaint), "the model was told {told:?}: {turn}");
        return drop(fixture.session.history().await);
    }
    assert!(output.contains("shell-works") && !stderr.contains("shell-works"), "{turn}");
    assert_ne!(output.contains(complaint), stderr.contains(complaint), "the model was told {told:?}: {turn}");
    assert!(told.contains("shell-works"), "{told}");
    fixture.session.history().await;
}

/// A file is read and really edited.
pub async fn file_changes_as_diffs(agent: &Dialect) {
    let fixture = agent.fixture([]).await;
    let file = fixture.file("notes.txt");
    std::fs::write(&file, "one\ntwo\nthree\n").expect("a file");
    for reply in [(agent.read)(&file), (agent.edit)(&file, "two", "zwei"), Reply::text("Edited.")] {
        fixture.model.push(reply);
    }
    let turn = fixture.turn("Translate the second line.").await;
    assert_eq!(turn.text(), "Edited.", "{turn}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "one\nzwei\nthree\n", "{turn}");
    let edits = |(kind, subject): &(Option<ToolKind>, ToolSubject)| {
        *kind == Some(ToolKind::Edit) && names(subject, &file)
    };
    assert!(turn.subjects().iter().any(edits), "{:?}\n{turn}", turn.subjects());
    assert_read(agent, &turn, &file);
    assert!(turn.diffs().concat().contains("-two\n+zwei"), "{turn}");
    assert!(fixture.model.last().tool_results().concat().contains("three"));
    fixture.session.history().await;
}

/// Parallel tools all get their results.
pub async fn parallel_tools(agent: &Dialect) {
    let fixture = agent.fixture([]).await;
    let [a, b] = ["a.txt", "b.txt"].map(|name| fixture.file(name));
    std::fs::write(&a, "alpha\n").expect("a file");
    std::fs::write(&b, "beta\n").expect("a file");
    fixture.model.push((agent.read)(&a).with((agent.read)(&b)));
    fixture.model.push(Reply::text("Both."));
    let turn = fixture.turn("Read both.").await;
    assert_eq!(turn.text(), "Both.", "{turn}");
    assert_eq!((turn.calls().len(), turn.outputs().len()), (2, 2), "{turn}");
    assert_read(agent, &turn, &a);
    assert_read(agent, &turn, &b);
    let results = fixture.model.last().tool_results().concat();
    assert!(results.contains("alpha") && results.contains("beta"), "{results}");
    fixture.session.history().await;
}

/// Tools of an MCP server run.
pub async fn mcp_tools(agent: &Dialect) {
    let call = Reply::tool(agent.mcp_tool, json!({"a": 40, "b": 2}));
    let server = McpServerConfig::Local {
        command: McpCommand::Line(mcp_server()),
        args: vec![],
        cwd: None,
        env: None,
        enabled: None,
        timeout_ms: None,
    };
    let with_server = |request: &mut omniglot_schema::CreateSessionRequest| {
        request.mcp = Some([("tiny".to_owned(), server)].into_iter().collect());
        request.permission_mode = agent.asking_mode.map(str::to_owned);
    };
    let fixture = agent.fixture_with([call, Reply::text("It is 42.")], with_server).await;
    let turn = fixture.turn("Add 40 and 2.").await;
    assert_eq!(turn.text(), "It is 42.", "{turn}");
    let calls_server = |(kind, subject): &(Option<ToolKind>, ToolSubject)| {
        *kind == Some(ToolKind::Mcp) && subject.server.as_deref() == Some("tiny")
    };
    assert!(turn.subjects().iter().any(calls_server), "{:?}\n{turn}", turn.subjects());
    assert!(turn.outputs().concat().contains("sum 42"), "{turn}");
    assert!(fixture.model.last().tool_results().concat().contains("sum 42"));
    fixture.session.history().await;
}
