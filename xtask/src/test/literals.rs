//! A reader knows no agent: neither an agent's id nor the name of an agent's tool or of its argument is a string
//! literal in the faces or in the command line. Readers use the kind and the subject of a call.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use omniglot_agents::Registry;

/// Ids of agents with other meanings: readers of the stream have cursors, and `mock` is our own.
const OTHER_IDS: &[&str] = &["cursor", "mock"];

/// Names of tools that are plain English words and have other meanings, in small letters.
const WORDS: &[&str] = &[
    "agent", "batch", "edit", "invalid", "list", "ls", "monitor", "patch", "question", "read", "replace",
    "shell", "skill", "sleep", "task", "wait", "workflow", "write",
];

/// The ids of the agents that we drive.
static AGENTS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let registry = Registry::default();
    registry.ids().filter(|id| !OTHER_IDS.contains(id)).collect()
});

/// Names of agents' tools, in small letters and without separators, so that every spelling is found.
static TOOLS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let registry = Registry::default();
    let names = registry.iter().flat_map(|agent| agent.tools).flat_map(|(_, names)| *names);
    names.map(|name| plain(name)).filter(|name| !WORDS.contains(&&**name)).collect()
});

/// Names of the arguments of such tools, in the same form.
const ARGUMENTS: &[&str] =
    &["absolutepath", "abspath", "newstr", "newstring", "notebookpath", "oldstr", "oldstring"];

/// The sources of readers.
const READERS: &[&str] = &["crates/omniglot-server/src/faces", "crates/omniglot/src"];

/// The mock is an agent and no reader; the names of spans are those of OpenTelemetry.
const EXEMPT: &[&str] = &[
    "crates/omniglot/src/mock_agent",
    "crates/omniglot/src/mock_agent.rs",
    "crates/omniglot/src/otel/spans.rs",
];

/// OpenCode's names for its tools, in its face the one place for them.
const TOOL_NAMES: &str = "crates/omniglot-server/src/faces/opencode/wire/tool_names.rs";

/// OpenCode is a protocol of ours, too, and has a name there.
const OPENCODE: &[&str] = &[
    "crates/omniglot-server/src/faces/opencode",
    "crates/omniglot-server/src/faces/opencode.rs",
    "crates/omniglot/src/opencode_command.rs",
];

pub(super) fn faults(file: &Path, text: &str) -> Vec<String> {
    let is_in = |places: &[&str]| places.iter().any(|place| file.starts_with(place));
    let exempt = is_in(EXEMPT) || file == Path::new(TOOL_NAMES) || is_test(file);
    if exempt || !is_in(READERS) {
        return vec![];
    }
    let own = is_in(OPENCODE);
    let literals = literals(without_tests(text)).into_iter();
    let known = literals.filter_map(|literal| Some((complaint(literal.text, own)?, literal)));
    known.map(|(what, literal)| format!("line {}: {what} `{}`", literal.line, literal.text)).collect()
}

fn complaint(literal: &str, in_opencode_s_face: bool) -> Option<&'static str> {
    let plain = plain(literal);
    if AGENTS.contains(literal) && !(in_opencode_s_face && literal == "opencode") {
        return Some("a reader must not know the agent");
    }
    // OpenCode's own arguments are spelled in camel case, and stand in its face.
    let is_own = in_opencode_s_face && !literal.contains('_');
    let is_argument = ARGUMENTS.contains(&&*plain) && !is_own;
    if TOOLS.contains(&plain) || is_argument || literal == "file_path" {
        return Some("use the kind and the subject of the call, not the agents' name");
    }
    None
}

/// Returns a name in small letters and without separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_lowercase()
}

fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs")
}

/// Tests have examples. They stand at the end of a file.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// A string literal and its line.
#[derive(Debug, PartialEq)]
struct Literal<'a> {
    line: usize,
    text: &'a str,
}

fn literals(text: &str) -> Vec<Literal<'_>> {
    let (mut found, mut at) = (vec![], 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let token = token(rest);
        if let Some(inner) = token.inner {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            found.push(Literal { line, text: inner });
        }
        at += token.length;
    }
    found
}

/// A piece of Rust: its length in bytes, and what is in it if it is a string literal.
struct Token<'a> {
    length: usize,
    inner: Option<&'a str>,
}

fn token(rest: &str) -> Token<'_> {
    let skip = |length| Token { length, inner: None };
    if rest.starts_with("//") {
        return skip(rest.find('\n').unwrap_or(rest.len()));
    }
    // A quotation mark as a character begins no string.
    if let Some(character) =
        ["'\"'", "'\\\"'", "'\\''"].iter().find(|character| rest.starts_with(**character))
    {
        return skip(character.len());
    }
    if let Some(raw) = raw(rest) {
        return raw;
    }
    if let Some(inner) = rest.strip_prefix('"') {
        let end = end_of_string(inner);
        return Token { length: (end + 2).min(rest.len()), inner: inner.get(..end) };
    }
    skip(word(rest))
}

/// Returns a raw string, of bytes or of characters.
fn raw(rest: &str) -> Option<Token<'_>> {
    let after = rest.strip_prefix('r').or_else(|| rest.strip_prefix("br"))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inner = after.get(hashes..)?.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close)?;
    let length = rest.len() - inner.len() + end + close.len();
    Some(Token { length, inner: inner.get(..end) })
}

fn end_of_string(inner: &str) -> usize {
    let mut escaped = false;
    let end = inner.char_indices().find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(inner.len(), |(end, _)| end)
}

/// A whole word is passed over at once: an `r` at its end begins no raw string.
fn word(rest: &str) -> usize {
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    if end > 0 { end } else { rest.chars().next().map_or(1, char::len_utf8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> usize {
        faults(Path::new(file), text).len()
    }

    const FACE: &str = "crates/omniglot-server/src/faces/acp/project/kind.rs";
    const OPENCODE_S: &str = "crates/omniglot-server/src/faces/opencode/project.rs";

    #[test]
    fn an_agent_and_the_names_of_its_tools_are_found_in_every_spelling() {
        for literal in [
            "claude",
            "codex",
            "opencode",
            "Bash",
            "run_shell_command",
            "write_file",
            "applypatch",
            "file_path",
            "old_str",
        ] {
            assert_eq!(found(FACE, &format!("let x = \"{literal}\";\n")), 1, "{literal}");
        }
        let text = "match name {\n    \"Bash\" | r#\"todo_write\"# => 1,\n}\n";
        let lines = faults(Path::new(FACE), text);
        assert!(lines.len() == 2 && lines.iter().all(|fault| fault.starts_with("line 2:")), "{lines:?}");
    }

    #[test]
    fn words_comments_tests_and_other_crates_are_left_alone() {
        for text in [
            "let verb = \"read\";\n",
            "// \"claude\"\nlet said = \"a claude of ours\";\n",
            "let quote = '\"'; let name = claude; let end = '\"';\n",
            "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    const A: &str = \"claude\";\n}\n",
        ] {
            assert_eq!(found(FACE, text), 0, "{text}");
        }
        let literal = "const A: &str = \"claude\";\n";
        for file in [
            "crates/omniglot-agents/src/claude.rs",
            "crates/omniglot/src/mock_agent/agent.rs",
            "crates/omniglot-server/src/faces/acp/project/tests.rs",
            TOOL_NAMES,
        ] {
            assert_eq!(found(file, literal), 0, "{file}");
        }
        assert_eq!(found("crates/omniglot/src/run.rs", literal), 1);
    }

    #[test]
    fn a_test_module_of_its_own_file_does_not_hide_what_follows_it() {
        assert_eq!(found(FACE, "#[cfg(test)]\nmod tests;\nconst A: &str = \"claude\";\n"), 1);
    }

    #[test]
    fn opencode_has_its_name_and_its_arguments_in_its_own_face_and_its_tools_in_one_file() {
        assert_eq!(found(OPENCODE_S, "let x = (\"opencode\", \"oldString\");\n"), 0);
        assert_eq!(found(OPENCODE_S, "let x = \"todowrite\";\n"), 1);
        assert_eq!(found(OPENCODE_S, "let x = (\"claude\", \"old_string\");\n"), 2);
    }

    #[test]
    fn literals_of_every_form_are_read() {
        let text = "f(\"a\\\"b\", r\"c\", br#\"d\"e\"#, '\"');\n\"g\"";
        let texts: Vec<&str> = literals(text).into_iter().map(|literal| literal.text).collect();
        assert_eq!(texts, ["a\\\"b", "c", "d\"e", "g"]);
    }
}
