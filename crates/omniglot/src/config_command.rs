//! `omniglot config`: checks a configuration file, and prints the effective values with their origin.
//!
//! The runtime reads the file; `data_dir` chooses it.

use std::path::Path;
use std::process::ExitCode;

use omniglot_agents::Registry;
use omniglot_runtime::config::Config;
use omniglot_server::{AllowedHost, AllowedOrigin, HookSettings};
use toml::{Table, Value};

use crate::cli::{ConfigArgs, ConfigCheckArgs, ConfigCommand, DataDirArgs};
use crate::daemon::parsed;
use crate::usage::UsageError;
use crate::{data_dir, env, print, serve, token};

pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        ConfigCommand::Check(args) => check(args),
        ConfigCommand::Show(args) => show(args),
    }
}

fn check(args: &ConfigCheckArgs) -> anyhow::Result<ExitCode> {
    let path = match &args.file {
        Some(file) => file.clone(),
        None => data_dir::config_file(&args.data, &data_dir::place(args.data.data_dir.as_deref())?),
    };
    if !data_dir::is_asked_for(&args.data) && args.file.is_none() && !path.exists() {
        let default = Config::default();
        let agent = default.default_agent();
        print::line(&format!("there is no {}: the defaults hold, default agent {agent}", path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = Config::load(&path, &Registry::default()).map_err(UsageError::because)?;
    check_access(&config)?;
    config.tls.as_ref().map(serve::load).transpose()?;
    HookSettings::of(&config).map_err(UsageError::because)?;
    let agents = match config.agents.len() {
        0 => "no agents of its own".to_owned(),
        1 => "1 agent".to_owned(),
        many => format!("{many} agents"),
    };
    print::line(&format!("{} is right: {agents}, default agent {}", path.display(), config.default_agent()))?;
    Ok(ExitCode::SUCCESS)
}

fn check_access(config: &Config) -> Result<(), UsageError> {
    parsed::<AllowedHost>(&config.allow_hosts)?;
    parsed::<AllowedOrigin>(&config.allow_origins)?;
    Ok(())
}

fn show(args: &DataDirArgs) -> anyhow::Result<ExitCode> {
    let dir = data_dir::place(args.data_dir.as_deref())?;
    let config = data_dir::config(args, &dir)?;
    check_access(&config)?;
    let file = data_dir::config_file(args, &dir);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let shown = Shown { file: &file, written: toml::from_str(&text)?, lines: vec![] };
    print::text(&shown.all(&config, &dir, env::of_environment))?;
    Ok(ExitCode::SUCCESS)
}

/// A configuration that is printed again, each value with its origin.
struct Shown<'a> {
    file: &'a Path,
    written: Table,
    lines: Vec<String>,
}

impl Shown<'_> {
    fn all(mut self, config: &Config, dir: &Path, get: impl Fn(&str) -> Option<String>) -> String {
        let exists = if self.file.is_file() { "" } else { " (not there)" };
        self.lines.push(format!("# data dir: {}", dir.display()));
        self.lines.push(format!("# file: {}{exists}", self.file.display()));
        let variable = |name: &'static str| get(name).is_some().then_some(name);
        let listen = config.listen.clone().unwrap_or(serve::LISTEN).to_string();
        self.value(None, "listen", Some(listen.into()), variable(env::LISTEN));
        self.token(config, variable(token::VARIABLE));
        let texts = |values: &[omniglot_runtime::config::Written]| -> Value {
            values.iter().map(|value| value.text.clone()).collect::<Vec<_>>().into()
        };
        self.value(None, "allow_hosts", Some(texts(&config.allow_hosts)), None);
        self.value(None, "allow_origins", Some(texts(&config.allow_origins)), None);
        let agent = Some(config.default_agent().into());
        self.value(None, "default_agent", agent, variable(env::DEFAULT_AGENT));
        self.value(None, "sandbox", Some(config.sandbox.into()), variable(env::SANDBOX));
        self.value(None, "snapshots", Some((!config.no_snapshots).into()), None);
        if let Some(url) = &config.public_url {
            self.value(None, "public_url", Some(url.clone().into()), None);
        }
        if let Some(tls) = &config.tls {
            self.lines.push("\n[tls]".into());
            for (key, path) in [("cert", &tls.cert), ("key", &tls.key)] {
                self.value(Some("tls"), key, Some(path.to_string_lossy().into_owned().into()), None);
            }
        }
        self.lines.push("\n[files]".into());
        let roots: Vec<String> =
            config.files.roots.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        self.value(Some("files"), "roots", Some(roots.into()), None);
        self.limits(config);
        self.retention(config);
        self.lines.push("\n[processes]".into());
        self.value(Some("processes"), "enabled", Some(config.processes.enabled.into()), None);
        self.agents(config);
        self.hooks(config);
        self.lines.join("\n") + "\n"
    }

    /// The token itself is never printed.
    fn token(&mut self, config: &Config, variable: Option<&'static str>) {
        match (&config.token_file, variable) {
            (_, Some(name)) => self.lines.push(format!("# token_file does not count: {name} is set")),
            (None, None) => self.value(None, "token_file", Some("private/token".into()), None),
            (Some(path), None) => {
                self.value(None, "token_file", Some(path.to_string_lossy().into_owned().into()), None);
            }
        }
    }

    fn limits(&mut self, config: &Config) {
        let limits = &config.limits;
        self.lines.push("\n[limits]".into());
        let mut count =
            |key: &str, count: Option<u64>| self.value(Some("limits"), key, count.map(number), None);
        count("max_line_bytes", Some(limits.max_line_bytes as u64));
        count("max_item_bytes", Some(limits.max_item_bytes as u64));
        count("open_requests", Some(limits.open_requests as u64));
        count("handshake_seconds", Some(limits.handshake_seconds));
        count("cancel_seconds", Some(limits.cancel_seconds));
        count("silence_seconds", limits.silence_seconds);
        count("idle_seconds", Some(limits.idle_seconds));
        count("skills_seconds", Some(limits.skills_seconds));
        count("live_agents", Some(limits.live_agents as u64));
        count("writer_stall_seconds", Some(limits.writer_stall_seconds));
        count("connections", limits.connections.map(|connections| connections as u64));
        count("unauthenticated_connections", Some(limits.unauthenticated_connections as u64));
        count("acp_clients", Some(limits.acp_clients as u64));
        count("running_agents", Some(limits.running_agents as u64));
        count("database_bytes", limits.database_bytes);
        count("commit_seconds", Some(limits.commit_seconds));
        count("metadata_bytes", Some(limits.metadata_bytes as u64));
        count("hook_queue", Some(limits.hook_queue));
        count("hook_seconds", Some(limits.hook_seconds));
        count("hook_retry_hours", Some(limits.hook_retry_hours));
    }

    fn retention(&mut self, config: &Config) {
        let retention = &config.retention;
        self.lines.push("\n[retention]".into());
        let days = |age: std::time::Duration| Value::from(age.as_secs_f64() / 86_400.0);
        let mut value = |key: &str, value: Option<Value>| self.value(Some("retention"), key, value, None);
        value("raw_days", retention.raw_age.map(days));
        value("raw_bytes", retention.raw_bytes.map(number));
        value("ended_days", retention.ended_age.map(days));
        value("ended_bytes", retention.ended_bytes.map(number));
        value("every_seconds", Some(number(retention.every_seconds)));
    }

    /// Values of environments are often secrets.
    fn agents(&mut self, config: &Config) {
        for (name, agent) in &config.agents {
            self.lines.push(format!("\n[agents.{name}]"));
            self.lines.push(format!("command = {}", Value::from(agent.command.clone())));
            if !agent.env.is_empty() {
                let names: Table = agent.env.keys().map(|name| (name.clone(), "***".into())).collect();
                self.lines.push(format!("env = {}", Value::Table(names)));
            }
            if let Some(quirks) = &agent.quirks {
                self.lines.push(format!("quirks = {}", Value::from(quirks.clone())));
            }
        }
    }

    /// Secrets are hidden, and so is all of an address but its host.
    fn hooks(&mut self, config: &Config) {
        for hook in &config.hooks {
            self.lines.push("\n[[hooks]]".into());
            self.lines.push(format!("name = {}", Value::from(hook.name.clone())));
            let target = format!("{}://{}/***", hook.url.scheme(), hook.url.host_str().unwrap_or_default());
            self.lines.push(format!("url = {}", Value::from(target)));
            self.lines.extend(hook.secret.is_some().then(|| "secret = \"***\"".to_owned()));
        }
    }

    /// `None` is a limit that is not set.
    fn value(&mut self, table: Option<&str>, key: &str, value: Option<Value>, variable: Option<&str>) {
        let written = match table {
            Some(table) => {
                self.written.get(table).and_then(Value::as_table).is_some_and(|t| t.contains_key(key))
            }
            None => self.written.contains_key(key),
        };
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        let origin = match (variable, written) {
            (Some(name), _) => name,
            (None, true) => &*file,
            (None, false) => "default",
        };
        self.lines.push(match value {
            Some(value) => format!("{key} = {value}  # {origin}"),
            None => format!("# {key} is not set: no limit"),
        });
    }
}

fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
