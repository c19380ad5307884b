//! Walks every row of the database to find damage. Uses one read transaction per session, so that a
//! concurrent daemon's writes are never seen half done and its WAL checkpoints are not held up for long.

mod session;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use super::open::Meta;
use super::{DATABASE, commits, directory_config, hooks, pending_deletes, schema, tokens};
use crate::check::{CheckFault, CheckProgress, CheckSummary};
use crate::data_dir::private_file;
use crate::types::{SessionNo, StoreError};

/// The tables with rows that belong to sessions.
const OWNED: [&str; 6] = ["events", "frames", "blobs", "queue", "receipts", "trims"];
const PROGRESS_EVERY: u64 = 1000;

pub(crate) fn run(dir: &Path, news: &mut dyn FnMut(CheckProgress<'_>)) -> Result<CheckSummary, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(private_file(dir, DATABASE), flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    schema::check_version(&connection)?;
    let mut findings = Findings { news, summary: CheckSummary::default(), rows: 0 };
    findings.noting("database", None, |findings| structure(&connection, findings));
    findings.noting("meta", None, |findings| meta(&connection, findings));
    findings.noting("leftovers", None, |findings| pending_delete_rows(&connection, findings));
    findings.noting("tokens", None, |findings| token_rows(&connection, findings));
    findings.noting("audit", None, |findings| audit_rows(&connection, findings));
    findings.noting("commits", None, |findings| commit_rows(&connection, findings));
    findings.noting("directory_config", None, |findings| config_rows(&connection, findings));
    findings.noting("hooks", None, |findings| hook_rows(&connection, findings));
    let mut last = None;
    while let Some(no) = next_session(&connection, "sessions", "no", last)? {
        session::check(&mut connection, no, &mut findings)?;
        last = Some(no);
    }
    for table in OWNED {
        findings.noting(table, None, |findings| orphans(&mut connection, table, findings));
    }
    Ok(findings.summary)
}

/// Counts findings and reports each at once.
struct Findings<'a> {
    news: &'a mut dyn FnMut(CheckProgress<'_>),
    summary: CheckSummary,
    rows: u64,
}

impl Findings<'_> {
    fn fault(
        &mut self,
        table: &'static str,
        session: Option<&str>,
        sequence: Option<u64>,
        fault: impl Into<String>,
    ) {
        self.summary.faults += 1;
        let fault = CheckFault { table, session: session.map(str::to_owned), sequence, fault: fault.into() };
        (self.news)(CheckProgress::Fault(&fault));
    }

    fn row(&mut self) {
        self.rows += 1;
        if self.rows.is_multiple_of(PROGRESS_EVERY) {
            (self.news)(CheckProgress::Progress(self.rows));
        }
    }

    /// Reports a walk that breaks off as a fault; the other walks go on.
    fn noting(
        &mut self,
        table: &'static str,
        session: Option<&str>,
        walk: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) {
        if let Err(error) = walk(self) {
            let cause = match &error {
                StoreError::Database(error) => error.to_string(),
                other => other.to_string(),
            };
            self.fault(table, session, None, format!("cannot be read to its end: {cause}"));
        }
    }
}

/// Checks pages, trees and indexes with SQLite's own integrity check.
fn structure(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            findings.fault("database", None, None, line);
        }
    }
    Ok(())
}

fn meta(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT key, value, crc FROM meta")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        findings.row();
        if let Meta::Damaged = Meta::parse(row) {
            let key: String = row.get(0).unwrap_or_default();
            findings.fault("meta", None, None, format!("the row {key:?} does not match its checksum"));
        }
    }
    Ok(())
}

fn pending_delete_rows(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT session_no, crc FROM leftovers")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        findings.row();
        if pending_deletes::pending_delete(row).is_none() {
            findings.fault("leftovers", None, None, "a row does not match its checksum");
        }
    }
    Ok(())
}

fn token_rows(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT id, hash, info, crc FROM tokens")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        findings.row();
        if tokens::token(row).is_none() {
            findings.fault("tokens", None, None, "a row does not match its checksum; its token is refused");
        }
    }
    Ok(())
}

/// Numbers are dense: nothing is ever removed from the audit.
fn audit_rows(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT no, time_ms, call, crc FROM audit ORDER BY no")?;
    let mut rows = statement.query([])?;
    let mut expected = 1;
    while let Some(row) = rows.next()? {
        findings.row();
        let number = row.get::<_, i64>(0)?;
        if number != expected {
            findings.fault("audit", None, None, format!("entries are missing before number {number}"));
        }
        if tokens::entry(row).is_none() {
            findings.fault("audit", None, None, format!("entry {number} does not match its checksum"));
        }
        expected = number + 1;
    }
    Ok(())
}

/// Numbers are dense from the oldest row that is kept.
fn commit_rows(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let sql = "SELECT no, session_no, first_seq, last_seq, crc, removed FROM commits ORDER BY no";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut expected = None;
    while let Some(row) = rows.next()? {
        findings.row();
        let number = row.get::<_, i64>(0)?;
        if expected.is_some_and(|expected| expected != number) {
            findings.fault("commits", None, None, format!("entries are missing before number {number}"));
        }
        if commits::commit(row).is_none() {
            findings.fault("commits", None, None, format!("entry {number} does not match its checksum"));
        }
        expected = Some(number + 1);
    }
    Ok(())
}

fn config_rows(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare("SELECT directory, kind, name, value, crc FROM directory_config")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        findings.row();
        if directory_config::entry(row).is_none() {
            findings.fault(
                "directory_config",
                None,
                None,
                "a row does not match its checksum; it is left out",
            );
        }
    }
    Ok(())
}

fn hook_rows(connection: &Connection, findings: &mut Findings<'_>) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT kind, hook, name, value, crc FROM hooks")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        findings.row();
        if hooks::entry(row).is_none() {
            findings.fault("hooks", None, None, "a row does not match its checksum; it is left out");
        }
    }
    Ok(())
}

/// Reports rows of sessions that neither exist nor were deleted: rows of deleted sessions are removed later.
fn orphans(
    connection: &mut Connection,
    table: &'static str,
    findings: &mut Findings<'_>,
) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let transaction = connection.transaction()?;
        let Some(session) = next_session(&transaction, table, "session_no", last)? else { return Ok(()) };
        last = Some(session);
        let sql = "SELECT 1 FROM sessions WHERE no = ?1";
        let exists = transaction.query_row(sql, [session.0], |_| Ok(())).optional()?.is_some();
        if !exists && !pending_deletes::list(&transaction)?.contains(&session) {
            let name = format!("number {}", session.0);
            findings.fault(table, Some(&name), None, "rows of a session that does not exist");
        }
    }
}

/// Returns the session after `last` that has a row in `table`, without a scan of all rows.
fn next_session(
    connection: &Connection,
    table: &str,
    column: &str,
    last: Option<SessionNo>,
) -> Result<Option<SessionNo>, StoreError> {
    let sql = format!("SELECT min({column}) FROM {table} WHERE {column} > ?1");
    let last = last.map_or(i64::MIN, |no| no.0);
    let no: Option<i64> = connection.query_row(&sql, [last], |row| row.get(0))?;
    Ok(no.map(SessionNo))
}
