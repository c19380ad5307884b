//! A command line by the grammar of a real shell: its simple commands, the files it redirects to and from, and why it
//! is not understood to the last word.
//!
//! The grammar is brush-parser's, words are read here. What sh, bash and zsh read differently makes a script opaque.

mod text;
mod walk;
mod word;

use brush_parser::{Parser, ParserOptions};

pub(crate) use text::words as words_of_text;
pub(crate) use word::Word;

/// The longest command that is parsed.
const MAX_BYTES: usize = 16 * 1024;
/// The most openings of groups: brush-parser descends once for each, and its stack is ours.
const MAX_OPENINGS: usize = 48;

/// A parsed command line.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// The simple commands in their order, each with at least one word.
    pub(crate) commands: Vec<Vec<Word>>,
    pub(crate) writes: Vec<Word>,
    pub(crate) reads: Vec<Word>,
    /// The reason why no rule may allow the script.
    pub(crate) opaque: Option<String>,
}

impl Script {
    /// Parses a command line; one that is no shell script at all is opaque and has no commands.
    pub(crate) fn parse(text: &str) -> Self {
        if let Some(reason) = text::unreadable(text) {
            return Self::opaque(reason);
        }
        let mut script = match program(text) {
            Ok(program) => walk::walk(&program),
            Err(reason) => return Self::opaque(reason),
        };
        if let Some(reason) = text::ambiguous(text) {
            script.note(reason);
        }
        if script.commands.is_empty() {
            script.note("it has no command");
        }
        script
    }

    /// Returns the script that a login shell is started for, as some agents run every command of theirs.
    pub(crate) fn of_login_shell(text: &str) -> Option<String> {
        let script = Self::parse(text);
        let plain = script.opaque.is_none() && script.writes.is_empty() && script.reads.is_empty();
        let [words] = script.commands.as_slice() else { return None };
        match words.as_slice() {
            [Word::Literal(shell), Word::Literal(option), Word::Literal(inner)]
                if plain
                    && matches!(shell.as_str(), "/bin/bash" | "/bin/zsh" | "/bin/sh")
                    && option == "-lc" =>
            {
                Some(inner.clone())
            }
            _ => None,
        }
    }

    fn opaque(reason: impl Into<String>) -> Self {
        Self { opaque: Some(reason.into()), ..Self::default() }
    }

    /// Keeps the first reason.
    fn note(&mut self, reason: impl Into<String>) {
        self.opaque.get_or_insert_with(|| reason.into());
    }
}

fn program(text: &str) -> Result<brush_parser::ast::Program, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    if text::openings(text) > MAX_OPENINGS {
        return Err(format!("it has more than {MAX_OPENINGS} groups or quotations"));
    }
    let parse = || {
        let mut parser = Parser::new(std::io::Cursor::new(text.as_bytes()), &ParserOptions::default());
        parser.parse_program().map_err(|error| format!("it does not parse as a shell command: {error}"))
    };
    // The crate unwraps here and there; its panic must not end a session.
    std::panic::catch_unwind(parse).unwrap_or_else(|_| Err("it does not parse as a shell command".to_owned()))
}
