//! Tables that fit the terminal: columns that may shrink are cut, and a cut cell ends with `…`.
//!
//! Without a terminal nothing is cut. Widths are columns, so that wide characters count two.

use unicode_width::UnicodeWidthStr as _;

use crate::run::output::{columns, is_terminal};
use crate::run::render::style::{Ink, Style, clean, cut};

const GAP: &str = "  ";

/// No column becomes narrower than this, whatever the terminal is.
const NARROWEST: usize = 6;

pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

struct Column {
    name: &'static str,
    give: Give,
}

/// Whether a column may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Give {
    /// The column is useless in part.
    Whole,
    Shrinks,
}

/// The properties of the output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sheet {
    /// Unlimited without a width.
    pub(crate) width: Option<usize>,
    pub(crate) style: Style,
}

impl Sheet {
    /// Returns the properties of stdout.
    pub(crate) fn of_stdout() -> Self {
        if !is_terminal() {
            return Self { width: None, style: Style::Plain };
        }
        Self { width: columns(), style: Style::of_terminal() }
    }
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Give)]) -> Self {
        let columns = columns.iter().map(|(name, give)| Column { name, give: *give }).collect();
        Self { columns, rows: vec![] }
    }

    /// Adds one cell for each column; characters that could move the cursor are removed.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cell = |text: String| clean(&text).replace(['\n', '\t'], " ");
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    pub(crate) fn render(&self, sheet: Sheet) -> String {
        let widths = self.widths(sheet.width);
        let head: Vec<String> = self.columns.iter().map(|column| column.name.to_owned()).collect();
        let mut out = sheet.style.paint(Ink::Dim, &line(&head, &widths));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&line(row, &widths));
            out.push('\n');
        }
        out
    }

    /// Makes each column as wide as its widest cell; then the widest shrinkable one shrinks until all fit.
    fn widths(&self, room: Option<usize>) -> Vec<usize> {
        let cells = |index: usize| self.rows.iter().filter_map(move |row| row.get(index));
        let widest = |(index, column): (usize, &Column)| {
            cells(index).map(|cell| cell.width()).max().unwrap_or(0).max(column.name.width())
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(widest).collect();
        let Some(room) = room else { return widths };
        let room = room.saturating_sub(GAP.len() * widths.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let shrinks = self.columns.iter().map(|column| column.give == Give::Shrinks);
            let candidate =
                widths.iter_mut().zip(shrinks).filter(|(width, shrinks)| *shrinks && **width > NARROWEST);
            let Some((widest, _)) = candidate.max_by_key(|(width, _)| **width) else { break };
            *widest -= 1;
        }
        widths
    }
}

/// The last cell is not padded, so that no line ends with spaces.
fn line(cells: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cut(cell, *width);
        out.push_str(if index > 0 { GAP } else { "" });
        out.push_str(&cell);
        out.push_str(&" ".repeat(width.saturating_sub(cell.width())));
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("ID", Give::Whole), ("STATUS", Give::Whole), ("TITLE", Give::Shrinks)]);
        table.row(["run-1".to_owned(), "idle".to_owned(), "日本語のとても長いタイトル".to_owned()]);
        table.row(["run-22".to_owned(), "running".to_owned(), "an \x1b[31mordinary\none".to_owned()]);
        table
    }

    fn shown(width: Option<usize>) -> String {
        table().render(Sheet { width, style: Style::Plain })
    }

    #[test]
    fn without_a_terminal_everything_is_shown() {
        insta::assert_snapshot!(shown(None), @r"
        ID      STATUS   TITLE
        run-1   idle     日本語のとても長いタイトル
        run-22  running  an [31mordinary one
        ");
    }

    #[test]
    fn on_a_terminal_long_cells_are_cut_by_columns() {
        insta::assert_snapshot!(shown(Some(30)), @r"
        ID      STATUS   TITLE
        run-1   idle     日本語のとて…
        run-22  running  an [31mordin…
        ");
        for line in shown(Some(30)).lines() {
            assert!(line.width() <= 30, "{line}");
        }
    }

    #[test]
    fn what_is_of_no_use_in_part_is_never_cut() {
        assert!(shown(Some(10)).contains("run-22  running  an [3…"), "{}", shown(Some(10)));
    }
}
