//! The table: one row per measure, one column per server, and the factor by which ours is better.

use std::time::Duration;

use crate::process::machine;

#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    target: &'static str,
    better: Better,
    /// The figures by the name of the server.
    figures: Vec<(&'static str, Figure)>,
}

/// A number as people read it.
pub(crate) struct Figure {
    value: f64,
    shown: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    More,
    Less,
}

impl Table {
    pub(crate) fn add(
        &mut self,
        server: &'static str,
        what: impl Into<String>,
        figure: Figure,
        better: Better,
        target: &'static str,
    ) {
        let what = what.into();
        match self.rows.iter_mut().find(|row| row.what == what) {
            Some(row) => row.figures.push((server, figure)),
            None => self.rows.push(Row { what, target, better, figures: vec![(server, figure)] }),
        }
    }

    /// Adds the figures of another table, which is about one server, as a column.
    pub(crate) fn join(&mut self, server: &'static str, other: Self) {
        for row in other.rows {
            for (_, figure) in row.figures {
                self.add(server, row.what.clone(), figure, row.better, row.target);
            }
        }
    }

    #[expect(clippy::print_stdout, reason = "the table is what this program is for")]
    pub(crate) fn print(&self) {
        let mut servers: Vec<&str> = vec![];
        for (name, _) in self.rows.iter().flat_map(|row| &row.figures) {
            if !servers.contains(name) {
                servers.push(name);
            }
        }
        let ratio: &[&str] = if servers.len() > 1 { &["times better"] } else { &[] };
        let head = [&["measure"], &*servers, ratio, &["target"]].concat();
        println!("{}\n", machine().unwrap_or_default());
        println!("| {} |", head.join(" | "));
        println!("|---|{}---|", "--:|".repeat(head.len() - 2));
        for row in &self.rows {
            println!("| {} |", row.cells(&servers).join(" | "));
        }
    }
}

impl Row {
    fn cells(&self, servers: &[&str]) -> Vec<String> {
        let figure = |name: &&str| self.figures.iter().find(|(server, _)| server == name).map(|(_, f)| f);
        let found: Vec<Option<&Figure>> = servers.iter().map(figure).collect();
        let shown = found.iter().map(|figure| figure.map_or("–".to_owned(), |figure| figure.shown.clone()));
        let ratio = match found.as_slice() {
            [Some(ours), Some(theirs)] => Some(self.better.times(ours.value, theirs.value)),
            [_, _] => Some("–".to_owned()),
            _ => None,
        };
        [self.what.clone()].into_iter().chain(shown).chain(ratio).chain([self.target.to_owned()]).collect()
    }
}

impl Better {
    fn times(self, ours: f64, theirs: f64) -> String {
        let (good, bad) = match self {
            Self::More => (ours, theirs),
            Self::Less => (theirs, ours),
        };
        let times = good / bad;
        if times.is_finite() { format!("{times:.1}") } else { "–".to_owned() }
    }
}

impl Figure {
    pub(crate) fn rate(count: u64, took: Duration) -> Self {
        let value = float(count) / took.as_secs_f64();
        Self { value, shown: format!("{}/s", thousands(value)) }
    }

    pub(crate) fn micros(time: Duration, of: u64) -> Self {
        let value = time.as_secs_f64() * 1e6 / float(of);
        Self { value, shown: format!("{value:.1} µs") }
    }

    pub(crate) fn millis(time: Duration) -> Self {
        let value = time.as_secs_f64() * 1e3;
        Self { value, shown: format!("{value:.2} ms") }
    }

    pub(crate) fn megabytes(bytes: u64) -> Self {
        let value = float(bytes) / 1e6;
        Self { value, shown: format!("{value:.1} MB") }
    }

    pub(crate) fn kilobytes(bytes: u64) -> Self {
        let value = float(bytes) / 1e3;
        Self { value, shown: format!("{value:.0} kB") }
    }

    pub(crate) fn ratio(count: u64, of: u64) -> Self {
        let value = float(count) / float(of);
        Self { value, shown: format!("{value:.1}") }
    }

    pub(crate) fn count(count: u64) -> Self {
        let value = float(count);
        Self { value, shown: thousands(value) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn float(number: u64) -> f64 {
    number as f64
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| str::from_utf8(g).ok()).collect();
    groups.join(",")
}
