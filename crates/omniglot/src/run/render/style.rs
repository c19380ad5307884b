//! Ink and scissors: colours where they are wanted, lines cut to the width, control characters taken out.
//!
//! Knows nothing of events. Widths are columns of a terminal: wide characters count two, marks none.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Whether output may carry colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    /// Colours, unless the person wants none or the terminal knows none.
    pub(crate) fn of_terminal() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        if wanted && able { Self::Colour } else { Self::Plain }
    }

    /// `text` in `ink`; an empty text stays empty, so that no line carries codes only.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", ink.code())
    }
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Cyan => "36",
        }
    }
}

/// `text` without anything that could move the cursor or recolour the terminal.
///
/// Removes escape sequences: an agent's text may come from a web page.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|c| !(c.is_control() || turns_text_around(*c)) || matches!(c, '\n' | '\t')).collect()
}

/// Marks that show text in another order than it has, which hides what a command really does.
fn turns_text_around(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first line of `text`, cut to `width` columns; a cut is shown as `…`.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let text = clean(text);
    let mut lines = text.trim_start_matches('\n').trim_end().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { cut(&format!("{first} …"), width) } else { cut(first, width) }
}

/// `line` cut to `width` columns, never inside of what looks like one character.
pub(crate) fn cut(line: &str, width: usize) -> String {
    let line = line.replace('\t', "    ");
    if line.width() <= width {
        return line;
    }
    let mut short = String::new();
    let mut left = width.saturating_sub(1);
    for piece in line.graphemes(true) {
        let Some(rest) = left.checked_sub(piece.width()) else { break };
        left = rest;
        short.push_str(piece);
    }
    short.push('…');
    short
}

/// `line` in pieces of at most `width` columns, for what must be read whole.
pub(crate) fn broken(line: &str, width: usize) -> Vec<String> {
    let line = line.replace('\t', "    ");
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for piece in line.graphemes(true) {
        let columns = piece.width();
        if used > 0 && used + columns > width {
            pieces.push(String::new());
            used = 0;
        }
        used += columns;
        if let Some(last) = pieces.last_mut() {
            last.push_str(piece);
        }
    }
    pieces
}

/// `12345678` as `12,345,678`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `200000` as `200k`.
pub(crate) fn rounded(number: u64) -> String {
    let tenths = |unit: u64| (number * 10 + unit / 2) / unit;
    let shown = |tenths: u64, unit| match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{unit}"),
        (whole, _) if whole >= 100 => format!("{whole}{unit}"),
        (whole, part) => format!("{whole}.{part}{unit}"),
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => shown(tenths(1_000), 'k'),
        _ => shown(tenths(1_000_000), 'M'),
    }
}

/// A duration as people say it.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_survive() {
        assert_eq!(clean("a\x1b[2Jb\r\nc\x07\td"), "a[2Jb\nc\td");
        assert_eq!(clean("rm \u{202e}x\u{202c} \u{2066}y\u{2069}"), "rm x y");
    }

    #[test]
    fn a_long_line_is_cut_at_characters() {
        assert_eq!(cut("äöüäöü", 4), "äöü…");
        assert_eq!(one_line("first\nsecond", 20), "first …");
        assert_eq!(one_line("first\nsecond", 6), "first…");
    }

    #[test]
    fn a_cut_counts_columns_and_keeps_characters_whole() {
        assert_eq!([cut("日本語", 6), cut("日本語", 5), cut("日本語", 4)], ["日本語", "日本…", "日…"]);
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("👩‍💻👩‍💻👩‍💻", 5), "👩‍💻👩‍💻…");
    }

    #[test]
    fn a_broken_line_is_whole_again_when_joined() {
        assert_eq!(broken("日本語abc", 5), ["日本", "語abc"]);
        assert_eq!(broken("日本", 1), ["日", "本"]);
        assert_eq!(broken("", 5), [""]);
        assert_eq!(broken("a long line", usize::MAX), ["a long line"]);
    }

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!([grouped(7), grouped(1_234), grouped(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!([rounded(999), rounded(1_250), rounded(200_000)], ["999", "1.3k", "200k"]);
        assert_eq!([rounded(1_048_576), rounded(1_000_000)], ["1M", "1M"]);
        assert_eq!([duration(42), duration(1_450), duration(125_000)], ["42 ms", "1.4 s", "2 min 5 s"]);
    }
}
