//! The words: one table that the parser of prompts and `--list` both read.
//!
//! A word is written in double brackets, `[[shell]]`, some take a number, `[[flood:1000]]`. `scripts`
//! implement the words; a new word is a function there and a row here.

use super::scripts::{demo, edit, endings, files, host, question, state, talk, tools, trouble};
use super::turn::{Flow, Turn};

/// One word that a prompt may contain.
pub(super) struct Word {
    pub(super) name: &'static str,
    number: Option<Number>,
    about: &'static str,
    pub(super) play: fn(&mut Turn<'_>, u64) -> Flow,
}

/// The number after the colon.
struct Number {
    sign: &'static str,
    max: u64,
}

/// One word of a prompt, in its order.
pub(super) enum Step<'a> {
    Play(&'static Word, u64),
    Unknown(&'a str),
}

/// Finds the words of a prompt. A leading `/name` is the word of that name, as with advertised commands.
pub(super) fn parse(prompt: &str) -> Vec<Step<'_>> {
    let command = prompt.trim_start().strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    let command = command.filter(|name| state::COMMANDS.iter().any(|(known, _)| known == name));
    command.into_iter().chain(bracketed(prompt)).map(step).collect()
}

/// Returns texts in double brackets that could be a word; a shell's `[[ -f x ]]` could not.
fn bracketed(prompt: &str) -> impl Iterator<Item = &str> {
    let candidates = prompt.split("[[").skip(1).filter_map(|rest| rest.split_once("]]"));
    candidates.map(|(word, _)| word).filter(|word| {
        let mut bytes = word.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_:-.".contains(&byte))
    })
}

fn step(word: &str) -> Step<'_> {
    let found = WORDS.iter().find_map(|entry| entry.matches(word).map(|number| (entry, number)));
    found.map_or(Step::Unknown(word), |(entry, number)| Step::Play(entry, number))
}

/// Returns the table in readable form.
pub(super) fn list() -> String {
    let mut text = String::from(
        "Words of the mock agent. Put one or more into a prompt; they play in that order.\n\
         Without a word it plays [[demo]] at a pace for people to watch.\n\n",
    );
    let width = WORDS.iter().map(|word| word.shape().len()).max().unwrap_or(0);
    for word in WORDS {
        text.push_str(&format!("  {:width$}  {}\n", word.shape(), word.about));
    }
    text
}

impl Word {
    fn matches(&self, word: &str) -> Option<u64> {
        let Some(number) = &self.number else { return (self.name == word).then_some(0) };
        let digits = word.strip_prefix(self.name)?.strip_prefix(':')?;
        digits.parse().ok().filter(|value| *value <= number.max)
    }

    /// Returns the written form of the word, with a sign in place of its number.
    pub(super) fn shape(&self) -> String {
        match &self.number {
            Some(number) => format!("[[{}:{}]]", self.name, number.sign),
            None => format!("[[{}]]", self.name),
        }
    }
}

const fn word(name: &'static str, about: &'static str, play: fn(&mut Turn<'_>, u64) -> Flow) -> Word {
    Word { name, number: None, about, play }
}

impl Word {
    const fn taking(self, sign: &'static str, max: u64) -> Self {
        Self { number: Some(Number { sign, max }), ..self }
    }
}

/// Numbers above these are surely typing errors, and would only fill memory.
const MANY: u64 = 100_000_000;
const ONE_GIB: u64 = 1 << 30;
const ONE_DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(super) static WORDS: &[Word] = &[
    word("demo", "a short tour: thought, plan, read, guarded edit, command, usage", demo::unpaced),
    word("text", "streams a short text", talk::text),
    word("text", "streams N words, a chunk each", talk::words).taking("N", MANY),
    word("reasoning", "streams a thought, then a text", talk::reasoning),
    word("image", "sends a tiny picture", talk::image),
    word("image:tool", "calls a tool that gives a tiny picture back", files::picture_tool),
    word("attachments", "tells what came with the prompt, and in which form", files::attachments),
    word("recall", "tells what it remembers of earlier prompts", talk::recall),
    word("read", "reads README.md", tools::read),
    word("edit", "asks, then adds a line to README.md (or creates notes.txt)", edit::edit),
    word("permission", "asks, then runs `echo hello`", tools::permission),
    word("question", "asks three questions: one choice, several choices, free text", question::three),
    word("question:one", "asks one question that takes other answers, too", question::one),
    word("shell", "runs a command that succeeds, output streamed", tools::shell),
    word("shell:fail", "runs a command that fails with exit code 3", tools::shell_fail),
    word("fs", "asks the client for README.md (fs/read_text_file)", host::read),
    word("fs:lines", "asks the client for two lines of README.md", host::read_lines),
    word("fs:write", "has the client write made/by-agent.txt", host::write),
    word("fs:escape", "asks the client for files that it must not touch", host::escape),
    word("terminal", "runs a command in a terminal of the client", host::terminal),
    word("terminal:fail", "runs one there that fails with exit code 3", host::terminal_fail),
    word("terminal:limit", "wants only the last bytes of what a command says", host::terminal_limit),
    word("terminal:kill", "has the client kill a command", host::terminal_kill),
    word("terminal:wait", "waits there for a command that never ends", host::terminal_wait),
    word("terminal:leave", "leaves a command running in a terminal", host::terminal_leave),
    word("mcp", "tells the MCP servers that it was given", host::mcp),
    word("skills", "tells the skills in `.mock/skills` of its directory", host::skills),
    word("tool:open", "starts a tool call and never finishes it", tools::open_call),
    word("tool:unannounced", "finishes a tool call that was never announced", tools::unannounced_call),
    word("plan", "a plan whose entries go from pending to completed", state::plan),
    word("commands", "announces its slash commands", state::commands),
    word("commands", "announces N slash commands", state::many_commands).taking("N", MANY),
    word("compact", "shortens what it remembers, with a summary", state::compact),
    word("mode", "changes the mode by itself, to acceptEdits or back", state::mode),
    word("title", "gives the session a title", state::title),
    word("usage", "reports context fill and cost", state::usage),
    word("error:auth", "fails: authentication required", endings::error_auth),
    word("error:rate_limit", "fails: rate limit", endings::error_rate_limit),
    word("error:context", "fails: the prompt is too long", endings::error_context),
    word("error:output_length", "fails: the answer is too long", endings::error_output_length),
    word("error:api", "fails: the model server has an error", endings::error_api),
    word("error:execution", "fails: the agent itself has an error", endings::error_execution),
    word("error:unknown", "fails with a code that nobody knows", endings::error_unknown),
    word("stop:max_tokens", "stops for max_tokens", endings::stop_max_tokens),
    word("stop:max_turn_requests", "stops for max_turn_requests", endings::stop_max_turn_requests),
    word("stop:refusal", "stops for refusal", endings::stop_refusal),
    word("silence", "says nothing until it is cancelled", endings::silence),
    word("silence", "says nothing for MS milliseconds", endings::silence_for).taking("MS", ONE_DAY_MS),
    word("late", "says something more after the turn has ended", endings::late),
    word("exit", "answers the prompt, then exits with code 0", endings::exit),
    word("deaf", "ignores cancel and signals, talks on slowly", trouble::deaf),
    word("deaf:silent", "ignores cancel and signals, says nothing", trouble::deaf_silent),
    word("deaf:eof", "as deaf:silent, and stays for ten minutes after stdin ends", trouble::deaf_eof),
    word("crash", "says a bit, complains on stderr, exits with code 7", trouble::crash),
    word("crash:midline", "exits with code 7 in the middle of a line", trouble::crash_midline),
    word("garbage", "writes lines that are no ACP, then a text", trouble::garbage),
    word("hugeline", "a text chunk whose line has BYTES bytes", trouble::hugeline).taking("BYTES", ONE_GIB),
    word("flood", "N text chunks as fast as possible", trouble::flood).taking("N", MANY),
    word("stderr", "N lines on stderr", trouble::stderr).taking("N", MANY),
    word("orphan", "leaves a detached `sleep 600` behind and tells its pid", trouble::orphan),
];
