//! OpenCode's words for tools and their input, so that its clients draw a command as a command and an edit as an
//! edit. A tool without such a word keeps its own, and is drawn as any other.

use serde_json::{Value, json};

use crate::faces::opencode::wire::Record;

/// OpenCode's tools, and what agents call them, in small letters and without underscores.
const TOOLS: &[(&str, &[&str])] = &[
    ("bash", &["bash", "shell", "execute", "execcommand", "runshellcommand", "localshell", "terminal"]),
    ("read", &["read", "readfile", "view"]),
    ("edit", &["edit", "replace", "multiedit", "strreplace", "editfile", "notebookedit"]),
    ("write", &["write", "writefile", "createfile"]),
    ("apply_patch", &["applypatch", "patch"]),
    ("glob", &["glob"]),
    ("grep", &["grep", "searchfilecontent", "grepsearch"]),
    ("list", &["ls", "list", "listdirectory"]),
    ("webfetch", &["webfetch", "fetch"]),
    ("websearch", &["websearch", "googlewebsearch"]),
    ("task", &["task", "agent", "spawnagent", "invokeagent"]),
    ("todowrite", &["todowrite", "writetodos"]),
    ("question", &["question", "askuserquestion", "requestuserinput"]),
];

/// OpenCode's words in a tool's input, and what agents call them.
const KEYS: &[(&str, &[&str])] = &[
    ("filePath", &["file_path", "path", "absolute_path", "notebook_path"]),
    ("oldString", &["old_string", "old_str"]),
    ("newString", &["new_string", "new_str"]),
    ("replaceAll", &["replace_all"]),
];

/// OpenCode's word for a tool; its own where there is none.
pub(in super::super) fn word(name: &str) -> &str {
    let plain: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    let known = TOOLS.iter().find(|(_, names)| names.contains(&&*plain));
    known.map_or(name, |(word, _)| word)
}

/// A call's input in OpenCode's words.
pub(super) fn input(tool: &str, arguments: &str, title: Option<&str>) -> Record {
    let mut input = match serde_json::from_str(arguments) {
        Ok(Value::Object(input)) => input,
        Ok(Value::Null) | Err(_) if arguments.is_empty() => Record::new(),
        Ok(other) => Record::from_iter([("input".to_owned(), other)]),
        Err(_) => Record::from_iter([("input".to_owned(), json!(arguments))]),
    };
    match tool {
        "bash" => command(&mut input, title),
        "read" | "edit" | "write" => rename(&mut input),
        _ => {}
    }
    if tool == "read"
        && !input.contains_key("filePath")
        && let Some(title) = title
    {
        input.insert("filePath".to_owned(), json!(title));
    }
    input
}

fn rename(input: &mut Record) {
    for (word, names) in KEYS {
        let name = names.iter().find(|name| input.contains_key(**name));
        if !input.contains_key(*word)
            && let Some(value) = name.and_then(|name| input.shift_remove(*name))
        {
            input.insert((*word).to_owned(), value);
        }
    }
}

/// A command is one line of text; an agent that does not tell it tells at least its title.
fn command(input: &mut Record, title: Option<&str>) {
    let told = input.shift_remove("command").or_else(|| input.shift_remove("cmd"));
    let line = match told {
        Some(Value::String(line)) => Some(line),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        _ => title.map(str::to_owned),
    };
    input.insert("command".to_owned(), json!(line.unwrap_or_default()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_all_agents_have_the_words_of_opencode() {
        let words = ["Bash", "run_shell_command", "Edit", "apply_patch", "Agent", "mcp__x__bash"].map(word);
        assert_eq!(words, ["bash", "bash", "edit", "apply_patch", "task", "mcp__x__bash"]);
    }

    #[test]
    fn the_input_has_opencode_s_keys_and_keeps_the_rest() {
        let input = |tool, text, title| Value::Object(super::input(tool, text, title)).to_string();
        let edit = r#"{"file_path":"/a","old_string":"x","new_string":"y","other":1}"#;
        assert_eq!(
            input("edit", edit, None),
            r#"{"other":1,"filePath":"/a","oldString":"x","newString":"y"}"#
        );
        assert_eq!(input("bash", r#"{"command":["ls","-l"]}"#, None), r#"{"command":"ls -l"}"#);
        assert_eq!(input("bash", "{}", Some("touch a")), r#"{"command":"touch a"}"#);
        assert_eq!(input("read", "{}", Some("README.md")), r#"{"filePath":"README.md"}"#);
        assert_eq!(input("x", "", None), "{}");
        assert_eq!(input("x", "[1]", None), r#"{"input":[1]}"#);
        assert_eq!(input("x", "{broken", None), r#"{"input":"{broken"}"#);
    }
}
