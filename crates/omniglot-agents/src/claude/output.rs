//! The output of a tool: text, files, pictures and exit code, from the two forms that the CLI has.
//!
//! The content is what the model was given; `tool_use_result` is the tool's own structured copy of it.

use omniglot_schema::{ContentPart, FileAction};
use omniglot_timeline::{ToolResult, inline_image};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::diff::{FileChange, made};
use super::wire::content::{ImageSource, ToolResult as WireResult};
use super::wire::{self, Block};
use crate::contract::Unparsed;
use crate::fault::unparsed;

/// The result of a call of the tool `name`.
pub(crate) fn read(
    name: &str,
    input: Option<&RawValue>,
    result: &WireResult<'_>,
    structured: Option<&RawValue>,
    faults: &mut Vec<Unparsed>,
) -> ToolResult {
    let is_error = result.is_error.unwrap_or(false);
    let (text, mut parts) = content(result.content, faults);
    let mut read = ToolResult { output: text, is_error: Some(is_error), ..ToolResult::default() };
    if is_error {
        failed(&mut read, structured);
    } else {
        match name {
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => match typed::<FileChange>(structured) {
                Some(change) => parts.push(change.into_part()),
                None => parts
                    .extend(typed(input).map(|input| made(name, &input, &read.output)).into_iter().flatten()),
            },
            "Bash" | "PowerShell" => ran(&mut read, &mut parts, structured),
            "Agent" | "Task" => reported(&mut read, structured),
            _ => parts.extend(typed::<Structured>(structured).and_then(Structured::into_part)),
        }
    }
    read.parts = parts;
    read
}

/// An object of this shape. A list is none, although it could be read as one.
fn typed<T: DeserializeOwned>(structured: Option<&RawValue>) -> Option<T> {
    let raw = structured.filter(|raw| raw.get().starts_with('{'))?;
    serde_json::from_str(raw.get()).ok()
}

fn content(content: Option<&RawValue>, faults: &mut Vec<Unparsed>) -> (String, Vec<ContentPart>) {
    let (mut texts, mut parts) = (Vec::new(), Vec::new());
    for block in content.map(|raw| wire::blocks(raw, faults)).unwrap_or_default() {
        match block {
            Block::Text(text) => texts.push(text),
            Block::ToolReference(tool) => texts.push(tool),
            Block::Image(source) => parts.extend(image(source)),
            Block::Thinking(_)
            | Block::RedactedThinking
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Unknown { .. } => {
                faults.push(unparsed("tool_result.content", "a block that no tool writes"));
            }
        }
    }
    (texts.join("\n"), parts)
}

/// A picture, kept as a blob, or where it is.
pub(crate) fn image(source: ImageSource) -> Option<ContentPart> {
    let ImageSource { media_type, data, url } = source;
    match (data, url) {
        (Some(data), _) => Some(inline_image(media_type.as_deref().unwrap_or("image/png"), &data)),
        (None, Some(path)) => Some(ContentPart::Image { path, mime: media_type }),
        (None, None) => None,
    }
}

/// The copy is the bare message; the model is told more about some failures, in the vendor's words.
fn failed(read: &mut ToolResult, structured: Option<&RawValue>) {
    let words = structured.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    if let Some(words) = words {
        read.output = words.strip_prefix("Error: ").unwrap_or(&words).to_owned();
    }
    let code = read.output.strip_prefix("Exit code ").and_then(|rest| rest.lines().next());
    read.exit_code = code.and_then(|code| code.trim().parse().ok());
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shell {
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    interrupted: bool,
    #[serde(default)]
    background_task_id: Option<String>,
    /// Set for codes other than 0 that are no failure, such as that of `grep`.
    #[serde(default)]
    return_code_interpretation: Option<String>,
    #[serde(default)]
    persisted_output_path: Option<String>,
}

/// A command that did not fail has ended with 0, if it has ended. Of a long output the model is given the
/// beginning only, and the rest is in a file.
fn ran(read: &mut ToolResult, parts: &mut Vec<ContentPart>, structured: Option<&RawValue>) {
    let Some(shell) = typed::<Shell>(structured) else { return };
    read.goes_on = shell.background_task_id.is_some();
    let ended = !shell.interrupted && !read.goes_on;
    read.exit_code = (ended && shell.return_code_interpretation.is_none()).then_some(0);
    let stderr = shell.stderr.trim();
    if let Some(path) = shell.persisted_output_path {
        read.output.clone_from(&shell.stdout);
        parts.push(ContentPart::file(path, FileAction::Read, None));
    } else if !stderr.is_empty() {
        read.output = without_stderr(&read.output, shell.stdout.trim(), stderr);
    }
    read.stderr = (!stderr.is_empty()).then(|| stderr.to_owned());
}

/// The model is given stdout, stderr and remarks of the CLI as one text, in this order.
fn without_stderr(text: &str, stdout: &str, stderr: &str) -> String {
    let (said, rest) = match text.find(stdout) {
        Some(at) => text.split_at(at + stdout.len()),
        None => ("", text),
    };
    match rest.split_once(stderr) {
        Some((before, after)) => format!("{said}{}{after}", before.strip_suffix('\n').unwrap_or(before)),
        None => text.to_owned(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(default)]
    content: Vec<ReportText>,
    #[serde(default)]
    total_duration_ms: Option<u64>,
    #[serde(default)]
    status: Option<String>,
}

#[derive(Deserialize)]
struct ReportText {
    #[serde(default)]
    text: String,
}

/// A subagent's report without the vendor's words around it.
fn reported(read: &mut ToolResult, structured: Option<&RawValue>) {
    let Some(report) = typed::<Report>(structured) else { return };
    read.duration_ms = report.total_duration_ms;
    read.goes_on = report.status.as_deref() == Some("async_launched");
    let texts: Vec<&str> = report.content.iter().map(|text| without_frame(&text.text)).collect();
    if !texts.is_empty() {
        read.output = texts.join("\n");
    } else if read.goes_on {
        // The model is told how to treat this, which is nobody else's business.
        "The subagent works in the background.".clone_into(&mut read.output);
    }
}

fn without_frame(text: &str) -> &str {
    let framed = text.strip_prefix("<tools-used-before-summary>");
    let rest = framed.and_then(|rest| rest.split_once("</tools-used-before-summary>"));
    rest.map_or(text, |(_, rest)| rest.trim_start())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Structured {
    #[serde(default)]
    structured_content: Option<serde_json::Value>,
}

impl Structured {
    fn into_part(self) -> Option<ContentPart> {
        self.structured_content.map(|json| ContentPart::Json { json })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output and stderr of a command of which the model was told `content`.
    fn ran(content: &str, structured: &str) -> (String, Option<String>) {
        let content = serde_json::value::to_raw_value(content).unwrap();
        let structured: Box<RawValue> = serde_json::from_str(structured).unwrap();
        let result =
            WireResult { tool_use_id: "b".to_owned(), content: Some(&content), is_error: Some(false) };
        let mut faults = vec![];
        let read = read("Bash", None, &result, Some(&structured), &mut faults);
        assert_eq!(faults, []);
        (read.output, read.stderr)
    }

    #[test]
    fn stdout_and_stderr_of_a_command_stay_apart() {
        let both = ran("out\noops", r#"{"stdout":"out\n","stderr":"oops\n"}"#);
        assert_eq!(both, ("out".to_owned(), Some("oops".to_owned())));
        let same = ran("a\na", r#"{"stdout":"a","stderr":"a"}"#);
        assert_eq!(same, ("a".to_owned(), Some("a".to_owned())));
        let silent = ran("oops", r#"{"stdout":"","stderr":"oops"}"#);
        assert_eq!(silent, (String::new(), Some("oops".to_owned())));
        let quiet = ran("out", r#"{"stdout":"out","stderr":""}"#);
        assert_eq!(quiet, ("out".to_owned(), None));
    }

    #[test]
    fn what_the_cli_remarks_behind_stderr_stays_in_the_output() {
        let text = "out\noops\n<error>Command was aborted before completion</error>";
        let told = ran(text, r#"{"stdout":"out","stderr":"oops","interrupted":true}"#);
        let output = "out\n<error>Command was aborted before completion</error>".to_owned();
        assert_eq!(told, (output, Some("oops".to_owned())));
    }

    #[test]
    fn of_a_long_output_both_streams_are_told_apart_as_well() {
        let told = ran("<persisted>", r#"{"stdout":"out","stderr":"oops","persistedOutputPath":"/t/o.txt"}"#);
        assert_eq!(told, ("out".to_owned(), Some("oops".to_owned())));
    }
}
