//! `omniglot sessions export`: writes a session to a file, whole or not at all.

mod traces;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use omniglot_client::{Client, EventsQuery};
use omniglot_schema::{
    EXPORT_FORMAT, EXPORT_VERSION, ExportBlob, ExportEnd, ExportHeader, ExportLine, ExportMark,
    SessionDetail, SessionInfo, UniversalEvent,
};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::find;
use crate::cli::ExportArgs;
use crate::print;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

/// Events per request; a page also ends at 8 MiB.
const PAGE: u64 = 1_000;

pub(crate) async fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    if args.otel {
        return traces::export(args).await;
    }
    let target = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let (file, end) = with_daemon(&args.data, async |client| {
        let detail = find::session(client, &args.id).await?;
        let mut file = beside(target)?;
        let end = Exporter::new(client, file.as_file_mut(), args.raw).write(detail).await?;
        Ok((file, end))
    })
    .await?;
    finish(file, target, &format!("{} events, {} blobs", end.events, end.blobs))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the file to its place, or to stdout.
fn finish(file: NamedTempFile, target: Option<&Path>, what: &str) -> anyhow::Result<()> {
    let Some(path) = target else { return to_stdout(file.into_file()) };
    file.persist(path).with_context(|| format!("{} cannot be written", path.display()))?;
    print::note(&format!("wrote {}: {what}", path.display()));
    Ok(())
}

/// Makes a temporary file in the same directory, to be renamed in the end: no reader finds half of it.
fn beside(target: Option<&Path>) -> anyhow::Result<NamedTempFile> {
    let Some(path) = target else { return Ok(NamedTempFile::new()?) };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    NamedTempFile::new_in(&dir)
        // The error names the temporary file, of which nobody knows.
        .map_err(|error| {
            let why = match dir.is_dir() {
                true => io::Error::from(error.kind()).to_string(),
                false => format!("there is no directory {}", dir.display()),
            };
            UsageError::new(format!("{} cannot be written: {why}", path.display())).into()
        })
}

fn to_stdout(mut file: File) -> anyhow::Result<()> {
    file.rewind()?;
    match io::copy(&mut file, &mut io::stdout().lock()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

struct Exporter<'a, W: Write> {
    client: &'a Client,
    out: BufWriter<W>,
    hash: Sha256,
    raw: bool,
    /// The names of blobs, each with the path that it is served at.
    named: BTreeMap<String, String>,
}

impl<'a, W: Write> Exporter<'a, W> {
    fn new(client: &'a Client, out: W, raw: bool) -> Self {
        Self { client, out: BufWriter::new(out), hash: Sha256::new(), raw, named: BTreeMap::new() }
    }

    async fn write(mut self, detail: SessionDetail) -> anyhow::Result<ExportEnd> {
        let SessionDetail { info, stats, .. } = detail;
        self.line(&ExportLine::Header(Box::new(ExportHeader {
            mark: ExportMark { format: EXPORT_FORMAT.to_owned(), version: EXPORT_VERSION },
            exporter: format!("omniglot {}", env!("CARGO_PKG_VERSION")),
            exported_at: Timestamp::try_from(SystemTime::now())?.as_millisecond(),
            raw: self.raw,
            session: info.clone(),
            stats,
        })))?;
        let events = self.events(&info).await?;
        let blobs = self.blobs().await?;
        let end = ExportEnd { events, blobs, sha256: format!("{:x}", self.hash.clone().finalize()) };
        self.line(&ExportLine::End(end.clone()))?;
        self.out.flush()?;
        Ok(end)
    }

    /// Writes the events that the session had at its lookup; later ones do not belong to the header.
    async fn events(&mut self, info: &SessionInfo) -> anyhow::Result<u64> {
        let mut last = 0;
        while last < info.event_count {
            let limit = Some(PAGE.min(info.event_count - last));
            let query = EventsQuery { offset: last, limit, types: vec![], include_raw: self.raw };
            let page = self.client.events(&info.session_id, &query).await?.events;
            anyhow::ensure!(!page.is_empty(), "the session lost its events while it was read");
            for event in page {
                last = event.sequence;
                self.event(event)?;
            }
        }
        Ok(last)
    }

    fn event(&mut self, mut event: UniversalEvent) -> anyhow::Result<()> {
        let blobs = format!("/v1/sessions/{}/blobs/", event.session_id);
        let named = &mut self.named;
        event.data.visit_blob_paths(&mut |path| {
            if let Some(name) = path.strip_prefix(&blobs) {
                named.insert(name.to_owned(), path.to_owned());
            }
            None
        });
        self.line(&ExportLine::Event(Box::new(event)))
    }

    async fn blobs(&mut self) -> anyhow::Result<u64> {
        let named = std::mem::take(&mut self.named);
        for (name, path) in &named {
            let (mime, bytes) = self.client.typed_blob(path).await?;
            let blob = ExportBlob { name: name.clone(), mime, base64: STANDARD.encode(bytes) };
            self.line(&ExportLine::Blob(blob))?;
        }
        Ok(named.len() as u64)
    }

    fn line(&mut self, line: &ExportLine) -> anyhow::Result<()> {
        let mut json = serde_json::to_vec(line)?;
        json.push(b'\n');
        self.hash.update(&json);
        Ok(self.out.write_all(&json)?)
    }
}
