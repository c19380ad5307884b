//! The query parameters of routes. Both snake_case and camelCase names are accepted.
//!
//! The message about an invalid value follows the parameter's name (`limit must be …`).

use std::fmt;
use std::ops::RangeInclusive;

use omniglot_runtime::AllEventsFilter;
use omniglot_schema::{Label, SessionId, UniversalEventType};
use omniglot_store::ListFilter;
use serde::{Deserialize, Deserializer, de};
use utoipa::IntoParams;

use crate::http::extract::text;

/// The allowed numbers of sessions or events in one answer.
const LIMITS: RangeInclusive<u64> = 1..=10_000;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Max sessions to return, 1 to 10,000; all without it
    #[serde(default, deserialize_with = "limit")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
    /// Only sessions created before this one
    #[serde(default, deserialize_with = "session")]
    pub(crate) after: Option<SessionId>,
    /// Only sessions of this agent
    #[serde(default, deserialize_with = "text")]
    agent: Option<String>,
    /// Only ended sessions, or only those that are not
    #[serde(default, deserialize_with = "choice")]
    ended: Option<bool>,
    /// Only sessions with this label, `KEY:VALUE`; given several times, all of them count
    #[serde(default, deserialize_with = "labels")]
    #[param(value_type = Option<Vec<String>>)]
    label: Vec<Label>,
    /// Adds the state of each session
    #[serde(default, deserialize_with = "include")]
    #[param(value_type = Option<Include>, inline)]
    pub(crate) include: Option<Include>,
}

/// A part of sessions that a list leaves out otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Include {
    State,
}

fn include<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Include>, D::Error> {
    match &*String::deserialize(d)? {
        "state" => Ok(Some(Include::State)),
        _ => Err(must_be("`state`")),
    }
}

impl From<ListQuery> for ListFilter {
    fn from(query: ListQuery) -> Self {
        let ListQuery { limit, after, agent, ended, label: labels, include: _ } = query;
        Self { agent, ended, labels, after, limit }
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeleteQuery {
    /// Whether work is lost that only the session's worktree has, and sessions that work in it lose their directory
    #[serde(default, deserialize_with = "choice")]
    pub(crate) force: Option<bool>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditListQuery {
    /// Only entries after the one with this number
    #[serde(default, deserialize_with = "sequence")]
    pub(crate) after: Option<u64>,
    /// Only entries since this time, in milliseconds since 1970
    #[serde(default, deserialize_with = "time")]
    pub(crate) since: Option<i64>,
    /// Max entries to return, 1 to 10,000; 1,000 without it
    #[serde(default, deserialize_with = "limit")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
}

impl AuditListQuery {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(EventsQuery::DEFAULT_LIMIT)
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeadLettersQuery {
    /// Max letters to return, 1 to 10,000; 1,000 without it
    #[serde(default, deserialize_with = "limit")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
}

impl DeadLettersQuery {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(EventsQuery::DEFAULT_LIMIT)
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HookRetryQuery {
    /// The id of the only letter to send again
    #[serde(default, deserialize_with = "text")]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct McpConfigQuery {
    /// The directory of the sessions
    pub(crate) directory: String,
    /// The name of the MCP server
    #[serde(rename = "mcpName", alias = "mcp_name")]
    pub(crate) mcp_name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SkillsConfigQuery {
    /// The directory of the sessions
    pub(crate) directory: String,
    /// The name of the set of skills
    #[serde(rename = "skillName", alias = "skill_name")]
    pub(crate) skill_name: String,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Last seen event sequence (exclusive)
    #[serde(default, deserialize_with = "sequence")]
    pub(crate) offset: Option<u64>,
    /// Max events to return, 1 to 10,000; 1,000 without it
    #[serde(default, deserialize_with = "limit")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
    /// Include raw provider payloads
    #[serde(default, alias = "includeRaw", deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) include_raw: bool,
    /// Only events of these types, separated by commas
    #[serde(default, deserialize_with = "types")]
    #[param(value_type = Option<Vec<UniversalEventType>>, style = Form, explode = false)]
    pub(crate) types: Vec<UniversalEventType>,
}

impl EventsQuery {
    const DEFAULT_LIMIT: usize = 1_000;

    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(Self::DEFAULT_LIMIT)
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadQuery {
    /// The name of the file, for people and for its type
    #[serde(default, alias = "filename", deserialize_with = "text")]
    name: Option<String>,
}

impl UploadQuery {
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("upload")
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OpenRequestsQuery {
    /// Only requests of sessions created after this one: `next` of the page before
    #[serde(default, deserialize_with = "session")]
    pub(crate) after: Option<SessionId>,
    /// The page ends with the session that makes it this long, 1 to 10,000; 1,000 without it
    #[serde(default, deserialize_with = "limit")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
}

impl OpenRequestsQuery {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(EventsQuery::DEFAULT_LIMIT)
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The words, all of which an item must have; the last may be the beginning of one
    #[serde(default, deserialize_with = "text")]
    #[param(value_type = String, required = true)]
    q: Option<String>,
    /// At most so many items, 1 to 10,000; 100 without it
    #[serde(default, deserialize_with = "limit")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
}

impl SearchQuery {
    const DEFAULT_LIMIT: usize = 100;

    pub(crate) fn q(&self) -> &str {
        self.q.as_deref().unwrap_or_default()
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(Self::DEFAULT_LIMIT)
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ImportQuery {
    /// The directory of the session from now on; without it the previous one
    #[serde(default, deserialize_with = "text")]
    pub(crate) directory: Option<String>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SseQuery {
    /// Last seen event sequence (exclusive); `Last-Event-ID` takes precedence
    #[serde(default, deserialize_with = "sequence")]
    pub(crate) offset: Option<u64>,
    /// Include raw provider payloads
    #[serde(default, alias = "includeRaw", deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) include_raw: bool,
    /// Only events of these types, separated by commas; ids stay those of the whole log
    #[serde(default, deserialize_with = "types")]
    #[param(value_type = Option<Vec<UniversalEventType>>, style = Form, explode = false)]
    pub(crate) types: Vec<UniversalEventType>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AllEventsQuery {
    /// Last seen `id` of this stream (exclusive), or its number alone; `Last-Event-ID` takes precedence. Without
    /// both the stream begins now
    #[serde(default, deserialize_with = "text")]
    pub(crate) offset: Option<String>,
    /// Only events of these types, separated by commas; without it all but `item.delta`
    #[serde(default, deserialize_with = "types")]
    #[param(value_type = Option<Vec<UniversalEventType>>, style = Form, explode = false)]
    types: Vec<UniversalEventType>,
    /// Also `item.delta`, when `types` does not say
    #[serde(default, deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    deltas: bool,
    /// Only sessions of this agent
    #[serde(default, deserialize_with = "text")]
    agent: Option<String>,
    /// Only sessions with this label, `KEY:VALUE`; given several times, all of them count
    #[serde(default, deserialize_with = "labels")]
    #[param(value_type = Option<Vec<String>>)]
    label: Vec<Label>,
}

impl AllEventsQuery {
    pub(crate) fn filter(self) -> AllEventsFilter {
        let Self { types, deltas, agent, label: labels, .. } = self;
        let types = match (types.is_empty(), deltas) {
            (false, _) | (true, true) => types,
            (true, false) => {
                let all = UniversalEventType::ALL.iter().copied();
                all.filter(|kind| *kind != UniversalEventType::ItemDelta).collect()
            }
        };
        AllEventsFilter { types, agent, labels }
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TurnQuery {
    /// Include raw provider payloads
    #[serde(default, alias = "includeRaw", deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) include_raw: bool,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentQuery {
    /// Add the settings of the agent's sessions, which may require a request to the agent
    #[serde(default, deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) config: bool,
    /// Accepted for clients that send it: an agent's settings are requested once
    #[serde(default, rename = "no_cache", alias = "noCache", deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    _no_cache: bool,
    /// Wait until the version of every agent is known, which may require to run its program
    #[serde(default, deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) versions: bool,
}

pub(super) fn sequence<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    let number = String::deserialize(d)?.parse();
    number.map(Some).map_err(|_| must_be("a whole number from 0"))
}

fn time<'de, D: Deserializer<'de>>(d: D) -> Result<Option<i64>, D::Error> {
    String::deserialize(d)?.parse().map(Some).map_err(|_| must_be("milliseconds since 1970"))
}

fn labels<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Label>, D::Error> {
    let label = |text: &str| {
        let (key, value) = text.split_once(':').ok_or_else(|| must_be("KEY:VALUE"))?;
        Label::new(key, value).map_err(|error| must_be(format_args!("KEY:VALUE; {error}")))
    };
    Vec::<String>::deserialize(d)?.iter().map(|text| label(text)).collect()
}

fn limit<'de, D: Deserializer<'de>>(d: D) -> Result<Option<usize>, D::Error> {
    let number = String::deserialize(d)?.parse().ok().filter(|number| LIMITS.contains(number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.map(Some).ok_or_else(|| must_be("a whole number from 1 to 10,000"))
}

pub(super) fn session<'de, D: Deserializer<'de>>(d: D) -> Result<Option<SessionId>, D::Error> {
    let id = SessionId::parse(&String::deserialize(d)?);
    id.map(Some).map_err(|error| must_be(format_args!("a session id; {error}")))
}

fn choice<'de, D: Deserializer<'de>>(d: D) -> Result<Option<bool>, D::Error> {
    switch(d).map(Some)
}

pub(super) fn switch<'de, D: Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    match &*String::deserialize(d)? {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(must_be("true or false")),
    }
}

fn types<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<UniversalEventType>, D::Error> {
    let list = String::deserialize(d)?;
    let parse = |name: &str| UniversalEventType::parse(name).ok_or_else(|| name.to_owned());
    let names = list.split(',').map(str::trim);
    names.map(parse).collect::<Result<_, String>>().map_err(|name| {
        let example = "event types separated by commas, such as item.delta,turn.ended";
        if name.is_empty() {
            must_be(example)
        } else {
            must_be(format_args!("{example}; there is no type `{name}`"))
        }
    })
}

pub(super) fn must_be<E: de::Error>(what: impl fmt::Display) -> E {
    E::custom(format_args!("must be {what}"))
}

#[cfg(test)]
mod tests {
    use axum::extract::FromRequestParts as _;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::http::extract::{Nothing, QueryOf};

    async fn parse<T: DeserializeOwned>(query: &str) -> Result<T, String> {
        let request = http::Request::get(format!("/?{query}")).body(()).unwrap();
        let result = QueryOf::from_request_parts(&mut request.into_parts().0, &()).await;
        result.map(|QueryOf(value)| value).map_err(|problem| {
            assert_eq!(problem.details().status, 400);
            problem.details().detail.clone().unwrap()
        })
    }

    async fn refused<T: DeserializeOwned>(query: &str) -> String {
        parse::<T>(query).await.err().unwrap()
    }

    #[tokio::test]
    async fn names_may_be_snake_or_camel() {
        for name in ["include_raw", "includeRaw"] {
            assert!(parse::<EventsQuery>(&format!("{name}=true")).await.unwrap().include_raw);
            assert!(parse::<SseQuery>(&format!("{name}=1")).await.unwrap().include_raw);
            assert!(!parse::<TurnQuery>(&format!("{name}=false")).await.unwrap().include_raw);
        }
    }

    #[tokio::test]
    async fn the_limit_has_a_default_and_a_range() {
        assert_eq!(parse::<EventsQuery>("").await.unwrap().limit(), 1_000);
        assert_eq!(parse::<EventsQuery>("limit=1").await.unwrap().limit(), 1);
        assert_eq!(parse::<EventsQuery>("limit=10000").await.unwrap().limit(), 10_000);
        for bad in ["0", "10001", "-1", "x", "", "99999999999999999999"] {
            let expected = "limit must be a whole number from 1 to 10,000";
            assert_eq!(refused::<EventsQuery>(&format!("limit={bad}")).await, expected, "{bad}");
            assert_eq!(refused::<ListQuery>(&format!("limit={bad}")).await, expected, "{bad}");
        }
    }

    #[tokio::test]
    async fn types_are_a_list() {
        let query: EventsQuery = parse("types=item.delta,turn.ended").await.unwrap();
        assert_eq!(query.types, [UniversalEventType::ItemDelta, UniversalEventType::TurnEnded]);
        for empty in ["types=", "types=,", "types=item.delta,"] {
            let expected = "types must be event types separated by commas, such as item.delta,turn.ended";
            assert_eq!(refused::<SseQuery>(empty).await, expected, "{empty}");
        }
    }

    #[tokio::test]
    async fn a_wrong_query_names_the_parameter() {
        insta::assert_snapshot!(refused::<EventsQuery>("offset=-1").await, @"offset must be a whole number from 0");
        insta::assert_snapshot!(refused::<EventsQuery>("types=nonsense").await, @"types must be event types separated by commas, such as item.delta,turn.ended; there is no type `nonsense`");
        insta::assert_snapshot!(refused::<SseQuery>("include_raw=maybe").await, @"include_raw must be true or false");
        insta::assert_snapshot!(refused::<ListQuery>("ended=x").await, @"ended must be true or false");
        insta::assert_snapshot!(refused::<ListQuery>("after=a%20b").await, @"after must be a session id; a session id has 1 to 128 characters of A-Z a-z 0-9 . _ : -, and is not . or ..");
        insta::assert_snapshot!(refused::<ListQuery>("limit=1&limit=2").await, @"limit must be given once");
    }

    #[tokio::test]
    async fn an_unknown_parameter_is_refused_with_those_that_are_known() {
        insta::assert_snapshot!(refused::<SseQuery>("type=item.delta").await, @"no query parameter `type`; allowed are offset, includeRaw, include_raw, types");
        insta::assert_snapshot!(refused::<Nothing>("x").await, @"no query parameter `x`; this route takes none");
        assert!(parse::<Nothing>("").await.is_ok());
    }
}
