//! `[[hooks]]` and `public_url`: who is called when something happens, and where people reach this daemon.
//!
//! Reading the secrets, and calling, is left to the server.

use std::fmt;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use omniglot_agents::nearest::did_you_mean;
use omniglot_schema::{Label, UniversalEventType};
use reqwest::Url;
use serde::Deserialize;
use toml::Spanned;

use super::fault::Fault;

/// Agents inherit no variable of this beginning, so they never see the secret of a hook.
const VARIABLE_PREFIX: &str = "OMNIGLOT_";
const LONGEST_NAME: usize = 64;

/// A checked hook.
#[derive(Clone, PartialEq, Eq)]
pub struct HookConfig {
    pub name: String,
    pub url: Url,
    pub events: Vec<HookEvents>,
    /// Only sessions with all of these labels.
    pub labels: Vec<Label>,
    pub secret: Option<HookSecret>,
    /// Whether bodies carry the whole event.
    pub details: bool,
    pub format: HookFormat,
    pub allow_private: bool,
    /// Whether bodies carry a link by which a request can be answered.
    pub answer_links: bool,
}

/// The events that a hook is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvents {
    /// Permissions and questions that still wait for a person.
    NeedsYou,
    Type(UniversalEventType),
}

/// The place of a hook's secret.
#[derive(Clone, PartialEq, Eq)]
pub enum HookSecret {
    Text(String),
    File(PathBuf),
    Variable(String),
}

/// The form of the bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookFormat {
    #[default]
    Json,
    Ntfy,
}

/// Names that are easier to remember than types of events.
const NAMES: [(&str, HookEvents); 4] = [
    ("needs_you", HookEvents::NeedsYou),
    ("turn_ended", HookEvents::Type(UniversalEventType::TurnEnded)),
    ("session_ended", HookEvents::Type(UniversalEventType::SessionEnded)),
    ("error", HookEvents::Type(UniversalEventType::Error)),
];

impl HookEvents {
    fn parse(name: &str) -> Result<Self, String> {
        let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, events)| *events);
        let found = named.or_else(|| UniversalEventType::parse(name).map(Self::Type));
        match found {
            Some(Self::Type(UniversalEventType::ItemDelta)) => {
                Err("item.delta comes with every word; use item.completed".into())
            }
            Some(events) => Ok(events),
            None => {
                let types = UniversalEventType::ALL.iter().map(|kind| kind.as_str());
                let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).chain(types).collect();
                let meant = did_you_mean(name, known.iter().copied());
                Err(format!("there are no such events{meant} (known: {})", known.join(", ")))
            }
        }
    }
}

/// Secrets, and addresses that may be some, are left out.
impl fmt::Debug for HookConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookConfig")
            .field("name", &self.name)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookSecret(***)")
    }
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HookTable {
    name: Spanned<String>,
    url: Spanned<String>,
    events: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    labels: IndexMap<Spanned<String>, String>,
    secret: Option<Spanned<String>>,
    secret_file: Option<Spanned<String>>,
    secret_env: Option<Spanned<String>>,
    include: Option<Spanned<String>>,
    #[serde(default)]
    format: HookFormat,
    #[serde(default)]
    allow_http: bool,
    #[serde(default)]
    allow_private: bool,
    #[serde(default)]
    answer_links: Option<Spanned<bool>>,
}

/// Checks all hooks; `dir` is where relative paths begin.
pub(super) fn check_all(
    tables: Vec<HookTable>,
    dir: &Path,
    has_public_url: bool,
) -> Result<Vec<HookConfig>, Fault> {
    let mut hooks: Vec<HookConfig> = vec![];
    for table in tables {
        let span = table.name.span();
        let hook = check(table, dir, has_public_url)?;
        if hooks.iter().any(|other| other.name == hook.name) {
            return Err(Fault::new(span, format!("there are two hooks with the name `{}`", hook.name)));
        }
        hooks.push(hook);
    }
    Ok(hooks)
}

fn check(table: HookTable, dir: &Path, has_public_url: bool) -> Result<HookConfig, Fault> {
    check_name(&table.name)?;
    let url = check_url(&table)?;
    let events = match &table.events {
        None => NAMES.iter().map(|(_, events)| *events).collect(),
        Some(names) => names.iter().map(check_event).collect::<Result<Vec<_>, _>>()?,
    };
    let labels = table.labels.iter().map(check_label).collect::<Result<_, _>>()?;
    let details = match table.include.as_ref().map(|include| (include.span(), include.get_ref().as_str())) {
        None => false,
        Some((_, "details")) => true,
        Some((span, _)) => return Err(Fault::new(span, "expected include = \"details\"")),
    };
    let answer_links = match &table.answer_links {
        Some(wanted) if *wanted.get_ref() && !has_public_url => {
            let message = "links to answers need `public_url`, the address by which people reach this daemon";
            return Err(Fault::new(wanted.span(), message));
        }
        wanted => wanted.as_ref().is_some_and(|wanted| *wanted.get_ref()),
    };
    let secret = check_secret(&table, dir)?;
    if secret.is_none() && table.format == HookFormat::Json {
        let message = "a secret is missing, by which the receiver knows that we call: add secret, secret_file or secret_env";
        return Err(Fault::new(table.name.span(), message));
    }
    let HookTable { name, format, allow_private, .. } = table;
    let name = name.into_inner();
    Ok(HookConfig { name, url, events, labels, secret, details, format, allow_private, answer_links })
}

fn check_name(name: &Spanned<String>) -> Result<(), Fault> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.get_ref().is_empty() || name.get_ref().len() > LONGEST_NAME || !name.get_ref().bytes().all(plain)
    {
        let message = format!("the name of a hook has 1 to {LONGEST_NAME} characters of A-Z a-z 0-9 _ -");
        return Err(Fault::new(name.span(), message));
    }
    Ok(())
}

fn check_url(table: &HookTable) -> Result<Url, Fault> {
    let refuse = |message: &str| Err(Fault::new(table.url.span(), message));
    let Some(url) = Url::parse(table.url.get_ref()).ok().filter(Url::has_host) else {
        return refuse("expected an address, such as \"https://example.com/hook\"");
    };
    match url.scheme() {
        "https" => {}
        "http" if table.allow_http => {}
        "http" => return refuse("expected https; allow_http = true allows plain http"),
        _ => return refuse("expected https"),
    }
    if url.fragment().is_some() {
        return refuse("the part behind `#` is never sent; leave it out");
    }
    let topic = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    if table.format == HookFormat::Ntfy && topic.is_empty() {
        return refuse("expected the address of a topic, such as \"https://ntfy.sh/my-topic\"");
    }
    Ok(url)
}

fn check_event(name: &Spanned<String>) -> Result<HookEvents, Fault> {
    HookEvents::parse(name.get_ref()).map_err(|message| Fault::new(name.span(), message))
}

fn check_label((key, value): (&Spanned<String>, &String)) -> Result<Label, Fault> {
    Label::new(key.get_ref(), value).map_err(|error| Fault::new(key.span(), error.to_string()))
}

fn check_secret(table: &HookTable, dir: &Path) -> Result<Option<HookSecret>, Fault> {
    let text = table.secret.as_ref().map(|text| (text.span(), HookSecret::Text(text.get_ref().clone())));
    let file =
        table.secret_file.as_ref().map(|file| (file.span(), HookSecret::File(dir.join(file.get_ref()))));
    let variable =
        table.secret_env.as_ref().map(|name| (name.span(), HookSecret::Variable(name.get_ref().clone())));
    let mut given = [text, file, variable].into_iter().flatten();
    let Some((span, secret)) = given.next() else { return Ok(None) };
    if let Some((span, _)) = given.next() {
        return Err(Fault::new(span, "give one of secret, secret_file and secret_env"));
    }
    match secret {
        HookSecret::Variable(name) if !name.starts_with(VARIABLE_PREFIX) => {
            let message =
                format!("name a variable that begins with {VARIABLE_PREFIX}: agents do not inherit those");
            Err(Fault::new(span, message))
        }
        secret => Ok(Some(secret)),
    }
}

/// Returns the address by which people reach the daemon, without a slash at its end.
pub(super) fn check_public_url(url: &Spanned<String>) -> Result<String, Fault> {
    let parsed = Url::parse(url.get_ref()).ok().filter(|url| {
        let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        url.has_host() && plain && matches!(url.scheme(), "http" | "https")
    });
    match parsed {
        Some(parsed) => Ok(parsed.as_str().trim_end_matches('/').to_owned()),
        None => Err(Fault::new(url.span(), "expected an address, such as \"https://box.example.com\"")),
    }
}
