//! OpenCode's names for its tools and permissions. Its clients draw a call by the name of its tool, so this is the
//! one place that maps a kind to a name.

use omniglot_schema::{ToolKind, ToolSubject};

pub const BASH: &str = "bash";
pub const READ: &str = "read";
pub const EDIT: &str = "edit";
pub const WRITE: &str = "write";
pub const APPLY_PATCH: &str = "apply_patch";
pub const GREP: &str = "grep";
pub const GLOB: &str = "glob";
pub const LIST: &str = "list";
pub const WEBFETCH: &str = "webfetch";
pub const WEBSEARCH: &str = "websearch";
pub const TASK: &str = "task";
pub const TODOWRITE: &str = "todowrite";
pub const QUESTION: &str = "question";

/// OpenCode's tools of each kind. The first stands for the kind where nothing says which of them it is.
const TOOLS: &[(ToolKind, &[&str])] = &[
    (ToolKind::Execute, &[BASH]),
    (ToolKind::Read, &[READ]),
    (ToolKind::Edit, &[EDIT, WRITE, APPLY_PATCH]),
    (ToolKind::Search, &[GREP, GLOB, LIST, WEBSEARCH]),
    (ToolKind::Fetch, &[WEBFETCH, WEBSEARCH]),
    (ToolKind::Agent, &[TASK]),
    (ToolKind::Plan, &[TODOWRITE]),
];

/// Permissions that OpenCode asks for beside those of its tools.
const BESIDE_TOOLS: &[&str] = &["external_directory", "doom_loop"];

/// Returns OpenCode's tool for a call, or nothing where it has none of that kind.
///
/// A call that has the name of such a tool, however its words are joined, is that tool.
pub fn tool(kind: ToolKind, name: &str, subject: &ToolSubject) -> Option<&'static str> {
    let (_, tools) = TOOLS.iter().find(|(of, _)| *of == kind)?;
    let same = tools.iter().find(|tool| plain(tool) == plain(name));
    let told = match kind {
        ToolKind::Search if subject.query.is_none() && !subject.paths.is_empty() => Some(&LIST),
        ToolKind::Fetch if subject.url.is_none() && subject.query.is_some() => Some(&WEBSEARCH),
        // Only a patch shows more than one file.
        ToolKind::Edit if subject.paths.len() > 1 => Some(&APPLY_PATCH),
        _ => None,
    };
    same.or(told).or_else(|| tools.first()).copied()
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// Returns the permission that a call needs. OpenCode asks for changes of every kind by one word.
pub fn permission(kind: ToolKind, tool: &str) -> &str {
    match kind {
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => EDIT,
        _ => tool,
    }
}

/// Says whether a permission is one of OpenCode's own that no tool has.
pub fn is_beside_tools(permission: &str) -> bool {
    BESIDE_TOOLS.contains(&permission)
}

#[cfg(test)]
mod tests {
    use omniglot_schema::ToolPath;

    use super::*;

    #[test]
    fn a_kind_has_one_of_opencode_s_tools_whatever_the_call_is_named() {
        let nothing = ToolSubject::default();
        let named = |kind| tool(kind, "odd", &nothing);
        assert_eq!(named(ToolKind::Execute), Some(BASH));
        assert_eq!(named(ToolKind::Read), Some(READ));
        assert_eq!(named(ToolKind::Edit), Some(EDIT));
        assert_eq!(named(ToolKind::Search), Some(GREP));
        assert_eq!(named(ToolKind::Fetch), Some(WEBFETCH));
        assert_eq!(named(ToolKind::Agent), Some(TASK));
        assert_eq!(named(ToolKind::Plan), Some(TODOWRITE));
        for kind in [ToolKind::Delete, ToolKind::Move, ToolKind::Think, ToolKind::Mode, ToolKind::Mcp] {
            assert_eq!(named(kind), None, "{kind:?}");
        }
        assert_eq!(named(ToolKind::Other), None);
    }

    #[test]
    fn the_subject_and_opencode_s_own_names_say_which_tool_of_a_kind_it_is() {
        let paths = |count| vec![ToolPath::new("/a"); count];
        let nothing = ToolSubject::default();
        let folder = ToolSubject { paths: paths(1), ..ToolSubject::default() };
        let files = ToolSubject { paths: paths(2), ..ToolSubject::default() };
        let words = ToolSubject { query: Some("x".into()), ..ToolSubject::default() };
        assert_eq!(tool(ToolKind::Search, "odd", &folder), Some(LIST));
        assert_eq!(tool(ToolKind::Search, "Glob", &folder), Some(GLOB));
        assert_eq!(tool(ToolKind::Search, "web_search", &words), Some(WEBSEARCH));
        assert_eq!(tool(ToolKind::Fetch, "odd", &words), Some(WEBSEARCH));
        assert_eq!(tool(ToolKind::Edit, "odd", &folder), Some(EDIT));
        assert_eq!(tool(ToolKind::Edit, "odd", &files), Some(APPLY_PATCH));
        assert_eq!(tool(ToolKind::Edit, "Write", &nothing), Some(WRITE));
        assert_eq!(tool(ToolKind::Mcp, "bash", &nothing), None, "another server's tool is not OpenCode's");
    }
}
