//! `omniglot daemon logs`: prints the end of the daemon's log, and follows it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use omniglot_store::private;
use tokio::time::sleep;

use super::start::LOG;
use crate::cli::LogsArgs;
use crate::run::outcome::Outcome;
use crate::signals::StopSignals;
use crate::{data_dir, print};

const LOOKING: Duration = Duration::from_millis(200);

pub(crate) async fn logs(args: &LogsArgs) -> anyhow::Result<ExitCode> {
    let path = private(&data_dir::place(args.data.data_dir.as_deref())?).join(LOG);
    let mut file = open(&path)?;
    print::text(&last_lines(&mut file, args.lines)?)?;
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    let mut signals = StopSignals::listen()?;
    loop {
        tokio::select! {
            () = sleep(LOOKING) => {}
            () = signals.next() => return Ok(ExitCode::from(Outcome::Interrupted.exit_code())),
        }
        print_rest(&mut file)?;
        if is_replaced(&file, &path)? {
            file = open(&path)?;
            print_rest(&mut file)?;
        }
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    let hint =
        "a daemon that `omniglot daemon start` started writes it; `omniglot serve` writes to its terminal";
    File::open(path).with_context(|| format!("{} cannot be read ({hint})", path.display()))
}

/// A log that has become too long has another file.
fn is_replaced(file: &File, path: &Path) -> std::io::Result<bool> {
    Ok(std::fs::metadata(path).is_ok_and(|new| Some(new.ino()) != file.metadata().map(|old| old.ino()).ok()))
}

fn print_rest(file: &mut File) -> anyhow::Result<()> {
    let mut rest = vec![];
    file.read_to_end(&mut rest)?;
    print::text(&String::from_utf8_lossy(&rest))
}

/// Reads the file to its end.
fn last_lines(file: &mut File, count: usize) -> std::io::Result<String> {
    let mut last = VecDeque::new();
    let mut reader = BufReader::new(file);
    let mut line = vec![];
    while reader.read_until(b'\n', &mut line)? > 0 {
        last.push_back(String::from_utf8_lossy(&line).into_owned());
        if last.len() > count {
            last.pop_front();
        }
        line.clear();
    }
    Ok(last.into_iter().collect())
}
