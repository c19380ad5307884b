//! The calls of Codex: the kind of each kind of item, and what the item tells about its subject.

use omniglot_schema::{ContentPart, ToolKind, ToolPath, ToolSubject};
use serde::Deserialize;

use super::wire::{
    CollabAgentToolCall, CommandAction, CommandExecution, FileChange, FileUpdate, PermissionsApproval,
    TurnPlan, UpdateKind, WebSearch,
};
use crate::about::{About, file_read, path, text};
use crate::adapter::{ToolTable, tool_kind};

/// The names of the calls that items are told as. Tools of the client have names of their own, whose meaning only
/// the client knows.
pub(crate) const TOOLS: ToolTable = &[
    (ToolKind::Execute, &["shell", "write_stdin"]),
    (ToolKind::Edit, &["apply_patch"]),
    (ToolKind::Read, &["view_image"]),
    (ToolKind::Search, &["web_search"]),
    (ToolKind::Plan, &["update_plan"]),
    (ToolKind::Agent, &["spawnAgent", "sendInput", "resumeAgent", "wait", "closeAgent"]),
    (ToolKind::Other, &["image_generation", "request_user_input", "request_permissions", "sleep"]),
];

/// Returns the kind of a call with this name.
pub(crate) fn kind(name: &str) -> ToolKind {
    tool_kind(TOOLS, name).unwrap_or(ToolKind::Other)
}

pub(crate) fn command(item: &CommandExecution) -> About {
    let query = item.command_actions.iter().find_map(|action| action.query.clone());
    let subject = ToolSubject {
        command: Some(item.command.clone()),
        cwd: Some(item.cwd.clone()),
        paths: paths(item.command_actions.iter().filter_map(|action| action.path.as_deref())),
        query,
        ..ToolSubject::default()
    };
    About { kind: kind("shell"), subject }
}

/// A command that is asked about before its item is told.
pub(crate) fn command_line(command: Option<String>) -> About {
    About { kind: kind("shell"), subject: ToolSubject { command, ..ToolSubject::default() } }
}

/// Returns the files that a command has read, as far as Codex understands the command.
pub(crate) fn files_read(item: &CommandExecution) -> Vec<ContentPart> {
    let is_read = |action: &&CommandAction| action.kind.as_deref() == Some("read");
    let read = item.command_actions.iter().filter(is_read).filter_map(|action| action.path.as_deref());
    paths(read).into_iter().map(|file| file_read(file.path)).collect()
}

pub(crate) fn file_change(item: &FileChange) -> About {
    let deletes = |change: &FileUpdate| matches!(change.kind, UpdateKind::Delete);
    let only_deletes = !item.changes.is_empty() && item.changes.iter().all(deletes);
    let kind = if only_deletes { ToolKind::Delete } else { kind("apply_patch") };
    let touched = item.changes.iter().flat_map(|change| {
        let moved = match &change.kind {
            UpdateKind::Update { move_path } => move_path.as_deref(),
            UpdateKind::Add | UpdateKind::Delete => None,
        };
        std::iter::once(change.path.as_str()).chain(moved)
    });
    About { kind, subject: ToolSubject { paths: paths(touched), ..ToolSubject::default() } }
}

pub(crate) fn mcp(server: &str) -> About {
    let subject = ToolSubject { server: Some(server.to_owned()), ..ToolSubject::default() };
    About { kind: ToolKind::Mcp, subject }
}

/// The work of a child agent is told in its prompt.
pub(crate) fn collab(item: &CollabAgentToolCall) -> About {
    described(ToolKind::Agent, item.prompt.as_deref())
}

/// The actions of a web search: `search`, `openPage` and `findInPage`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WebAction {
    #[serde(rename = "type", deserialize_with = "text")]
    kind: Option<String>,
    #[serde(deserialize_with = "text")]
    url: Option<String>,
    #[serde(deserialize_with = "text")]
    pattern: Option<String>,
}

pub(crate) fn web_search(item: &WebSearch) -> About {
    let action = item.action.as_ref().filter(|action| action.is_object()).map(WebAction::deserialize);
    let WebAction { kind, url, pattern } = action.and_then(Result::ok).unwrap_or_default();
    let opens = matches!(kind.as_deref(), Some("openPage" | "open_page"));
    let query = pattern.or_else(|| (!opens && !item.query.is_empty()).then(|| item.query.clone()));
    let kind = if opens { ToolKind::Fetch } else { self::kind("web_search") };
    About { kind, subject: ToolSubject { query, url, ..ToolSubject::default() } }
}

pub(crate) fn image_view(file: &str) -> About {
    let subject = ToolSubject { paths: path(Some(file.to_owned()), None), ..ToolSubject::default() };
    About { kind: kind("view_image"), subject }
}

pub(crate) fn image_generation(prompt: Option<&str>) -> About {
    described(kind("image_generation"), prompt)
}

pub(crate) fn plan_update(plan: &TurnPlan) -> About {
    described(kind("update_plan"), plan.explanation.as_deref())
}

pub(crate) fn permissions(ask: &PermissionsApproval) -> About {
    described(kind("request_permissions"), ask.reason.as_deref())
}

fn described(kind: ToolKind, words: Option<&str>) -> About {
    let description = words.filter(|words| !words.trim().is_empty()).map(str::to_owned);
    About { kind, subject: ToolSubject { description, ..ToolSubject::default() } }
}

/// Returns each path once, in the order of their first mention.
fn paths<'a>(all: impl Iterator<Item = &'a str>) -> Vec<ToolPath> {
    let mut paths: Vec<ToolPath> = vec![];
    for path in all {
        if !paths.iter().any(|known| known.path == path) {
            paths.push(ToolPath::new(path));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(about: &About) -> String {
        let kind = serde_json::to_string(&about.kind).unwrap();
        format!("{kind} {}", serde_json::to_string(&about.subject).unwrap())
    }

    fn item<T: serde::de::DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_command_tells_what_it_reads_and_looks_for() {
        let item: CommandExecution = item(
            r#"{"command":"cat a; rg fn b","cwd":"/w","status":"completed","commandActions":[
            {"type":"read","command":"cat a","name":"a","path":"/w/a"},7,
            {"type":"search","command":"rg fn b","query":"fn","path":"b"},{"type":"unknown","command":"x"},
            {"type":"read","command":"cat a","name":"a","path":"/w/a"}]}"#,
        );
        insta::assert_snapshot!(shown(&command(&item)), @r#""execute" {"command":"cat a; rg fn b","cwd":"/w","paths":[{"path":"/w/a"},{"path":"b"}],"query":"fn"}"#);
        assert_eq!(files_read(&item), [file_read("/w/a".into())]);
    }

    #[test]
    fn a_patch_is_an_edit_of_its_files_unless_it_only_deletes() {
        let change = |changes: &str| {
            shown(&file_change(&item(&format!(r#"{{"status":"completed","changes":[{changes}]}}"#))))
        };
        let moved = r#"{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":""}"#;
        let gone = r#"{"path":"/w/c","kind":{"type":"delete"},"diff":""}"#;
        insta::assert_snapshot!(change(&format!("{moved},{gone}")), @r#""edit" {"paths":[{"path":"/w/a"},{"path":"/w/b"},{"path":"/w/c"}]}"#);
        insta::assert_snapshot!(change(gone), @r#""delete" {"paths":[{"path":"/w/c"}]}"#);
    }

    #[test]
    fn a_web_search_that_opens_a_page_fetches_it() {
        let search = |json: &str| shown(&web_search(&item(json)));
        insta::assert_snapshot!(search(r#"{"query":"oslo","action":{"type":"search","query":"oslo"}}"#), @r#""search" {"query":"oslo"}"#);
        insta::assert_snapshot!(search(r#"{"query":"https://a","action":{"type":"openPage","url":"https://a"}}"#), @r#""fetch" {"url":"https://a"}"#);
        insta::assert_snapshot!(search(r#"{"query":"'x' in a","action":{"type":"findInPage","url":"https://a","pattern":"x"}}"#), @r#""search" {"query":"x","url":"https://a"}"#);
        insta::assert_snapshot!(search(r#"{"query":"","action":["openPage"]}"#), @r#""search" {}"#);
    }

    #[test]
    fn the_other_items_have_their_kinds() {
        insta::assert_snapshot!(shown(&mcp("tools")), @r#""mcp" {"server":"tools"}"#);
        insta::assert_snapshot!(shown(&image_view("/w/p.png")), @r#""read" {"paths":[{"path":"/w/p.png"}]}"#);
        let spawn: CollabAgentToolCall =
            item(r#"{"tool":"spawnAgent","status":"completed","prompt":"List."}"#);
        insta::assert_snapshot!(shown(&collab(&spawn)), @r#""agent" {"description":"List."}"#);
        let wait: CollabAgentToolCall = item(r#"{"tool":"wait","status":"completed"}"#);
        insta::assert_snapshot!(shown(&collab(&wait)), @r#""agent" {}"#);
    }
}
