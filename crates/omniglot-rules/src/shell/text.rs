//! The text of a command before and beside its grammar: characters that hide something, signs that shells read
//! differently, and the words of a text that nobody can parse.

/// Returns why a text may show something else than it says.
pub(super) fn unreadable(text: &str) -> Option<&'static str> {
    if text.contains('\0') {
        return Some("it contains a NUL");
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Some("it contains control characters");
    }
    if text.chars().any(|c| !c.is_ascii() && (c.is_whitespace() || is_invisible(c))) {
        return Some("it contains invisible characters or unusual spaces");
    }
    None
}

/// Returns why shells may read a text differently.
pub(super) fn ambiguous(text: &str) -> Option<&'static str> {
    let mut before = '\n';
    for c in text.chars() {
        // An interactive zsh knows no comments; what follows would run.
        if c == '#'
            && (before.is_whitespace() || matches!(before, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '`'))
        {
            return Some("it has a comment, or what looks like one");
        }
        before = c;
    }
    None
}

/// Characters that are not seen, or that turn the direction of what is.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns how many groups a parser might descend into: too many rather than too few.
pub(super) fn openings(text: &str) -> usize {
    let signs = text.chars().filter(|c| matches!(c, '(' | '{' | '[' | '`' | '!')).count();
    let keyword = |word: &&str| {
        matches!(
            *word,
            "if" | "elif"
                | "else"
                | "then"
                | "while"
                | "until"
                | "for"
                | "case"
                | "do"
                | "select"
                | "function"
                | "coproc"
                | "time"
        )
    };
    signs + text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(keyword).count()
}

/// Returns the words of a text however it is quoted: once with quotes and backslashes left out, once with them as
/// separators.
pub(crate) fn words(text: &str) -> [Vec<String>; 2] {
    let joined: String =
        text.replace("\\\n", "").chars().filter(|c| !is_quote(*c) && !is_invisible(*c)).collect();
    let divided: String = text.chars().map(|c| if is_quote(c) { ' ' } else { c }).collect();
    [joined, divided].map(|text| {
        let is_separator = |c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(
                    c,
                    ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`' | '$' | '<' | '>' | ',' | '!' | '='
                )
        };
        text.split(is_separator).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    })
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\')
}
