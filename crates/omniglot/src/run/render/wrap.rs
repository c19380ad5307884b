//! Breaks prose between words while it streams in, by the columns that a terminal gives to each character.
//!
//! The last word is held back until it is whole: only then is it known on which line it belongs.
//! Knows nothing of events; colours are put around what it returns.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The end of the text so far.
#[derive(Debug, Default)]
pub(super) struct Wrap {
    /// Without one, text passes through as it is.
    width: Option<usize>,
    column: usize,
    /// Space between what was shown and the word; dropped when a line ends there.
    gap: String,
    word: String,
}

impl Wrap {
    pub(super) fn new(width: Option<usize>) -> Self {
        Self { width, ..Self::default() }
    }

    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }

    /// The terminal has a new width; it has broken the current line itself if that was longer.
    pub(super) fn resize(&mut self, width: usize) {
        self.width = Some(width);
        self.column %= width.max(1);
    }

    /// Takes a piece of text; returns what can be shown of it.
    pub(super) fn push(&mut self, text: &str) -> String {
        if self.width.is_none() {
            // Only whether a line has begun matters where nothing is broken.
            self.column = usize::from(!text.ends_with('\n'));
            return text.to_owned();
        }
        let mut out = String::new();
        // A mark may have come apart from the letter that it stands on.
        let text = std::mem::take(&mut self.word) + text;
        for piece in text.graphemes(true) {
            match piece {
                "\n" => {
                    self.place(&mut out);
                    self.gap.clear();
                    self.column = 0;
                    out.push('\n');
                }
                " " | "\t" => {
                    self.place(&mut out);
                    self.gap.push_str(if piece == " " { " " } else { "    " });
                }
                // Scripts with wide characters have no spaces: a line may end after any of them.
                _ if piece.width() > 1 => {
                    self.place(&mut out);
                    self.word.push_str(piece);
                    self.place(&mut out);
                }
                _ => self.word.push_str(piece),
            }
        }
        out
    }

    /// Shows the word in hand: nothing more is coming for now.
    pub(super) fn flush(&mut self) -> String {
        let mut out = String::new();
        self.place(&mut out);
        out
    }

    /// Ends the line if `room` more columns do not fit on it and the text allows it.
    pub(super) fn make_room(&mut self, room: usize) -> String {
        if self.room() >= room || self.gap.is_empty() || !self.word.is_empty() {
            return String::new();
        }
        self.gap.clear();
        self.column = 0;
        "\n".to_owned()
    }

    /// The columns that are left on the line.
    pub(super) fn room(&self) -> usize {
        self.width.unwrap_or_default().saturating_sub(self.column)
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Forgets the line: something else has ended it.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.width);
    }

    fn place(&mut self, out: &mut String) {
        let Some(width) = self.width.filter(|_| !self.word.is_empty()) else { return };
        let (gap, word) = (self.gap.len(), self.word.width());
        if self.column > 0 && self.column + gap + word > width {
            out.push('\n');
            self.column = 0;
        } else {
            out.push_str(&self.gap);
            self.column += gap;
        }
        self.gap.clear();
        out.push_str(&self.word);
        self.word.clear();
        self.column += word;
        // A word longer than the line is left to the terminal, so that it can be copied in one piece.
        if self.column > width {
            self.column = (self.column - 1) % width.max(1) + 1;
        }
    }
}

/// A whole text with its lines broken between words.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    let mut wrap = Wrap::new(width);
    let mut out = wrap.push(text);
    out.push_str(&wrap.flush());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(width: usize, pieces: &[&str]) -> String {
        let mut wrap = Wrap::new(Some(width));
        let mut out: String = pieces.iter().map(|piece| wrap.push(piece)).collect();
        out.push_str(&wrap.flush());
        out
    }

    #[test]
    fn lines_break_between_words_wherever_the_pieces_break() {
        let expected = "the quick\nbrown fox";
        assert_eq!(streamed(10, &["the quick brown fox"]), expected);
        assert_eq!(streamed(10, &["the qu", "ick br", "own", " fo", "x"]), expected);
    }

    #[test]
    fn lines_of_the_text_and_their_indentation_stay() {
        assert_eq!(streamed(12, &["a:\n  - one two three\n\nb"]), "a:\n  - one two\nthree\n\nb");
    }

    #[test]
    fn a_word_longer_than_the_line_stays_whole() {
        assert_eq!(streamed(8, &["see https://example.org/x now"]), "see\nhttps://example.org/x\nnow");
    }

    #[test]
    fn wide_characters_take_two_columns_and_break_anywhere() {
        assert_eq!(streamed(7, &["日本語の文章"]), "日本語\nの文章");
        assert_eq!(streamed(6, &["ab 日本"]), "ab 日\n本");
    }

    #[test]
    fn combining_marks_take_no_column() {
        let marked = "e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}";
        assert_eq!(streamed(6, &[marked]), marked);
        assert_eq!(streamed(6, &["e\u{301}e", "\u{301}e\u{301} e\u{301}e\u{301}"]), marked);
    }

    #[test]
    fn a_pause_shows_the_word_in_hand_and_can_end_the_line() {
        let mut wrap = Wrap::new(Some(14));
        assert_eq!(wrap.push("one two th"), "one two");
        assert_eq!(wrap.flush(), " th");
        assert_eq!(wrap.push("ree "), "ree");
        assert_eq!((wrap.make_room(1).as_str(), wrap.make_room(2).as_str(), wrap.column()), ("", "\n", 0));
    }

    #[test]
    fn without_a_width_text_passes_as_it_is() {
        assert_eq!(wrapped("a  b\tc ", None), "a  b\tc ");
    }
}
