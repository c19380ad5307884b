//! First words of commands: strictly for rules that allow, generously for those that deny or ask.

use crate::programs::{self, Trust};
use crate::shell::Word;

/// Returns why a rule with these first words does not allow the command; `Ok(false)` if it is about another command.
pub(crate) fn allows(prefix: &[String], words: &[Word]) -> Result<bool, String> {
    let literal = |(part, word): (&String, &Word)| word.literal() == Some(part);
    if words.len() < prefix.len() || !prefix.iter().zip(words).all(literal) {
        return Ok(false);
    }
    let Some((program, arguments)) = words.split_first() else { return Ok(false) };
    let program = program.text();
    let whole = words.len() == prefix.len();
    match programs::trust(program) {
        Trust::Never => return Err(format!("`{program}` runs whatever follows it, so no rule allows it")),
        Trust::Whole if !whole => {
            return Err(format!("`{program}` runs what its arguments say, so a rule must name all of them"));
        }
        Trust::Whole => return Ok(true),
        Trust::Prefix => {}
    }
    if programs::needs_subcommand(program) && prefix.len() < 2 && !whole {
        return Err(format!("a rule about `{program}` must name its subcommand"));
    }
    for word in arguments {
        match word {
            Word::Literal(_) => {}
            Word::Glob(text) if text.starts_with(['*', '?', '[', '-']) => {
                return Err(format!("`{text}` may stand for options; write ./{text}"));
            }
            Word::Glob(_) => {}
            Word::Dynamic(text) => return Err(format!("only the shell knows what `{text}` is")),
        }
    }
    let arguments: Vec<&str> = arguments.iter().map(Word::text).collect();
    match programs::running_argument(program, &arguments) {
        Some(argument) => Err(format!("`{program}` may run or write something by `{argument}`")),
        None => Ok(true),
    }
}

/// Whether a command begins with these words, whatever folder its program is in and whatever options are between.
pub(crate) fn begins(prefix: &[String], words: &[&str]) -> bool {
    let (Some((program, prefix)), Some((name, words))) = (prefix.split_first(), words.split_first()) else {
        return false;
    };
    if !programs::base(name).eq_ignore_ascii_case(programs::base(program)) {
        return false;
    }
    let (options, prefix): (Vec<&String>, Vec<&String>) =
        prefix.iter().partition(|part| part.starts_with('-'));
    options.iter().all(|option| has_option(option, words)) && has_in_order(&prefix, words)
}

/// Whether the words follow each other, with nothing but options and their values between.
fn has_in_order(prefix: &[&String], words: &[&str]) -> bool {
    let mut rest = words;
    let mut after_option = false;
    for part in prefix {
        loop {
            let Some((word, next)) = rest.split_first() else { return false };
            rest = next;
            if word.eq_ignore_ascii_case(part) {
                after_option = false;
                break;
            }
            if !word.starts_with(['-', '+']) && !after_option {
                return false;
            }
            after_option = word.starts_with('-');
        }
    }
    true
}

fn has_option(option: &str, words: &[&str]) -> bool {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    if words.iter().any(|word| name(word) == name(option)) {
        return true;
    }
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let given: String = words.iter().filter(|word| is_short(word)).copied().collect();
    is_short(option) && option.len() > 1 && option.chars().skip(1).all(|letter| given.contains(letter))
}

/// Whether a command that begins so may be anywhere in these words.
pub(crate) fn occurs(prefix: &[String], words: &[&str]) -> bool {
    (0..words.len()).any(|at| words.get(at..).is_some_and(|rest| begins(prefix, rest)))
}
