//! Maps the kind and the subject of a tool call to the three things that ACP shows of it: kind, title and files.

use agent_client_protocol_schema::v1::{ToolCallLocation, ToolKind as AcpKind};
use omniglot_schema::{ToolKind, ToolPath, ToolSubject};

/// Returns ACP's kind. Plans are ACP's thoughts; it has no kind for subagents and for tools of MCP servers.
pub(super) fn of(kind: Option<ToolKind>) -> AcpKind {
    match kind {
        Some(ToolKind::Read) => AcpKind::Read,
        Some(ToolKind::Edit) => AcpKind::Edit,
        Some(ToolKind::Delete) => AcpKind::Delete,
        Some(ToolKind::Move) => AcpKind::Move,
        Some(ToolKind::Search) => AcpKind::Search,
        Some(ToolKind::Execute) => AcpKind::Execute,
        Some(ToolKind::Fetch) => AcpKind::Fetch,
        Some(ToolKind::Think | ToolKind::Plan) => AcpKind::Think,
        Some(ToolKind::Mode) => AcpKind::SwitchMode,
        Some(ToolKind::Agent | ToolKind::Mcp | ToolKind::Other) | None => AcpKind::Other,
    }
}

/// Joins the tool's name and its subject, for a call that has no title of its own.
pub(super) fn title(name: &str, subject: &ToolSubject) -> String {
    let path = subject.paths.first().map(|path| &path.path);
    let told = [subject.command.as_ref(), path, subject.query.as_ref(), subject.url.as_ref()];
    let told = told.into_iter().chain([subject.description.as_ref()]).flatten();
    match told.into_iter().find(|words| !words.is_empty()) {
        Some(words) => format!("{name}: {words}"),
        None => name.to_owned(),
    }
}

pub(super) fn locations(subject: &ToolSubject) -> Vec<ToolCallLocation> {
    let paths = subject.paths.iter().filter(|path| !path.path.is_empty());
    paths.map(location).collect()
}

fn location(path: &ToolPath) -> ToolCallLocation {
    let line = path.line.and_then(|line| u32::try_from(line).ok());
    ToolCallLocation::new(&path.path).line(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_of_acp() {
        let kinds = [
            (ToolKind::Read, AcpKind::Read),
            (ToolKind::Edit, AcpKind::Edit),
            (ToolKind::Delete, AcpKind::Delete),
            (ToolKind::Move, AcpKind::Move),
            (ToolKind::Search, AcpKind::Search),
            (ToolKind::Execute, AcpKind::Execute),
            (ToolKind::Fetch, AcpKind::Fetch),
            (ToolKind::Think, AcpKind::Think),
            (ToolKind::Plan, AcpKind::Think),
            (ToolKind::Agent, AcpKind::Other),
            (ToolKind::Mode, AcpKind::SwitchMode),
            (ToolKind::Mcp, AcpKind::Other),
            (ToolKind::Other, AcpKind::Other),
        ];
        for (kind, expected) in kinds {
            assert_eq!(of(Some(kind)), expected, "{kind:?}");
        }
        assert_eq!(of(None), AcpKind::Other);
    }

    #[test]
    fn a_call_without_a_title_is_named_by_its_subject() {
        let path = || vec![ToolPath::new("/a")];
        let subject = ToolSubject { paths: path(), query: Some("x".into()), ..ToolSubject::default() };
        assert_eq!(title("t", &subject), "t: /a");
        let subject = ToolSubject { command: Some("ls -l".into()), paths: path(), ..ToolSubject::default() };
        assert_eq!(title("t", &subject), "t: ls -l");
        assert_eq!(title("t", &ToolSubject::default()), "t");
    }
}
