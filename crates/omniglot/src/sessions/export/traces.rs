//! `omniglot sessions export --otel`: the turns of a session as traces, to a file or to a collector.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;

use omniglot_client::{Client, EventsQuery};
use omniglot_schema::SessionInfo;

use super::{PAGE, beside, finish};
use crate::cli::ExportArgs;
use crate::otel::{Collector, EVENT_TYPES, SessionSpans, Span, endpoint, request};
use crate::print;
use crate::sessions::find;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

pub(super) async fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let target = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let url = args.endpoint.as_deref().map(endpoint).transpose();
    let url = url.map_err(|message| UsageError::new(format!("--endpoint: {message}")))?;
    let collector = url.as_ref().map(Collector::new).transpose()?;
    let batches = with_daemon(&args.data, async |client| {
        let info = find::session(client, &args.id).await?.info;
        batches(client, &info).await
    })
    .await?;
    let count: usize = batches.iter().map(Vec::len).sum();
    let Some(collector) = collector else {
        let mut file = beside(target)?;
        let mut out = BufWriter::new(file.as_file_mut());
        for spans in &batches {
            writeln!(out, "{}", request(spans))?;
        }
        out.flush()?;
        drop(out);
        finish(file, target, &format!("{count} spans"))?;
        return Ok(ExitCode::SUCCESS);
    };
    for spans in &batches {
        collector.send(spans).await?;
    }
    print::note(&format!("sent {count} spans"));
    Ok(ExitCode::SUCCESS)
}

/// Returns the spans of a session, a turn at a time.
async fn batches(client: &Client, info: &SessionInfo) -> anyhow::Result<Vec<Vec<Span>>> {
    let mut session = SessionSpans::new(info.session_id.clone(), info.agent.clone());
    let (mut offset, mut batches) = (0, vec![]);
    loop {
        let query =
            EventsQuery { offset, limit: Some(PAGE), types: EVENT_TYPES.to_vec(), include_raw: false };
        let page = client.events(&info.session_id, &query).await?;
        for event in &page.events {
            offset = event.sequence;
            let spans = session.read(event);
            if !spans.is_empty() {
                batches.push(spans);
            }
        }
        if !page.has_more {
            return Ok(batches);
        }
    }
}
