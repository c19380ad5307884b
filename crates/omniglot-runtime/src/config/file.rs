//! The file as it is written, and the second look at what its types alone do not guarantee.

use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use omniglot_agents::nearest::nearest;
use omniglot_agents::{Registry, acp};
use omniglot_schema::Rule;
use serde::Deserialize;
use toml::Spanned;

use super::fault::{Fault, place};
use super::hooks::{HookTable, check_all, check_public_url};
use super::{AgentConfig, Config, Files, Limits, Listen, Processes, Retention, TlsFiles, Written};

/// The places of what needs a second look are kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    listen: Option<Spanned<String>>,
    tls: Option<TlsTable>,
    token_file: Option<Spanned<String>>,
    #[serde(default)]
    allow_hosts: Vec<Spanned<String>>,
    #[serde(default)]
    allow_origins: Vec<Spanned<String>>,
    default_agent: Option<Spanned<String>>,
    #[serde(default)]
    sandbox: bool,
    #[serde(default = "yes")]
    snapshots: bool,
    #[serde(default)]
    files: FilesTable,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    retention: Retention,
    #[serde(default)]
    processes: Processes,
    #[serde(default)]
    rules: Vec<Spanned<Rule>>,
    #[serde(default)]
    otel: OtelTable,
    #[serde(default)]
    agents: IndexMap<Spanned<String>, AgentTable>,
    public_url: Option<Spanned<String>>,
    #[serde(default)]
    hooks: Vec<HookTable>,
}

fn yes() -> bool {
    true
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FilesTable {
    roots: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsTable {
    cert: Spanned<String>,
    key: Spanned<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OtelTable {
    endpoint: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentTable {
    protocol: Option<Spanned<String>>,
    command: Spanned<Vec<String>>,
    #[serde(default)]
    env: IndexMap<Spanned<String>, Spanned<String>>,
    quirks: Option<Spanned<String>>,
}

impl File {
    /// `text` is what the file was read from.
    pub(super) fn check(self, path: &Path, text: &str, registry: &Registry) -> Result<Config, Fault> {
        let agents = self.agents.into_iter().map(|(name, table)| check_agent(name, table, registry));
        let agents = agents.collect::<Result<IndexMap<_, _>, _>>()?;
        let written = |value: Spanned<String>| {
            let (line, column) = place(text.as_bytes(), value.span().start);
            Written { text: value.into_inner(), path: path.to_owned(), line, column }
        };
        let config = Config {
            listen: self.listen.map(|listen| check_listen(path, &listen)).transpose()?,
            tls: self.tls.map(|tls| check_tls(path, &tls)).transpose()?,
            token_file: self.token_file.map(|file| check_file(path, &file, TOKEN_ADVICE)).transpose()?,
            allow_hosts: self.allow_hosts.into_iter().map(written).collect(),
            allow_origins: self.allow_origins.into_iter().map(written).collect(),
            otel_endpoint: self.otel.endpoint.map(written),
            default_agent: self.default_agent.as_ref().map(|name| name.get_ref().clone()),
            sandbox: self.sandbox,
            no_snapshots: !self.snapshots,
            agents,
            files: Files { roots: self.files.roots.into_iter().map(check_root).collect::<Result<_, _>>()? },
            limits: self.limits,
            retention: self.retention,
            processes: self.processes,
            hooks: check_all(self.hooks, dir_of(path), self.public_url.is_some())?,
            public_url: self.public_url.as_ref().map(check_public_url).transpose()?,
            file: None,
            rules: check_rules(self.rules)?,
        };
        match self.default_agent.map(|name| (name.span(), config.check_default_agent(registry))) {
            Some((span, Err(message))) => Err(Fault::new(span, format!("default_agent {message}"))),
            _ => Ok(config),
        }
    }
}

fn check_rules(rules: Vec<Spanned<Rule>>) -> Result<Vec<Rule>, Fault> {
    let plain: Vec<Rule> = rules.iter().map(|rule| rule.get_ref().clone()).collect();
    match omniglot_rules::check(&plain) {
        Ok(_) => Ok(plain),
        Err(error) => {
            // The later one of two with one name.
            let faulty = rules.iter().rfind(|rule| rule.get_ref().name == error.rule);
            Err(Fault::new(faulty.map(Spanned::span).unwrap_or_default(), error.to_string()))
        }
    }
}

fn check_listen(path: &Path, listen: &Spanned<String>) -> Result<Listen, Fault> {
    Listen::parse(listen.get_ref(), dir_of(path)).map_err(|message| Fault::new(listen.span(), message))
}

/// Returns the directory that relative paths in the file begin at.
fn dir_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const TOKEN_ADVICE: &str = "leave the key out for the usual one";

fn check_tls(path: &Path, TlsTable { cert, key }: &TlsTable) -> Result<TlsFiles, Fault> {
    let advice = "leave the table out for plain HTTP";
    Ok(TlsFiles { cert: check_file(path, cert, advice)?, key: check_file(path, key, advice)? })
}

/// Relative to the file that names it.
fn check_file(path: &Path, file: &Spanned<String>, advice: &str) -> Result<PathBuf, Fault> {
    if file.get_ref().is_empty() {
        return Err(Fault::new(file.span(), format!("expected the path of a file; {advice}")));
    }
    Ok(dir_of(path).join(file.get_ref()))
}

fn check_root(root: Spanned<String>) -> Result<PathBuf, Fault> {
    let path = PathBuf::from(root.get_ref());
    let is_plain = path.is_absolute() && path.components().all(|part| part != Component::ParentDir);
    if is_plain && !root.get_ref().contains('\0') {
        return Ok(path);
    }
    Err(Fault::new(root.span(), "expected the absolute path of a directory, without `..`"))
}

fn check_agent(
    name: Spanned<String>,
    table: AgentTable,
    registry: &Registry,
) -> Result<(String, AgentConfig), Fault> {
    if !is_agent_name(name.get_ref()) {
        let message = format!(
            "`{}` is no agent name; use lower-case letters, digits, `-` and `_`, beginning with a letter or digit",
            name.get_ref()
        );
        return Err(Fault::new(name.span(), message));
    }
    if table.command.get_ref().first().is_none_or(String::is_empty) {
        let message = "command names no program; write command = [\"program\", \"argument\", …]";
        return Err(Fault::new(table.command.span(), message));
    }
    if table.command.get_ref().iter().any(|word| word.contains('\0')) {
        return Err(Fault::new(table.command.span(), "the command contains a NUL, which no command can"));
    }
    let env = table.env.into_iter().map(check_variable).collect::<Result<_, _>>()?;
    let known: Vec<_> = registry.quirk_names().collect();
    let quirks = table.quirks.map(|name| check_known(name, "are no quirks", &known)).transpose()?;
    let known = registry.protocols();
    let protocol = table.protocol.map(|name| check_known(name, "is no protocol", &known)).transpose()?;
    // Quirks are those of ACP agents.
    let known = registry.get(name.get_ref()).filter(|_| quirks.is_none());
    let protocol = protocol.unwrap_or_else(|| known.map_or(acp::PROTOCOL, |known| known.protocol).to_owned());
    let agent = AgentConfig { protocol, command: table.command.into_inner(), env, quirks };
    Ok((name.into_inner(), agent))
}

/// Refuses a name that is not `known`; the message says that there `is_no` such thing.
fn check_known(name: Spanned<String>, is_no: &str, known: &[&str]) -> Result<String, Fault> {
    if known.contains(&name.get_ref().as_str()) {
        return Ok(name.into_inner());
    }
    let meant = nearest(name.get_ref(), known.iter().copied());
    let meant = meant.first().map(|name| format!("; did you mean \"{name}\"?"));
    let (meant, known) = (meant.unwrap_or_default(), known.join(", "));
    Err(Fault::new(name.span(), format!("there {is_no} of that name{meant} (known: {known})")))
}

fn is_agent_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(plain) && name.chars().all(|c| plain(c) || matches!(c, '-' | '_'))
}

fn check_variable((name, value): (Spanned<String>, Spanned<String>)) -> Result<(String, String), Fault> {
    if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
        let message =
            format!("{:?} is no variable name; it may not be empty nor contain `=`", name.get_ref());
        return Err(Fault::new(name.span(), message));
    }
    if value.get_ref().contains('\0') {
        return Err(Fault::new(value.span(), "the value contains a NUL, which no environment can"));
    }
    Ok((name.into_inner(), value.into_inner()))
}
