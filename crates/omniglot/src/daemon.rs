//! Builds a daemon from its parts: log, sessions, server. Used by `serve` and, for one turn, by `run`.
//!
//! Those two decide what to print, and when to stop.

use std::fmt::Display;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use omniglot_agents::Registry;
use omniglot_runtime::config::{Config, Limits, Listen, Written};
use omniglot_runtime::{Backlog, Deadlines, Hub, HubConfig};
use omniglot_server::{
    AllowedHost, AllowedOrigin, ConnectionLimits, HookSettings, Hooks, ServeError, Server, ServerConfig, Tls,
    Token,
};
use omniglot_store::{LockHolder, Options, Store};

use crate::cli::TokenArgs;
use crate::memory;
use crate::otel::{self, Collector, Exporter};
use crate::token;
use crate::usage::UsageError;

/// The start parameters of a daemon.
#[derive(Debug)]
pub(crate) struct DaemonOptions {
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    pub(crate) listen: Listen,
    /// The certificate of a port that speaks TLS.
    pub(crate) tls: Option<Tls>,
    /// Whether another port will do where that one is taken.
    pub(crate) any_port: bool,
    pub(crate) token: TokenArgs,
    pub(crate) allow_hosts: Vec<AllowedHost>,
    pub(crate) allow_origins: Vec<AllowedOrigin>,
    pub(crate) backlog: Backlog,
    pub(crate) temporary: bool,
}

impl DaemonOptions {
    /// The parameters of a command's own daemon: on the configured socket, else on a free loopback port.
    pub(crate) fn new(dir: PathBuf, config: Config, backlog: Backlog) -> Self {
        let socket = config.listen.clone().filter(|listen| matches!(listen, Listen::Unix(_)));
        Self {
            dir,
            config,
            listen: socket.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()),
            tls: None,
            any_port: false,
            token: TokenArgs::default(),
            allow_hosts: vec![],
            allow_origins: vec![],
            backlog,
            temporary: true,
        }
    }
}

/// A listening daemon. It owns its data directory until [`Daemon::run`] returns.
pub(crate) struct Daemon {
    dir: PathBuf,
    url: String,
    token: token::Source,
    store: Store,
    hub: Hub,
    server: Server,
    exporter: Option<Exporter>,
    hooks: Hooks,
}

impl Daemon {
    pub(crate) async fn start(options: DaemonOptions) -> anyhow::Result<Self> {
        let DaemonOptions {
            dir,
            config,
            listen,
            tls,
            any_port,
            token,
            mut allow_hosts,
            mut allow_origins,
            backlog,
            temporary,
        } = options;
        allow_hosts.extend(parsed(&config.allow_hosts)?);
        allow_origins.extend(parsed(&config.allow_origins)?);
        if config.hooks.iter().any(|hook| hook.answer_links) {
            allow_hosts.extend(config.public_url.as_deref().and_then(host_of));
        }
        let store_options =
            Options { max_database_bytes: config.limits.database_bytes, ..Options::default() };
        let store = Store::open(&dir, store_options)?;
        let wanted = if temporary { token::Wanted::ByClient } else { token::Wanted::Explicitly };
        let token = token::for_daemon(&token, config.token_file.as_deref(), &dir, wanted)?;
        token.check_length(listen.is_local())?;
        let program = std::env::current_exe().context("this program does not find itself")?;
        let collector = config.otel_endpoint.as_ref().map(collector).transpose()?;
        let hook_settings = HookSettings::of(&config).map_err(UsageError::because)?;
        let deadlines = Deadlines::of(&config.limits);
        let (connections, acp_clients) =
            (connections(&config.limits, omniglot_runtime::files::limit()), config.limits.acp_clients);
        let hub_config = HubConfig {
            data_dir: dir.clone(),
            program,
            config,
            registry: Registry::default(),
            store: store.clone(),
            deadlines,
            backlog,
        };
        let hub = Hub::start(hub_config).await?;
        let exporter = match collector {
            Some(collector) => Some(Exporter::start(hub.clone(), collector).await?),
            None => None,
        };
        let hooks = Hooks::start(&hub, &store, hook_settings).await?;
        let certificate = tls.as_ref().map(|tls| tls.fingerprint().to_owned());
        let server_config = ServerConfig {
            tls,
            token: token.secret.as_ref().map(|secret| Token::new(secret.reveal())),
            token_hint: format!("send `Authorization: Bearer TOKEN`; {}", token.hint),
            allow_hosts,
            allow_origins,
            any_port,
            connections,
            acp_clients,
            hooks: hooks.clone(),
            ..ServerConfig::new(listen)
        };
        let server = Server::bind(server_config, hub.clone()).await.map_err(with_hint)?;
        let url = server.url();
        let token_file = token.file.clone();
        let (pid, certificate) = (std::process::id(), certificate.filter(|_| url.starts_with("https:")));
        store.announce(&LockHolder { pid, url: url.clone(), token_file, certificate, temporary })?;
        Ok(Self { dir, url, token, store, hub, server, exporter, hooks })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Describes where the token is.
    pub(crate) fn token_described(&self) -> &str {
        &self.token.described
    }

    pub(crate) fn store(&self) -> Store {
        self.store.clone()
    }

    pub(crate) fn hub(&self) -> Hub {
        self.hub.clone()
    }

    /// Serves until `shutdown`, then ends the agents, lets clients read the end of their turns, and closes
    /// the log.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
        let Self { store, hub, server, exporter, hooks, .. } = self;
        let small = tokio::spawn(memory::keep_small());
        server.run(shutdown, hub.shutdown()).await;
        small.abort();
        if let Some(exporter) = exporter {
            exporter.finish().await;
        }
        hooks.finish().await;
        Ok(store.close().await?)
    }
}

/// Returns the name by which people reach the daemon.
fn host_of(public_url: &str) -> Option<AllowedHost> {
    public_url.split_once("://")?.1.split('/').next()?.parse().ok()
}

fn collector(written: &Written) -> anyhow::Result<Collector> {
    let refused = |message: &str| UsageError::because(written.refuse(message));
    let endpoint = otel::endpoint(&written.text).map_err(refused)?;
    Ok(Collector::new(&endpoint)?)
}

/// Keeps a quarter of the files that may be open back for agents and the log.
fn connections(limits: &Limits, files: usize) -> ConnectionLimits {
    let eighth = (files / 8).max(1);
    ConnectionLimits {
        strangers: limits.unauthenticated_connections.min(eighth),
        admitted: limits.connections.unwrap_or(usize::MAX).min(eighth.saturating_mul(5)),
    }
}

/// Parses the allowed values of the configuration.
pub(crate) fn parsed<T: FromStr<Err: Display>>(values: &[Written]) -> Result<Vec<T>, UsageError> {
    let parse = |value: &Written| {
        value.text.parse().map_err(|error: T::Err| UsageError::because(value.refuse(error.to_string())))
    };
    values.iter().map(parse).collect()
}

/// Puts the cause first, then the hint.
fn with_hint(error: ServeError) -> anyhow::Error {
    let hint = error.hint();
    let error = anyhow::Error::new(error);
    match hint {
        Some(hint) => anyhow!("{error:#}; {hint}"),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_files_is_kept_for_agents_and_the_log() {
        let greedy = Limits {
            connections: Some(usize::MAX),
            unauthenticated_connections: usize::MAX,
            ..Limits::default()
        };
        for files in [64, 1024, 1_048_576, usize::MAX] {
            for limits in [&greedy, &Limits::default()] {
                let ConnectionLimits { strangers, admitted } = connections(limits, files);
                assert!(strangers > 0 && admitted > strangers, "{files}");
                assert!(strangers + admitted <= files - files / 4, "{strangers} + {admitted} of {files}");
            }
        }
        let few = Limits { connections: Some(7), unauthenticated_connections: 3, ..Limits::default() };
        assert_eq!(connections(&few, 1024), ConnectionLimits { strangers: 3, admitted: 7 });
    }
}
