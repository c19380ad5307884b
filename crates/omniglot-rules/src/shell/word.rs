//! One word of a command: its literal text, if every shell reads it as the same.

/// A word after its quotes were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Literal(String),
    /// A pattern for the names of files.
    Glob(String),
    /// A variable, a substitution, or what else only the shell knows; with the text as far as it is known.
    Dynamic(String),
}

impl Word {
    /// Reads a word as it is written, with its quotes.
    pub(crate) fn read(raw: &str) -> Self {
        let mut reader = Reader { text: String::new(), glob: false, dynamic: false };
        reader.read(raw);
        match reader {
            Reader { text, dynamic: true, .. } => Self::Dynamic(text),
            Reader { text, glob: true, .. } => Self::Glob(text),
            Reader { text, .. } => Self::Literal(text),
        }
    }

    /// Returns the text as far as it is known.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Glob(text) | Self::Dynamic(text) => text,
        }
    }

    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Glob(_) | Self::Dynamic(_) => None,
        }
    }
}

struct Reader {
    text: String,
    glob: bool,
    dynamic: bool,
}

impl Reader {
    fn read(&mut self, raw: &str) {
        // `{}` is what find and xargs replace; every shell leaves it alone.
        if raw == "{}" {
            return self.text.push_str(raw);
        }
        let mut chars = raw.chars().peekable();
        let mut first = true;
        let mut before = ' ';
        while let Some(c) = chars.next() {
            match c {
                '\'' => self.single(&mut chars),
                '"' => self.double(&mut chars),
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(escaped) => self.text.push(escaped),
                    None => self.dynamic = true,
                },
                '$' if chars.peek() == Some(&'\'') => {
                    chars.next();
                    self.ansi_c(&mut chars);
                }
                '*' | '?' | '[' => {
                    // A bracket of its own is a command, and closes itself.
                    self.glob |= !(c == '[' && raw == "[");
                    self.text.push(c);
                }
                // zsh replaces `=name`, and a tilde also behind a colon or an equals sign.
                '=' | '^' | '#' | '%' | '-' | '+' if first => {
                    self.dynamic |= matches!(c, '=' | '^' | '#' | '%');
                    self.text.push(c);
                }
                // `HEAD~1` is what it says, also to zsh.
                '~' if before.is_ascii_alphanumeric() => self.text.push(c),
                '$' | '`' | '{' | '}' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | '~' | '\n' => {
                    self.dynamic = true;
                    self.text.push(c);
                }
                '!' => self.bang(chars.peek().copied()),
                other => self.text.push(other),
            }
            first = false;
            before = c;
        }
    }

    fn single(&mut self, chars: &mut impl Iterator<Item = char>) {
        for c in chars {
            if c == '\'' {
                return;
            }
            self.text.push(c);
        }
        self.dynamic = true;
    }

    fn double(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        while let Some(c) = chars.next() {
            match c {
                '"' => return,
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.text.push(escaped),
                    Some(other) => {
                        self.text.push('\\');
                        self.text.push(other);
                    }
                    None => self.dynamic = true,
                },
                '$' | '`' => {
                    self.dynamic = true;
                    self.text.push(c);
                }
                '!' => self.bang(chars.peek().copied()),
                other => self.text.push(other),
            }
        }
        self.dynamic = true;
    }

    /// Reads `$'…'`, which sh takes literally and others decode.
    fn ansi_c(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        self.dynamic = true;
        while let Some(c) = chars.next() {
            match c {
                '\'' => return,
                '\\' => match chars.next() {
                    Some('x') => self.number(chars, 16, 2),
                    Some('u') => self.number(chars, 16, 4),
                    Some('U') => self.number(chars, 16, 8),
                    Some(digit @ '0'..='7') => {
                        let mut value = digit.to_digit(8).unwrap_or_default();
                        for _ in 0..2 {
                            let Some(next) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                            value = value * 8 + next;
                            chars.next();
                        }
                        self.text.extend(char::from_u32(value));
                    }
                    Some('n' | 't' | 'r' | 'v' | 'f') => self.text.push(' '),
                    Some(other) => self.text.push(other),
                    None => {}
                },
                other => self.text.push(other),
            }
        }
    }

    fn number(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) {
        let mut value = 0_u32;
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            chars.next();
        }
        self.text.extend(char::from_u32(value));
    }

    /// An interactive shell replaces `!` with something of its history, unless nothing but a space follows.
    fn bang(&mut self, next: Option<char>) {
        self.dynamic |= next.is_some_and(|next| !matches!(next, ' ' | '=' | '"'));
        self.text.push('!');
    }
}
