//! The scope that each route needs: one table for all faces. A route that is not in it is served to nobody but an
//! `admin`; a test holds the table against the routers.

use http::{Method, Uri};
use omniglot_schema::{Scope, SessionId};

use super::{answer_page, opencode, ui};
use crate::http::access::{Audited, Needs, Origins};

/// The routes that need no token beside those of the screen: supervisors call them, and they reveal nothing.
const OPEN: &[&str] = &["GET /v1/health", "GET /readyz"];

/// A client of these routes asks for other things by the messages that it sends; the face itself decides about them.
const CARRIES_MESSAGES: [&str; 2] = ["POST /v1/acp/{server_id}", "POST /v1/acp"];

/// Who opens a terminal may type into it.
const TERMINAL: &str = "GET /v1/processes/{process_id}/terminal/ws";

const SCOPES: &[(Scope, &[&str])] = &[
    (Scope::Metrics, &["GET /metrics"]),
    (
        Scope::Read,
        &[
            "GET /v1/sessions",
            "GET /v1/sessions/{session_id}",
            "GET /v1/sessions/{session_id}/events",
            "GET /v1/sessions/{session_id}/events/sse",
            "GET /v1/events/sse",
            "GET /v1/requests",
            "GET /v1/search",
            "GET /v1/sessions/{session_id}/blobs/{name}",
            "GET /v1/agents",
            "GET /v1/agents/{agent}",
            "GET /v1/agents/{agent}/models",
            "GET /v1/agents/{agent}/modes",
            "GET /v1/daemon",
            "GET /v1/openapi.json",
            "GET /v1/desktop/status",
            "GET /v1/desktop/recordings",
            "GET /v1/desktop/stream/status",
            "GET /v1/acp",
            "GET /v1/acp/{server_id}",
            CARRIES_MESSAGES[0],
            CARRIES_MESSAGES[1],
            "DELETE /v1/acp",
            "DELETE /v1/acp/{server_id}",
            "GET /global/health",
            "GET /opencode/event",
            "GET /opencode/global/event",
            "GET /opencode/global/health",
            "GET /opencode/global/config",
            "GET /opencode/api/session",
            "GET /opencode/config",
            "GET /opencode/config/providers",
            "GET /opencode/provider",
            "GET /opencode/agent",
            "GET /opencode/command",
            "GET /opencode/path",
            "GET /opencode/project",
            "GET /opencode/project/current",
            "GET /opencode/project/{id}/directories",
            "GET /opencode/vcs",
            "GET /opencode/lsp",
            "GET /opencode/formatter",
            "GET /opencode/mcp",
            "GET /opencode/provider/auth",
            "GET /opencode/experimental/resource",
            "GET /opencode/experimental/capabilities",
            "GET /opencode/experimental/console",
            "GET /opencode/experimental/workspace",
            "GET /opencode/experimental/workspace/status",
            // Beyond the folders of sessions, the routes themselves ask for `drive`.
            "GET /opencode/find/file",
            "GET /opencode/find/symbol",
            "GET /opencode/file",
            "GET /opencode/file/status",
            "GET /opencode/session",
            "GET /opencode/session/status",
            "GET /opencode/session/{id}",
            "GET /opencode/session/{id}/children",
            "GET /opencode/session/{id}/todo",
            "GET /opencode/session/{id}/diff",
            "GET /opencode/session/{id}/message",
            "GET /opencode/session/{id}/message/{message}",
            "GET /opencode/permission",
            "GET /opencode/question",
        ],
    ),
    (
        Scope::Answer,
        &[
            "POST /v1/sessions/{session_id}/permissions/{permission_id}/reply",
            "POST /v1/sessions/{session_id}/questions/{question_id}/reply",
            "POST /v1/sessions/{session_id}/questions/{question_id}/reject",
            "POST /opencode/permission/{id}/reply",
            "POST /opencode/session/{session}/permissions/{id}",
            "POST /opencode/question/{id}/reply",
            "POST /opencode/question/{id}/reject",
        ],
    ),
    (
        Scope::Drive,
        &[
            "POST /v1/sessions",
            "POST /v1/sessions/{session_id}",
            "POST /v1/sessions/{session_id}/uploads",
            "PATCH /v1/sessions/{session_id}",
            "POST /v1/sessions/{session_id}/fork",
            "POST /v1/sessions/{session_id}/revert",
            "POST /v1/sessions/{session_id}/unrevert",
            "POST /v1/sessions/{session_id}/compact",
            "POST /v1/sessions/{session_id}/cancel",
            "POST /v1/sessions/{session_id}/terminate",
            "POST /v1/sessions/{session_id}/messages",
            "POST /v1/sessions/{session_id}/messages/stream",
            "DELETE /v1/sessions/{session_id}/messages/{message_id}",
            "POST /v1/agents/{agent}/check",
            "GET /v1/fs/entries",
            "GET /v1/fs/stat",
            "GET /v1/fs/file",
            "PUT /v1/fs/file",
            "DELETE /v1/fs/entry",
            "POST /v1/fs/mkdir",
            "POST /v1/fs/move",
            "POST /v1/fs/upload-batch",
            "GET /opencode/api/fs/find",
            "GET /opencode/find",
            "GET /opencode/file/content",
            "POST /opencode/session",
            "PATCH /opencode/session/{id}",
            "POST /opencode/session/{id}/fork",
            "POST /opencode/session/{id}/revert",
            "POST /opencode/session/{id}/unrevert",
            "POST /opencode/session/{id}/abort",
            "POST /opencode/session/{id}/message",
            "POST /opencode/session/{id}/prompt_async",
            "POST /opencode/session/{id}/command",
            "POST /opencode/session/{id}/shell",
            "POST /opencode/session/{id}/summarize",
        ],
    ),
    (
        Scope::Admin,
        &[
            "DELETE /v1/sessions/{session_id}",
            "POST /v1/sessions/{session_id}/import",
            "POST /v1/agents/{agent}/install",
            "GET /v1/config/mcp",
            "PUT /v1/config/mcp",
            "DELETE /v1/config/mcp",
            "GET /v1/config/skills",
            "PUT /v1/config/skills",
            "DELETE /v1/config/skills",
            "GET /v1/tokens",
            "POST /v1/tokens",
            "DELETE /v1/tokens/{token_id}",
            "GET /v1/audit",
            "GET /v1/hooks",
            "GET /v1/hooks/{hook}/dead",
            "POST /v1/hooks/{hook}/retry",
            "POST /v1/hooks/{hook}/test",
            "GET /v1/processes/config",
            "POST /v1/processes/config",
            "POST /v1/processes/run",
            "GET /v1/processes",
            "POST /v1/processes",
            "GET /v1/processes/{process_id}",
            "DELETE /v1/processes/{process_id}",
            "POST /v1/processes/{process_id}/stop",
            "POST /v1/processes/{process_id}/kill",
            "GET /v1/processes/{process_id}/logs",
            "POST /v1/processes/{process_id}/input",
            "POST /v1/processes/{process_id}/terminal/resize",
            TERMINAL,
            "DELETE /opencode/session/{id}",
        ],
    ),
];

/// Returns what a request needs; `None` when no such route is known.
pub(crate) fn needs(method: &Method, uri: &Uri) -> Option<Needs> {
    // A router answers HEAD as it answers GET.
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let path = opencode::without_agent(uri.path());
    let is_this = |route: &&&str| matches(route, method, &path);
    if OPEN.iter().chain(&ui::ROUTES).any(|route| matches(route, method, &path)) {
        return Some(Needs { scope: None, audited: Audited::No, session: None, origin: Origins::Ours });
    }
    // The page itself tells the audit, without its address, which is a secret. It sends no referrer, so it has no origin.
    if answer_page::ROUTES.iter().any(|route| matches(route, method, &path)) {
        return Some(Needs { scope: None, audited: Audited::No, session: None, origin: Origins::Any });
    }
    let rows = SCOPES.iter().find_map(|(scope, routes)| Some((*scope, routes.iter().find(is_this)?)));
    let (scope, route) = rows?;
    let changes_nothing = (method == Method::GET && *route != TERMINAL) || CARRIES_MESSAGES.contains(route);
    let audited = if changes_nothing { Audited::No } else { Audited::Yes };
    Some(Needs {
        scope: Some(scope),
        audited,
        session: session(route, &path).or_else(|| session_of_files(route, uri)),
        origin: Origins::Ours,
    })
}

fn matches(route: &str, method: &Method, path: &str) -> bool {
    let Some((of_route, pattern)) = route.split_once(' ') else { return false };
    let same = |(wanted, given): (&str, &str)| {
        if wanted.starts_with('{') { !given.is_empty() } else { wanted == given }
    };
    of_route == method.as_str()
        && pattern.split('/').count() == path.split('/').count()
        && pattern.split('/').zip(path.split('/')).all(same)
}

/// The session that the path names, for the audit.
fn session(route: &str, path: &str) -> Option<SessionId> {
    let (_, pattern) = route.split_once(' ')?;
    let place = |name: &str| pattern.split('/').position(|segment| segment == name);
    let text = |place| percent_encoding::percent_decode_str(path.split('/').nth(place)?).decode_utf8().ok();
    if let Some(place) = place("{session_id}") {
        return SessionId::parse(&text(place)?).ok();
    }
    let below_session = pattern.starts_with("/opencode/session/{");
    let place = pattern.split('/').position(|segment| segment.starts_with('{')).filter(|_| below_session)?;
    opencode::session_of(&text(place)?)
}

/// The session that the query names, for the audit.
fn session_of_files(route: &str, uri: &Uri) -> Option<SessionId> {
    let pairs = uri.query().filter(|_| route.contains(" /v1/fs/"))?.split('&');
    let mut named = pairs.filter_map(|pair| pair.split_once('='));
    let (_, value) = named.find(|(name, _)| matches!(*name, "session_id" | "sessionId"))?;
    SessionId::parse(&percent_encoding::percent_decode_str(value).decode_utf8().ok()?).ok()
}

/// All rows, for the tests of the check.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = (Option<Scope>, Method, &'static str)> {
    let open = OPEN.iter().chain(&ui::ROUTES).chain(&answer_page::ROUTES).map(|route| (None, *route));
    let rows = SCOPES.iter().flat_map(|(scope, routes)| routes.iter().map(|route| (Some(*scope), *route)));
    open.chain(rows).filter_map(|(scope, route)| {
        let (method, path) = route.split_once(' ')?;
        Some((scope, method.parse().ok()?, path))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn table() -> BTreeSet<String> {
        all().map(|(_, method, path)| format!("{method} {path}")).collect()
    }

    /// The routes of OpenCode's face, which are not described elsewhere.
    fn of_opencode() -> BTreeSet<String> {
        let source = include_str!("opencode/routes.rs");
        let mut routes = BTreeSet::new();
        for line in source.lines().filter_map(|line| line.trim().strip_prefix(".route(\"")) {
            let (path, handlers) = line.split_once("\", ").unwrap();
            for method in ["get", "post", "put", "patch", "delete"] {
                if handlers.starts_with(&format!("{method}(")) || handlers.contains(&format!(").{method}(")) {
                    routes.insert(format!("{} /opencode{path}", method.to_uppercase()));
                }
            }
        }
        routes
    }

    #[test]
    fn every_route_of_every_face_is_in_the_table_and_nothing_else() {
        let document = crate::openapi();
        let mut routes = of_opencode();
        assert!(routes.len() > 40, "{routes:?}");
        routes.insert(format!("GET {}", opencode::PROBE));
        routes.extend(ui::ROUTES.map(str::to_owned));
        routes.extend(answer_page::ROUTES.map(str::to_owned));
        for (path, item) in document["paths"].as_object().unwrap() {
            let methods =
                ["get", "post", "put", "patch", "delete"].into_iter().filter(|m| item[m].is_object());
            routes.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
        }
        let table = table();
        assert_eq!(routes.difference(&table).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the table");
        assert_eq!(table.difference(&routes).collect::<Vec<_>>(), Vec::<&String>::new(), "not served");
    }

    /// The table at the end of docs/REST.md names every route once, with its scope and the paragraph about it.
    #[test]
    fn the_page_about_rest_describes_every_route() {
        let page = include_str!("../../../../docs/REST.md");
        let (paragraphs, rows) = page.split_once("\n## All routes\n").unwrap();
        let listed: BTreeSet<String> =
            rows.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
        let mut routes = BTreeSet::new();
        for (scope, method, path) in
            all().filter(|(_, _, path)| !path.contains("/opencode/") && *path != opencode::PROBE)
        {
            let route = format!("`{method} {path}`");
            let scope = scope.map_or("–".to_owned(), |scope| scope.to_string());
            let row = listed.iter().find(|row| row.contains(&route));
            let row = row.unwrap_or_else(|| panic!("docs/REST.md has no row for {route}"));
            let paragraph = row.split('|').nth(3).unwrap().trim();
            assert_eq!(*row, format!("| {route} | {scope} | {paragraph} |"));
            let begins = |end: &str| paragraphs.contains(&format!("**{paragraph}{end}"));
            assert!(begins("**") || begins(".**") || begins(" "), "no paragraph {paragraph} for {route}");
            routes.insert(row.clone());
        }
        assert_eq!(listed.difference(&routes).collect::<Vec<_>>(), Vec::<&String>::new(), "not served");
    }

    /// Words of docs/SECURITY.md, and the beginnings of the routes that they mean.
    type Meaning = (&'static str, &'static [&'static str]);

    /// Each row of docs/SECURITY.md by its words.
    const WORDS: &[(Scope, &[Meaning])] = &[
        (
            Scope::Read,
            &[
                ("look at sessions, events, blobs and agents", &["GET /"]),
                (
                    "find the folders of these sessions",
                    &["GET /opencode/find/file", "GET /opencode/find/symbol", "GET /opencode/file"],
                ),
            ],
        ),
        (
            Scope::Answer,
            &[(
                "reply to permissions and questions",
                &[
                    "POST /v1/sessions/{session_id}/permissions/",
                    "POST /v1/sessions/{session_id}/questions/",
                    "POST /opencode/permission/",
                    "POST /opencode/session/{session}/permissions/",
                    "POST /opencode/question/",
                ],
            )],
        ),
        (
            Scope::Drive,
            &[
                ("create sessions", &["POST /v1/sessions", "POST /opencode/session"]),
                (
                    "send messages and what is attached to them",
                    &[
                        "POST /v1/sessions/{session_id}/messages",
                        "POST /v1/sessions/{session_id}/uploads",
                        "DELETE /v1/sessions/{session_id}/messages/{message_id}",
                        "POST /opencode/session/{id}/",
                    ],
                ),
                (
                    "cancel, terminate, change, fork, compact and revert",
                    &["POST /v1/sessions/{session_id}/", "PATCH /v1/sessions/", "PATCH /opencode/session/"],
                ),
                ("try agents", &["POST /v1/agents/{agent}/check"]),
                (
                    "files of sessions' directories (`/v1/fs`)",
                    &["GET /v1/fs", "PUT /v1/fs", "DELETE /v1/fs", "POST /v1/fs"],
                ),
                (
                    "files of any directory in OpenCode's clients",
                    &["GET /opencode/api/fs/", "GET /opencode/find", "GET /opencode/file/content"],
                ),
            ],
        ),
        (
            Scope::Admin,
            &[
                ("delete", &["DELETE /v1/sessions/{session_id}", "DELETE /opencode/session/{id}"]),
                ("import", &["POST /v1/sessions/{session_id}/import"]),
                ("install agents", &["POST /v1/agents/{agent}/install"]),
                ("manage tokens", &["GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens"]),
                ("read the audit", &["GET /v1/audit"]),
                ("look at hooks and call them", &["GET /v1/hooks", "POST /v1/hooks"]),
                ("run processes", &["GET /v1/processes", "POST /v1/processes", "DELETE /v1/processes"]),
                (
                    "configure MCP servers and skills of directories",
                    &["GET /v1/config/", "PUT /v1/config/", "DELETE /v1/config/"],
                ),
            ],
        ),
        (Scope::Metrics, &[("`/metrics` alone", &["GET /metrics"])]),
    ];

    #[test]
    fn the_page_about_security_tells_of_every_route_what_it_needs() {
        let page = include_str!("../../../../docs/SECURITY.md");
        for (scope, words) in WORDS {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{scope}` |"))).unwrap();
            for (words, _) in *words {
                assert!(row.contains(words), "{words} in {row}");
            }
        }
        // The longest beginning counts.
        let told = |route: &str| {
            let rows = WORDS
                .iter()
                .flat_map(|(scope, words)| words.iter().map(move |(_, routes)| (*scope, *routes)));
            let begins = rows.flat_map(|(scope, routes)| routes.iter().map(move |begin| (scope, *begin)));
            let longest =
                begins.filter(|(_, begin)| route.starts_with(begin)).max_by_key(|(_, begin)| begin.len());
            longest.map(|(scope, _)| scope)
        };
        for (scope, method, path) in all().filter(|(scope, ..)| scope.is_some()) {
            let route = format!("{method} {path}");
            let of_a_client = CARRIES_MESSAGES.contains(&&*route) || route.starts_with("DELETE /v1/acp");
            let expected = if of_a_client { Some(Scope::Read) } else { told(&route) };
            assert_eq!(scope, expected, "{route}");
        }
    }

    #[track_caller]
    fn scope(method: &str, path: &str) -> Option<Option<Scope>> {
        needs(&method.parse().unwrap(), &path.parse().unwrap()).map(|needs| needs.scope)
    }

    #[test]
    fn only_a_whole_path_is_a_route() {
        assert_eq!(scope("GET", "/v1/sessions?limit=1"), Some(Some(Scope::Read)));
        assert_eq!(scope("HEAD", "/v1/sessions/a"), Some(Some(Scope::Read)));
        assert_eq!(scope("DELETE", "/v1/sessions/a"), Some(Some(Scope::Admin)));
        assert_eq!(scope("GET", "/readyz"), Some(None));
        assert_eq!(scope("GET", "/ui/"), Some(None));
        assert_eq!(scope("POST", "/ui/"), None);
        assert_eq!(scope("DELETE", "/opencode/agents/claude/session/ses_a"), Some(Some(Scope::Admin)));
        for path in [
            "/v1/sessions/",
            "/v1/sessions/a/",
            "/v1//sessions",
            "/v1/sess%69ons",
            "/",
            "/opencode/agents/a",
            "/ui/a/b",
        ] {
            assert_eq!(scope("GET", path), None, "{path}");
        }
    }

    #[test]
    fn the_audit_learns_the_session() {
        let of = |method: &str, path: &str| {
            let needs = needs(&method.parse().unwrap(), &path.parse().unwrap()).unwrap();
            (needs.audited == Audited::Yes, needs.session.map(|id| id.to_string()))
        };
        assert_eq!(of("POST", "/v1/sessions/a%3Ab/messages"), (true, Some("a:b".into())));
        assert_eq!(of("GET", "/v1/sessions/a"), (false, Some("a".into())));
        assert_eq!(of("POST", "/opencode/session/ses_x/abort"), (true, Some("x".into())));
        assert_eq!(of("POST", "/v1/acp/c"), (false, None));
        assert_eq!(of("POST", "/v1/acp"), (false, None));
        assert_eq!(of("DELETE", "/v1/acp"), (true, None));
        assert_eq!(of("PUT", "/v1/fs/file?path=a&session_id=a%3Ab"), (true, Some("a:b".into())));
        assert_eq!(of("DELETE", "/v1/fs/entry?sessionId=a&path=b"), (true, Some("a".into())));
        assert_eq!(of("POST", "/v1/tokens?session_id=a"), (true, None));
    }
}
