//! A call in OpenCode's words: its tool, and the input that its clients draw.
//!
//! Both come from the kind and the subject of the call. A call whose kind has no tool in OpenCode keeps its name and
//! its arguments, and is drawn as any other.

use omniglot_schema::ToolSubject;
use omniglot_timeline::view::Call;
use serde_json::{Value, json};

use crate::faces::opencode::wire::tool_names::{
    self, BASH, EDIT, GLOB, GREP, LIST, READ, TASK, TODOWRITE, WEBFETCH, WEBSEARCH, WRITE,
};
use crate::faces::opencode::wire::{FileDiff, Record};

/// Returns OpenCode's tool for the call, and the call's input in the words of that tool.
pub(super) fn in_words(call: &Call) -> (String, Record) {
    let arguments = record(&call.arguments);
    let Some(tool) = call.kind.and_then(|kind| tool_names::tool(kind, &call.name, &call.subject)) else {
        return (call.name.clone(), arguments);
    };
    let words = words(tool, &call.subject, call.title.as_deref());
    let mut input = arguments.clone();
    input.retain(|key, value| words.contains_key(key) || !is_told(&call.subject, value));
    input.extend(words);
    // While the arguments stream, nobody knows what will be missing.
    if call.arguments.is_empty() || is_drawable(tool, &input) {
        (tool.to_owned(), input)
    } else {
        (call.name.clone(), arguments)
    }
}

/// Says whether the subject tells the same as an argument, which clients would otherwise show twice. A text that
/// describes the call may be one that the tool works with, too.
fn is_told(subject: &ToolSubject, value: &Value) -> bool {
    let ToolSubject { command, cwd, paths, query, url, server: _, description: _ } = subject;
    let texts = [command, cwd, query, url].into_iter().flatten();
    let mut told = texts.chain(paths.iter().map(|path| &path.path));
    value.as_str().is_some_and(|value| told.any(|told| told == value))
}

fn record(arguments: &str) -> Record {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(input)) => input,
        Ok(Value::Null) | Err(_) if arguments.is_empty() => Record::new(),
        Ok(other) => Record::from_iter([("input".to_owned(), other)]),
        Err(_) => Record::from_iter([("input".to_owned(), json!(arguments))]),
    }
}

/// Says whether the input has the word that clients draw a call of this tool by. Without it they show a command or a
/// task that is missing, and a list that is being written for ever.
fn is_drawable(tool: &str, input: &Record) -> bool {
    let has = |word: &str| input.contains_key(word);
    match tool {
        BASH => has("command"),
        READ => has("filePath"),
        GREP | GLOB => has("pattern"),
        LIST => has("path"),
        WEBFETCH => has("url"),
        WEBSEARCH => has("query"),
        TASK => has("description"),
        TODOWRITE => has_list(input),
        _ => true,
    }
}

/// Says whether the input has a list as OpenCode writes it.
fn has_list(input: &Record) -> bool {
    let is_entry = |entry: &Value| entry.get("content").is_some_and(Value::is_string);
    let list = input.get("todos").and_then(Value::as_array);
    list.is_some_and(|list| !list.is_empty() && list.iter().all(is_entry))
}

/// Returns the subject in the words of a tool's input.
///
/// Where an agent does not tell the one that clients draw a call by, its title stands there.
pub(super) fn words(tool: &str, subject: &ToolSubject, title: Option<&str>) -> Record {
    let path = subject.paths.first();
    let file = path.map(|path| json!(path.path));
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    let or_title = |told: Option<Value>| told.or_else(|| title.map(|title| json!(title)));
    let words = match tool {
        BASH => vec![
            ("command", or_title(text(&subject.command))),
            ("workdir", text(&subject.cwd)),
            ("description", text(&subject.description)),
        ],
        READ => vec![
            ("filePath", or_title(file)),
            ("offset", path.and_then(|path| path.line).map(|line| json!(line))),
        ],
        EDIT | WRITE => vec![("filePath", file)],
        GREP | GLOB => vec![("pattern", or_title(text(&subject.query))), ("path", file)],
        LIST => vec![("path", or_title(file))],
        WEBFETCH => vec![("url", or_title(text(&subject.url)))],
        WEBSEARCH => vec![("query", or_title(text(&subject.query)))],
        TASK => vec![("description", or_title(text(&subject.description)))],
        _ => vec![],
    };
    words.into_iter().filter_map(|(word, value)| Some((word.to_owned(), value?))).collect()
}

/// Adds to the input of a change what only its result tells: the file, and the text before and after.
pub(super) fn complete(tool: &str, input: &mut Record, changes: &[FileDiff]) {
    let Some(change) = changes.first() else { return };
    if matches!(tool, EDIT | WRITE) {
        input.entry("filePath").or_insert_with(|| json!(change.file));
    }
    if tool == EDIT
        && let [only] = changes
        && let Some((old, new)) = sides(&only.patch)
    {
        input.entry("oldString").or_insert_with(|| json!(old));
        input.entry("newString").or_insert_with(|| json!(new));
    }
}

/// Returns the two sides of a unified diff that has one hunk; several are not one replacement.
fn sides(patch: &str) -> Option<(String, String)> {
    let mut hunks = patch.split_inclusive('\n').skip_while(|line| !line.starts_with("@@"));
    hunks.next()?;
    let (mut old, mut new) = (String::new(), String::new());
    for line in hunks {
        match line.split_at_checked(1)? {
            ("-", text) => old.push_str(text),
            ("+", text) => new.push_str(text),
            (" ", text) => {
                old.push_str(text);
                new.push_str(text);
            }
            ("@", _) => return None,
            _ => {}
        }
    }
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use omniglot_schema::{CallId, ItemId, ToolKind, ToolPath};

    use super::*;
    use crate::faces::opencode::wire::DiffStatus;

    fn spoken(kind: ToolKind, arguments: &str, title: Option<&str>, subject: &ToolSubject) -> String {
        let title = title.map(str::to_owned);
        in_text(&Call { title, kind: Some(kind), subject: subject.clone(), ..call("odd", arguments) })
    }

    fn call(name: &str, arguments: &str) -> Call {
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        Call { name, arguments, ..Call::new(ItemId("item_1".into()), CallId("call_1".into())) }
    }

    fn in_text(call: &Call) -> String {
        let (tool, input) = in_words(call);
        format!("{tool} {}", Value::Object(input))
    }

    fn file() -> ToolSubject {
        ToolSubject { paths: vec![ToolPath { path: "/a".into(), line: Some(3) }], ..ToolSubject::default() }
    }

    #[test]
    fn the_input_is_made_from_the_subject_and_keeps_the_other_arguments() {
        let shell = ToolSubject {
            command: Some("ls -l".into()),
            cwd: Some("/w".into()),
            description: Some("List".into()),
            ..ToolSubject::default()
        };
        assert_eq!(
            spoken(ToolKind::Execute, r#"{"description":"-","cmd":"ls -l","timeout":5}"#, None, &shell),
            r#"bash {"description":"List","timeout":5,"command":"ls -l","workdir":"/w"}"#
        );
        assert_eq!(
            spoken(ToolKind::Read, r#"{"file":"/a"}"#, None, &file()),
            r#"read {"filePath":"/a","offset":3}"#
        );
        assert_eq!(
            spoken(ToolKind::Edit, r#"{"file":"/a","oldString":"x","newString":"y"}"#, None, &file()),
            r#"edit {"oldString":"x","newString":"y","filePath":"/a"}"#
        );
        let search = ToolSubject { query: Some("x.*".into()), ..file() };
        assert_eq!(
            spoken(ToolKind::Search, r#"{"q":"x.*"}"#, None, &search),
            r#"grep {"pattern":"x.*","path":"/a"}"#
        );
        let page = ToolSubject { url: Some("https://x".into()), ..ToolSubject::default() };
        assert_eq!(spoken(ToolKind::Fetch, "{}", None, &page), r#"webfetch {"url":"https://x"}"#);
        let task = ToolSubject { description: Some("Look".into()), ..ToolSubject::default() };
        assert_eq!(
            spoken(ToolKind::Agent, r#"{"prompt":"Look"}"#, None, &task),
            r#"task {"prompt":"Look","description":"Look"}"#
        );
    }

    #[test]
    fn a_call_that_tells_no_subject_is_drawn_by_its_title() {
        let nothing = ToolSubject::default();
        assert_eq!(
            spoken(ToolKind::Execute, "{}", Some("touch a"), &nothing),
            r#"bash {"command":"touch a"}"#
        );
        assert_eq!(
            spoken(ToolKind::Read, "{}", Some("README.md"), &nothing),
            r#"read {"filePath":"README.md"}"#
        );
        assert_eq!(spoken(ToolKind::Edit, "{}", Some("Change a"), &nothing), "edit {}");
    }

    #[test]
    fn a_call_that_tells_nothing_to_draw_it_by_keeps_its_name_once_its_arguments_are_known() {
        let nothing = ToolSubject::default();
        assert_eq!(spoken(ToolKind::Execute, "", None, &nothing), "bash {}");
        assert_eq!(spoken(ToolKind::Execute, r#"{"stdin":"y"}"#, None, &nothing), r#"odd {"stdin":"y"}"#);
        assert_eq!(spoken(ToolKind::Agent, r#"{"wait":1}"#, None, &nothing), r#"odd {"wait":1}"#);
    }

    #[test]
    fn a_call_without_a_tool_in_opencode_keeps_its_name_and_its_arguments() {
        for kind in [ToolKind::Mcp, ToolKind::Mode, ToolKind::Other] {
            assert_eq!(spoken(kind, r#"{"path":"/a"}"#, None, &file()), r#"odd {"path":"/a"}"#);
        }
        let unknown = |arguments| in_text(&call(BASH, arguments));
        assert_eq!(unknown(r#"{"cmd":"ls"}"#), r#"bash {"cmd":"ls"}"#);
        assert_eq!(unknown(""), "bash {}");
        assert_eq!(unknown("[1]"), r#"bash {"input":[1]}"#);
        assert_eq!(unknown("{broken"), r#"bash {"input":"{broken"}"#);
    }

    #[test]
    fn a_plan_is_a_list_only_where_the_call_tells_the_list() {
        let nothing = ToolSubject::default();
        let list = r#"{"todos":[{"content":"a","status":"pending"}]}"#;
        assert_eq!(spoken(ToolKind::Plan, list, None, &nothing), format!("todowrite {list}"));
        assert_eq!(spoken(ToolKind::Plan, r#"{"task":1}"#, None, &nothing), r#"odd {"task":1}"#);
    }

    #[test]
    fn an_edit_learns_its_file_and_strings_from_the_diff_of_its_result() {
        let change = |patch: &str| FileDiff {
            file: "/a".into(),
            patch: patch.into(),
            additions: 1,
            deletions: 1,
            status: DiffStatus::Modified,
        };
        let completed = |tool, changes: &[FileDiff]| {
            let mut input = Record::new();
            complete(tool, &mut input, changes);
            Value::Object(input).to_string()
        };
        let one = change("--- a\n+++ a\n@@ -1,2 +1,2 @@\n x\n-old\n+new\n\\ No newline at end of file\n");
        let strings = r#"{"filePath":"/a","oldString":"x\nold\n","newString":"x\nnew\n"}"#;
        assert_eq!(completed(EDIT, std::slice::from_ref(&one)), strings);
        assert_eq!(completed(WRITE, std::slice::from_ref(&one)), r#"{"filePath":"/a"}"#);
        assert_eq!(completed(BASH, &[one]), "{}");
        let two = change("@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n");
        assert_eq!(completed(EDIT, &[two]), r#"{"filePath":"/a"}"#);
        assert_eq!(completed(EDIT, &[]), "{}");
    }
}
