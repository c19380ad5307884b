//! The spinner while the agent is silent: a turning mark and the seconds of silence.
//!
//! Pure: returns the text to write and its time; `output` writes it, and removes it before any other text.

use std::time::{Duration, Instant};

/// Shorter pauses are part of streaming.
const SHOW_AFTER: Duration = Duration::from_millis(600);
const FRAME: Duration = Duration::from_millis(120);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The columns that the spinner needs behind text: a space, the mark, and up to `59 min 59 s`.
pub(crate) const ROOM: usize = 14;

#[derive(Debug)]
pub(crate) struct Spinner {
    silent_since: Instant,
    next: Instant,
    frame: usize,
    /// The column at which the spinner is on the screen.
    drawn: Option<usize>,
}

impl Spinner {
    pub(crate) fn new(now: Instant) -> Self {
        Self { silent_since: now, next: now + SHOW_AFTER, frame: 0, drawn: None }
    }

    /// Returns the time of the next frame.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Returns the next frame, for a cursor in `column`.
    pub(crate) fn turn(&mut self, now: Instant, column: usize, paint: impl Fn(&str) -> String) -> String {
        let erase = self.erase();
        let mark = FRAMES.get(self.frame % FRAMES.len()).copied().unwrap_or('·');
        self.frame += 1;
        self.next = now + FRAME;
        self.drawn = Some(column);
        let gap = if column > 0 { " " } else { "" };
        let silence = seconds(now.saturating_duration_since(self.silent_since));
        format!("{erase}{gap}{}", paint(&format!("{mark} {silence}")))
    }

    /// Skips a frame where there is no room at the cursor.
    pub(crate) fn skip(&mut self, now: Instant) -> String {
        self.next = now + FRAME;
        self.erase()
    }

    /// Restarts the silence after other output. Returns the text that erases the spinner.
    pub(crate) fn hush(&mut self, now: Instant) -> String {
        let erase = self.erase();
        *self = Self { frame: self.frame, ..Self::new(now) };
        erase
    }

    /// Moves to its column rather than back by its length: the terminal may have written a `^C` behind it.
    pub(crate) fn erase(&mut self) -> String {
        self.drawn.take().map(|column| format!("\x1b[{}G\x1b[K", column + 1)).unwrap_or_default()
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn it_turns_and_counts_and_clears_what_it_drew() {
        let start = Instant::now();
        let mut spinner = Spinner::new(start);
        assert!(spinner.next() > start);
        assert_eq!(spinner.turn(start + Duration::from_secs(1), 0, plain), "⠋ 1 s");
        assert_eq!(spinner.turn(start + Duration::from_secs(75), 0, plain), "\x1b[1G\x1b[K⠙ 1 min 15 s");
        assert_eq!(spinner.hush(start + Duration::from_secs(76)), "\x1b[1G\x1b[K");
        assert_eq!(spinner.hush(start + Duration::from_secs(77)), "");
    }

    #[test]
    fn behind_text_it_leaves_the_text_alone() {
        let start = Instant::now();
        let mut spinner = Spinner::new(start);
        assert_eq!(spinner.turn(start, 12, plain), " ⠋ 0 s");
        assert_eq!(spinner.hush(start), "\x1b[13G\x1b[K");
    }

    #[test]
    fn a_word_begins_the_silence_anew() {
        let start = Instant::now();
        let mut spinner = Spinner::new(start);
        spinner.hush(start + Duration::from_secs(9));
        assert_eq!(spinner.turn(start + Duration::from_secs(10), 0, plain), "⠋ 1 s");
    }
}
