//! Tool calls, their results and diffs as a few lines each.
//!
//! The order of lines and the space between them is the renderer's.

use omniglot_schema::{ContentPart, FileAction, ItemStatus, ToolKind, ToolSubject, UniversalItem};
use omniglot_timeline::view::Call;
use serde_json::{Map, Value};

use super::style::{Ink, Style, broken, clean, cut, duration, one_line};

const OUTPUT_LINES: usize = 5;
const DIFF_LINES: usize = 60;

/// Returns the call's name and its subject; one that tells no subject has its title, or else its arguments.
pub(super) fn label(call: &Call) -> String {
    let title = || call.title.clone().filter(|title| !title.trim().is_empty());
    let told = about(call.kind, &call.subject).or_else(title).unwrap_or_else(|| first_text(&call.arguments));
    format!("{} {told}", call.name).trim_end().to_owned()
}

/// Returns the member of a subject that says most about a call of this kind.
fn about(kind: Option<ToolKind>, subject: &ToolSubject) -> Option<String> {
    let ToolSubject { command, paths, query, url, description, .. } = subject;
    let joined = |between| {
        let paths: Vec<&str> = paths.iter().map(|path| &*path.path).collect();
        (!paths.is_empty()).then(|| paths.join(between))
    };
    let most = match kind {
        Some(ToolKind::Move) => joined(" → "),
        Some(ToolKind::Search) => match (query, joined(", ")) {
            (Some(query), Some(paths)) => Some(format!("{query} in {paths}")),
            (query, paths) => query.clone().or(paths),
        },
        Some(ToolKind::Agent | ToolKind::Plan | ToolKind::Think | ToolKind::Mode) => description.clone(),
        _ => None,
    };
    let any = || command.clone().or_else(|| joined(", ")).or(query.clone()).or(url.clone());
    most.or_else(any).or(description.clone()).filter(|told| !told.trim().is_empty())
}

/// Returns the first argument that is a text.
fn first_text(arguments: &str) -> String {
    // The shape of arguments is the tool's own, so they are looked at, not modelled.
    let Ok(map) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return arguments.to_owned();
    };
    match map.values().find_map(words) {
        Some(words) => words,
        None if map.is_empty() => String::new(),
        None => arguments.to_owned(),
    }
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(list) if !list.is_empty() => {
            list.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// The text output of a result, its first lines only.
pub(super) fn output(style: Style, text: &str, width: usize) -> String {
    let text = clean(&text.replace("\r\n", "\n").replace('\r', "\n"));
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = if lines.len() == OUTPUT_LINES + 1 { lines.len() } else { OUTPUT_LINES };
    let mut out = String::new();
    for line in lines.iter().take(shown) {
        out.push_str(
            style.paint(Ink::Dim, format!("  │ {}", cut(line, width.saturating_sub(4))).trim_end()).as_str(),
        );
        out.push('\n');
    }
    if lines.len() > shown {
        let more = format!("  │ … {} more lines", lines.len() - shown);
        out.push_str(&style.paint(Ink::Dim, &more));
        out.push('\n');
    }
    out
}

/// How a result ended, when that is worth a line.
pub(super) fn verdict(style: Style, item: &UniversalItem) -> String {
    let Some((is_error, exit_code, duration_ms)) = item.content.iter().find_map(outcome_of) else {
        return String::new();
    };
    let failed =
        item.status == ItemStatus::Failed || is_error == Some(true) || exit_code.is_some_and(|c| c != 0);
    if !failed {
        return String::new();
    }
    let mut words = match exit_code {
        Some(code) => format!("  ✗ exit code {code}"),
        None => "  ✗ did not succeed".to_owned(),
    };
    if let Some(ms) = duration_ms {
        words.push_str(&format!(" after {}", duration(ms)));
    }
    style.paint(Ink::Red, &words) + "\n"
}

fn outcome_of(part: &ContentPart) -> Option<(Option<bool>, Option<i64>, Option<u64>)> {
    match part {
        ContentPart::ToolResult { is_error, exit_code, duration_ms, .. } => {
            Some((*is_error, *exit_code, *duration_ms))
        }
        _ => None,
    }
}

/// One line for a file that a tool touched without showing how.
pub(super) fn touched(style: Style, path: &str, action: FileAction, width: usize) -> String {
    let verb = match action {
        FileAction::Read => "read",
        FileAction::Write => "wrote",
        FileAction::Patch => "changed",
    };
    style.paint(Ink::Dim, &format!("  {verb} {}", one_line(path, width.saturating_sub(10)))) + "\n"
}

/// A unified diff under the name of its file.
pub(super) fn diff(style: Style, path: &str, diff: &str, width: usize) -> String {
    let mut out = format!("  {}\n", style.paint(Ink::Bold, &one_line(path, width.saturating_sub(2))));
    let diff = clean(diff);
    let lines: Vec<&str> = diff.lines().skip_while(|line| !line.starts_with("@@")).collect();
    for line in lines.iter().take(DIFF_LINES) {
        out.push_str(&diff_line(style, line, width.saturating_sub(3)));
    }
    if lines.len() > DIFF_LINES {
        let more = format!("  … {} more lines of the diff", lines.len() - DIFF_LINES);
        out.push_str(&style.paint(Ink::Dim, &more));
        out.push('\n');
    }
    out
}

/// Whole, however long: somebody may have to decide about it.
fn diff_line(style: Style, line: &str, width: usize) -> String {
    let ink = match line.chars().next() {
        Some('+') => Some(Ink::Green),
        Some('-') => Some(Ink::Red),
        Some('@') => Some(Ink::Cyan),
        _ => None,
    };
    let mut out = String::new();
    for (index, piece) in broken(line, width).iter().enumerate() {
        let indent = if index == 0 { "  " } else { "  …" };
        let text = piece.trim_end();
        let painted = ink.map_or_else(|| text.to_owned(), |ink| style.paint(ink, text));
        out.push_str(format!("{indent}{painted}").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use omniglot_schema::{CallId, ItemId, ToolPath};

    use super::*;

    fn label(kind: Option<ToolKind>, subject: Option<&ToolSubject>, title: Option<&str>) -> String {
        let (title, subject) = (title.map(str::to_owned), subject.cloned().unwrap_or_default());
        super::label(&Call { kind, subject, title, ..call(r#"{"n":"argument"}"#) })
    }

    fn call(arguments: &str) -> Call {
        let (name, arguments) = ("odd".to_owned(), arguments.to_owned());
        Call { name, arguments, ..Call::new(ItemId("item_1".into()), CallId("call_1".into())) }
    }

    #[test]
    fn a_call_shows_the_member_of_its_subject_that_says_most_about_its_kind() {
        let subject = ToolSubject {
            command: Some("ls -l".into()),
            paths: vec![ToolPath::new("/a"), ToolPath::new("/b")],
            query: Some("x".into()),
            url: Some("https://x".into()),
            description: Some("Look".into()),
            ..ToolSubject::default()
        };
        let of = |kind| label(Some(kind), Some(&subject), Some("title"));
        assert_eq!(of(ToolKind::Execute), "odd ls -l");
        assert_eq!(of(ToolKind::Search), "odd x in /a, /b");
        assert_eq!(of(ToolKind::Move), "odd /a → /b");
        assert_eq!(of(ToolKind::Agent), "odd Look");
        let file = ToolSubject { command: None, ..subject.clone() };
        assert_eq!(label(Some(ToolKind::Read), Some(&file), None), "odd /a, /b");
        assert_eq!(label(None, Some(&file), None), "odd /a, /b");
        let page = ToolSubject { paths: vec![], query: None, ..file };
        assert_eq!(label(Some(ToolKind::Fetch), Some(&page), None), "odd https://x");
    }

    #[test]
    fn a_call_without_a_subject_shows_its_title_or_its_first_text() {
        assert_eq!(label(None, None, Some("Writing to note.txt")), "odd Writing to note.txt");
        assert_eq!(label(Some(ToolKind::Edit), Some(&ToolSubject::default()), Some("title")), "odd title");
        assert_eq!(label(None, None, None), "odd argument");
        let of = |arguments| super::label(&call(arguments));
        assert_eq!(of(r#"{"n":5,"words":["ls","-l"]}"#), "odd ls -l");
        assert_eq!(of("{}"), "odd");
        assert_eq!(of(r#"{"n":1}"#), r#"odd {"n":1}"#);
        assert_eq!(of("not json"), "odd not json");
    }

    #[test]
    fn long_output_is_cut_and_counted() {
        let text = (1..=9).map(|n| format!("line {n}\n")).collect::<String>();
        let shown = output(Style::Plain, &text, 80);
        assert_eq!(shown.lines().count(), 6);
        assert!(shown.ends_with("  │ … 4 more lines\n"), "{shown}");
    }

    #[test]
    fn one_line_too_many_is_shown_rather_than_counted() {
        let shown = output(Style::Plain, "1\n2\n3\n4\n5\n6\n", 80);
        assert!(shown.ends_with("  │ 6\n"), "{shown}");
    }

    #[test]
    fn a_long_line_of_a_diff_is_shown_whole() {
        let shown = diff(Style::Plain, "x", "@@ -1 +1 @@\n+rm -rf everything\n", 15);
        assert_eq!(shown, "  x\n  @@ -1 +1 @@\n  +rm -rf ever\n  …ything\n");
    }

    #[test]
    fn a_diff_is_shown_without_its_file_header() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n";
        assert_eq!(diff(Style::Plain, "x", text, 80), "  x\n  @@ -1 +1,2 @@\n   a\n  +b\n");
    }
}
