//! The end of a transcript: its last lines, while it is being read.

use std::collections::VecDeque;

pub(super) struct History {
    lines: VecDeque<String>,
    limit: usize,
    skipped: usize,
}

impl History {
    pub(super) fn new(limit: usize) -> Self {
        Self { lines: VecDeque::new(), limit, skipped: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            match self.lines.back_mut() {
                Some(last) if !last.ends_with('\n') => last.push_str(piece),
                _ => self.lines.push_back(piece.to_owned()),
            }
        }
        while self.lines.len() > self.limit {
            self.lines.pop_front();
            self.skipped += 1;
        }
    }

    /// Returns the number of lines before, and the last ones.
    pub(super) fn end(self) -> (usize, String) {
        (self.skipped, self.lines.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut history = History::new(2);
        for text in ["one\ntw", "o\n", "three\nfo", "ur"] {
            history.push(text);
        }
        assert_eq!(history.end(), (2, "three\nfour".to_owned()));
    }
}
