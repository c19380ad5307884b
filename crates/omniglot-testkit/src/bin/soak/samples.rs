//! Samples of the memory, files and threads that the daemon takes, and whether they grow.

use std::fmt;

use anyhow::ensure;
use omniglot_testkit::daemon::Daemon;

/// Growth that is no leak: caches fill, and sessions grow with their logs.
const TOLERATED: f64 = 1.5;
/// The first part of a run, in which caches fill.
const WARM_UP: usize = 4;

/// One look at the daemon.
struct Sample {
    rss: u64,
    files: usize,
    threads: usize,
    database: u64,
}

#[derive(Default)]
pub(crate) struct Samples(Vec<Sample>);

impl Samples {
    pub(crate) async fn take(&mut self, daemon: Option<&Daemon>, minutes: u64) {
        let Some(daemon) = daemon else { return };
        let count = |folder: &str| {
            std::fs::read_dir(format!("/proc/{}/{folder}", daemon.pid())).map_or(0, |entries| entries.count())
        };
        let database =
            std::fs::metadata(daemon.data().join("private/omniglot.db")).map_or(0, |file| file.len());
        let (rss, files, threads) = (daemon.rss(), count("fd"), count("task"));
        self.0.push(Sample { rss, files, threads, database });
        if self.0.len().is_multiple_of(10) {
            eprintln!("{} samples of {minutes} min: {} MB, {files} files", self.0.len(), rss >> 20);
        }
    }

    /// Compares the median of the last third with that of the second: what grows all the time grows there, too.
    fn growth(&self, of: impl Fn(&Sample) -> f64) -> (f64, f64) {
        let warm = self.0.get(self.0.len() / WARM_UP..).unwrap_or_default();
        let (first, last) = warm.split_at(warm.len() / 2);
        (median(first.iter().map(&of).collect()), median(last.iter().map(&of).collect()))
    }

    pub(crate) fn verdict(&self) -> anyhow::Result<()> {
        type Measure = (&'static str, fn(&Sample) -> f64);
        let measures: [Measure; 3] = [
            ("memory", |sample| sample.rss as f64),
            ("open files", |sample| sample.files as f64),
            ("threads", |sample| sample.threads as f64),
        ];
        for (name, measure) in measures {
            let (before, after) = self.growth(measure);
            ensure!(after <= before * TOLERATED, "{name} grow: {before:.0}, later {after:.0}");
        }
        Ok(())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |sample: &Sample| sample.rss as f64 / 1e6;
        let (before, after) = self.growth(mega);
        writeln!(f, "| memory, median of the middle and of the end | {before:.1}, {after:.1} MB |")?;
        let (before, after) = self.growth(|sample| sample.files as f64);
        writeln!(f, "| open files, likewise | {before:.0}, {after:.0} |")?;
        let (before, after) = self.growth(|sample| sample.threads as f64);
        writeln!(f, "| threads, likewise | {before:.0}, {after:.0} |")?;
        let database = self.0.last().map_or(0, |sample| sample.database) as f64 / 1e6;
        writeln!(f, "| database at the end | {database:.1} MB |")
    }
}
