//! Keeps the beginning and the end of an agent's stderr, within a fixed bound.
//!
//! Does no reading: the runtime feeds it from a running process, the replay from a recording.

use std::collections::VecDeque;

use omniglot_schema::StderrOutput;

/// The first 20 and the last 50 lines; 8 KiB of each.
#[derive(Debug, Default)]
pub struct StderrLog {
    head: Vec<String>,
    /// The lines after `head`.
    tail: VecDeque<String>,
    total: u64,
    /// The line that has no newline yet.
    open: OpenLine,
}

#[derive(Debug, Default)]
struct OpenLine {
    bytes: Vec<u8>,
    begun: bool,
    cut: bool,
}

impl StderrLog {
    /// Adds the next bytes, which may be cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    self.open.extend(end);
                    self.close_line();
                }
                None => self.open.extend(part),
            }
        }
    }

    /// Returns the output so far. A line that is not ended yet counts.
    pub fn output(&self) -> StderrOutput {
        let open = self.open.text();
        let total = self.total + u64::from(open.is_some());
        let last: Vec<&str> = self.tail.iter().map(String::as_str).chain(open.as_deref()).collect();
        let first = self.head.iter().map(String::as_str);
        if total <= (HEAD_LINES + TAIL_LINES) as u64 {
            let all: Vec<&str> = first.chain(last).collect();
            let head = (!all.is_empty()).then(|| all.join("\n"));
            return StderrOutput { head, tail: None, truncated: false, total_lines: Some(total) };
        }
        let kept = last.get(last.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
        StderrOutput {
            head: Some(first.collect::<Vec<_>>().join("\n")),
            tail: Some(kept.join("\n")),
            truncated: true,
            total_lines: Some(total),
        }
    }

    fn close_line(&mut self) {
        let line = self.open.text().unwrap_or_default();
        self.open = OpenLine::default();
        self.total += 1;
        if self.head.len() < HEAD_LINES {
            return self.head.push(line);
        }
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }
}

impl OpenLine {
    fn extend(&mut self, bytes: &[u8]) {
        self.begun = true;
        let room = LINE_BYTES - self.bytes.len();
        self.cut |= bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn text(&self) -> Option<String> {
        let line = self.bytes.strip_suffix(b"\r").unwrap_or(&self.bytes);
        let mark = if self.cut { CUT_MARK } else { "" };
        self.begun.then(|| String::from_utf8_lossy(line).into_owned() + mark)
    }
}

const HEAD_LINES: usize = 20;
const TAIL_LINES: usize = 50;
const LINE_BYTES: usize = 8 * 1024;
/// Marks a line that was longer.
const CUT_MARK: &str = " […]";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(numbers: std::ops::RangeInclusive<u32>) -> String {
        numbers.map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n")
    }

    fn log(text: &str) -> StderrOutput {
        let mut log = StderrLog::default();
        log.push(text.as_bytes());
        log.output()
    }

    #[test]
    fn silence_is_no_head() {
        let expected = StderrOutput { head: None, tail: None, truncated: false, total_lines: Some(0) };
        assert_eq!(log(""), expected);
    }

    #[test]
    fn seventy_lines_are_all_in_the_head() {
        let all = lines(1..=70);
        let expected =
            StderrOutput { head: Some(all.clone()), tail: None, truncated: false, total_lines: Some(70) };
        assert_eq!(log(&(all.clone() + "\n")), expected);
        assert_eq!(log(&all), expected, "a last line without newline counts");
    }

    #[test]
    fn of_more_lines_the_first_twenty_and_the_last_fifty_are_kept() {
        for text in [lines(1..=1000), lines(1..=1000) + "\n"] {
            let output = log(&text);
            assert_eq!(output.head, Some(lines(1..=20)));
            assert_eq!(output.tail, Some(lines(951..=1000)));
            assert!(output.truncated);
            assert_eq!(output.total_lines, Some(1000));
        }
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let mut log = StderrLog::default();
        for _ in 0..1000 {
            log.push(&[b'x'; 1000]);
        }
        log.push(b"\nnext\n");
        let head = log.output().head.unwrap();
        assert_eq!(head, "x".repeat(LINE_BYTES) + CUT_MARK + "\nnext");
    }

    #[test]
    fn invalid_utf8_is_replaced_and_a_cut_within_a_character_is_none() {
        let mut log = StderrLog::default();
        log.push(b"\xff \xc3");
        log.push(b"\xa9\r\n\n");
        assert_eq!(log.output().head.as_deref(), Some("\u{fffd} é\n"));
    }
}
