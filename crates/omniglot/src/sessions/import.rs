//! `omniglot sessions import`: sends a file to the daemon, which imports all of it or nothing.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use omniglot_schema::{ExportLine, ImportResponse, SessionId};
use tokio::io::AsyncReadExt as _;

use super::find;
use crate::cli::ImportArgs;
use crate::print;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

/// The number of bytes that are sent at a time.
const PIECE: usize = 64 << 10;

pub(crate) async fn import(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let mut file = open(&args.file)?;
    let id = match &args.id {
        Some(typed) => find::id(typed)?,
        None => own_id(&file).unwrap_or_else(unnamed),
    };
    let directory = args.cwd.as_deref().map(directory).transpose()?;
    file.rewind()?;
    let imported = with_daemon(&args.talk.data, async |client| {
        let mut file = file.try_clone()?;
        file.rewind()?;
        match client.import(&id, directory.as_deref(), pieces(file)).await {
            Err(error) if error.status() == Some(409) => {
                bail!("session {id} exists already; give the new one another id with --as ID")
            }
            other => Ok(other?),
        }
    })
    .await
    .with_context(|| format!("{} was not imported", shown(&args.file)))?;
    report(args.talk.json, &imported)?;
    Ok(ExitCode::SUCCESS)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn shown(path: &Path) -> String {
    if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// Opens a file that can be read from its beginning as often as needed.
fn open(path: &Path) -> anyhow::Result<File> {
    if !is_stdin(path) {
        let opened = File::open(path);
        return Ok(opened.map_err(|error| UsageError::new(format!("{}: {error}", path.display())))?);
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file).context("stdin cannot be read")?;
    file.rewind()?;
    Ok(file)
}

/// Returns the id that the session had.
fn own_id(file: &File) -> Option<SessionId> {
    let mut line = String::new();
    BufReader::new(file).read_line(&mut line).ok()?;
    match serde_json::from_str(&line).ok()? {
        ExportLine::Header(header) => Some(header.session.session_id),
        _ => None,
    }
}

/// The daemon refuses a file without a readable header, with the reason; any name will do until then.
fn unnamed() -> SessionId {
    #[expect(clippy::expect_used, reason = "a literal that keeps the rule of session ids")]
    SessionId::parse("import").expect("a lawful session id")
}

fn directory(path: &Path) -> anyhow::Result<String> {
    let refuse = |why: String| UsageError::new(format!("--cwd {}: {why}", path.display()));
    let real = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    real.into_os_string().into_string().map_err(|_| refuse("the name is not UTF-8".into()).into())
}

fn pieces(file: File) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(tokio::fs::File::from_std(file), async |mut file| {
        let mut piece = vec![0; PIECE];
        let count = file.read(&mut piece).await?;
        piece.truncate(count);
        Ok((count > 0).then(|| (Bytes::from(piece), file)))
    })
}

fn report(json: bool, imported: &ImportResponse) -> anyhow::Result<()> {
    if json {
        return print::json(imported);
    }
    let ImportResponse { session_id, event_count, blobs, notes } = imported;
    print::line(&format!("imported {session_id}: {event_count} events, {blobs} blobs"))?;
    notes.iter().for_each(|note| print::note(&format!("· {note}")));
    Ok(())
}
