//! Secrets, found in text however it is written: plain, escaped as in JSON (also as JSON within JSON), and in pieces.
//!
//! Pure functions over bytes. Which values are secret, and where text is shown, is left to others.

use std::fmt;

/// Stands where a secret was.
pub const HIDDEN: &str = "***";

/// Values that must not be shown.
#[derive(Clone)]
pub struct Secrets {
    values: Vec<Vec<char>>,
    /// The bytes with which one of them may begin.
    beginnings: [bool; 256],
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new([])
    }
}

/// Never prints the values.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A secret may begin anywhere.
    Text,
    /// A document of JSON: no secret begins within an escape, so that the document stays whole.
    Json,
}

/// How a text goes on behind its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Final,
    MayGrow,
}

/// The masked text; `None` means that it is as it was. Bytes from `held` on may be the beginning of a secret.
struct Scanned {
    masked: Option<Vec<u8>>,
    held: usize,
}

/// How a secret compares with a text at one place.
#[derive(Debug, Clone, Copy, Default)]
struct Match {
    /// The length of the text that is the secret.
    whole: Option<usize>,
    /// The text ends before it is decided.
    open: bool,
}

impl Secrets {
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<Vec<char>> = values
            .into_iter()
            .filter(|value| !value.is_empty())
            .map(|value| value.chars().collect())
            .collect();
        let mut beginnings = [false; 256];
        for first in values.iter().filter_map(|value| value.first()) {
            let mut utf8 = [0; 4];
            for byte in first.encode_utf8(&mut utf8).bytes().take(1).chain([b'\\']) {
                if let Some(begins) = beginnings.get_mut(usize::from(byte)) {
                    *begins = true;
                }
            }
        }
        Self { values, beginnings }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Masks a text that is whole; `None` means that there is nothing to hide.
    pub fn mask(&self, text: &str) -> Option<String> {
        self.scan(text.as_bytes(), Form::Text, End::Final).masked.map(into_text)
    }

    /// Masks a line of an agent's protocol. A line of JSON stays JSON.
    pub fn mask_line(&self, line: &[u8]) -> Option<Vec<u8>> {
        let masked = self.scan(line, Form::Json, End::Final).masked;
        if masked.is_none() && !line.contains(&b'\\') {
            return None;
        }
        let is_json = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        if is_json(masked.as_deref().unwrap_or(line)) {
            return masked;
        }
        self.scan(line, Form::Text, End::Final).masked
    }

    /// Splits a text that grows into what may be shown of it and what may be the beginning of a secret.
    pub(crate) fn split(&self, text: String) -> (String, String) {
        let Scanned { masked, held } = self.scan(text.as_bytes(), Form::Text, End::MayGrow);
        let (shown, rest) = text.split_at_checked(held).unwrap_or((&text, ""));
        (masked.map_or_else(|| shown.to_owned(), into_text), rest.to_owned())
    }

    fn scan(&self, text: &[u8], form: Form, end: End) -> Scanned {
        let (mut masked, mut done, mut at) = (None::<Vec<u8>>, 0, 0);
        while let Some(offset) = self.next_candidate(text, at) {
            at = offset;
            let rest = text.get(at..).unwrap_or_default();
            let found = self.find(rest);
            if found.open && end == End::MayGrow {
                break;
            }
            match found.whole {
                Some(length) => {
                    let masked = masked.get_or_insert_default();
                    masked.extend_from_slice(text.get(done..at).unwrap_or_default());
                    masked.extend_from_slice(HIDDEN.as_bytes());
                    at += length;
                    done = at;
                }
                None => at += step_over(rest, form),
            }
        }
        let held = match self.next_candidate(text, at) {
            Some(held) => held,
            None => text.len(),
        };
        if let Some(masked) = &mut masked {
            masked.extend_from_slice(text.get(done..held).unwrap_or_default());
        }
        Scanned { masked, held }
    }

    fn next_candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let begins = |byte: &u8| self.beginnings.get(usize::from(*byte)).copied().unwrap_or_default();
        text.get(from..)?.iter().position(begins).map(|offset| from + offset)
    }

    /// Compares every secret with the beginning of a text; the longest that is there counts.
    fn find(&self, text: &[u8]) -> Match {
        self.values.iter().map(|secret| compare(secret, text)).fold(Match::default(), |best, found| Match {
            whole: best.whole.max(found.whole),
            open: best.open || found.open,
        })
    }
}

/// Returns the length of what is passed over where no secret begins.
fn step_over(text: &[u8], form: Form) -> usize {
    match (form, text) {
        (Form::Json, [b'\\', b'u', ..]) => 6,
        (Form::Json, [b'\\', ..]) => 2,
        _ => 1,
    }
}

/// Compares one secret with the beginning of a text, each of its characters plain or escaped.
fn compare(secret: &[char], text: &[u8]) -> Match {
    const OPEN: Match = Match { whole: None, open: true };
    let (mut wanted, mut at) = (secret, 0);
    while let Some((first, others)) = wanted.split_first() {
        let rest = text.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return OPEN;
        }
        let backslashes = run_of_backslashes(rest);
        if *first == '\\' {
            // Escaped once or more, a backslash is a run of them.
            let run = wanted.iter().take_while(|c| **c == '\\').count();
            let ends_here = backslashes == rest.len();
            if backslashes < run {
                return Match { whole: None, open: ends_here };
            }
            at += backslashes;
            wanted = wanted.get(run..).unwrap_or_default();
            if ends_here {
                return Match { whole: wanted.is_empty().then_some(at), open: true };
            }
            continue;
        }
        let mut utf8 = [0; 4];
        let plain = first.encode_utf8(&mut utf8).as_bytes();
        if rest.starts_with(plain) {
            at += plain.len();
        } else if plain.starts_with(rest) {
            return OPEN;
        } else {
            match compare_escaped(*first, rest, backslashes) {
                Escape::Is(length) => at += length,
                Escape::MayBe => return OPEN,
                Escape::IsNot => return Match::default(),
            }
        }
        wanted = others;
    }
    Match { whole: Some(at), open: false }
}

enum Escape {
    Is(usize),
    /// The text ends within the escape.
    MayBe,
    IsNot,
}

fn compare_escaped(wanted: char, text: &[u8], backslashes: usize) -> Escape {
    if backslashes == 0 {
        return Escape::IsNot;
    }
    let Some((letter, digits)) = text.get(backslashes..).and_then(<[u8]>::split_first) else {
        return Escape::MayBe;
    };
    let short = match letter {
        b'u' => return compare_units(wanted, digits, backslashes + 1),
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        other => char::from(*other),
    };
    // A letter that needs no escape is none.
    if short == wanted && !wanted.is_alphanumeric() { Escape::Is(backslashes + 1) } else { Escape::IsNot }
}

/// Compares the UTF-16 units of a character with the hexadecimal digits behind `\u`; a second unit has a `\u` again.
fn compare_units(wanted: char, mut digits: &[u8], mut length: usize) -> Escape {
    let mut units = [0; 2];
    for (nth, unit) in wanted.encode_utf16(&mut units).iter().enumerate() {
        if nth > 0 {
            let backslashes = run_of_backslashes(digits);
            match digits.get(backslashes..) {
                None | Some([]) => return Escape::MayBe,
                Some([b'u', rest @ ..]) if backslashes > 0 => digits = rest,
                Some(_) => return Escape::IsNot,
            }
            length += backslashes + 1;
        }
        let hex = format!("{unit:04x}");
        let (said, rest) = digits.split_at_checked(hex.len()).unwrap_or((digits, &[]));
        if !hex.as_bytes().iter().zip(said).all(|(is, said)| is.eq_ignore_ascii_case(said)) {
            return Escape::IsNot;
        }
        if said.len() < hex.len() {
            return Escape::MayBe;
        }
        digits = rest;
        length += hex.len();
    }
    Escape::Is(length)
}

fn run_of_backslashes(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'\\').count()
}

/// Only whole characters are ever cut out of a text.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
