//! The agents that this daemon can start: those of the registry and those of the configuration.
//!
//! Knows how each is started, whether or not it is installed; what it says is its adapter's.

mod command;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use jiff::Timestamp;
use omniglot_agents::adapter::{Adapter, Credential, Program};
use omniglot_agents::launch::{Install, SettingsFile, Start};
use omniglot_agents::nearest::did_you_mean;
use omniglot_agents::{LaunchSpec, Open, Registry, Translator, acp};
use omniglot_schema::{AgentInfo, AgentSource, AuthStatus};
use omniglot_store::{private, shared};

use crate::agent::credentials;
use crate::agent::empty_transcripts;
use crate::agent::installed::InstalledVersions;
use crate::config::{AgentConfig, Config};
use crate::error::RuntimeError;
use crate::process::launch::is_of_daemon;

/// How one agent is started and spoken to.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    pub adapter: Adapter,
    pub launch: LaunchSpec,
    pub source: AgentSource,
    /// Advice on installing it and logging in.
    pub start: Option<&'static Start>,
    /// Where the file is kept that the agent reads its settings from, if it needs one.
    settings: Option<(SettingsFile, PathBuf)>,
    /// The versions that the daemon has installed; `None` for an agent that is no program of its own.
    pub(crate) versions: Option<InstalledVersions>,
}

#[derive(Debug, Clone)]
pub struct Catalog {
    entries: IndexMap<String, Entry>,
}

impl Catalog {
    /// `own_program` is this binary, which is also the built-in agent; it keeps its sessions below `data_dir`.
    pub fn new(config: &Config, registry: &Registry, own_program: &Path, data_dir: &Path) -> Self {
        let registered = registry.iter().filter_map(|agent| Entry::registered(agent, own_program, data_dir));
        let configured = config
            .agents
            .iter()
            .filter_map(|(name, agent)| Entry::configured(registry, name, agent, data_dir));
        let mut entries: IndexMap<String, Entry> =
            registered.chain(configured).map(|entry| (entry.name.clone(), entry)).collect();
        if config.sandbox {
            entries.values_mut().for_each(Entry::in_sandbox);
        }
        Self { entries }
    }

    pub fn get(&self, name: &str) -> Result<&Entry, RuntimeError> {
        self.entries.get(name).ok_or_else(|| RuntimeError::UnsupportedAgent {
            name: name.to_owned(),
            meant: did_you_mean(name, self.entries.keys().map(String::as_str)),
            known: self.entries.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

impl Entry {
    fn registered(agent: &Adapter, own_program: &Path, data_dir: &Path) -> Option<Self> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let launch = match agent.program {
            Program::Own => acp::mock(text(own_program), text(&shared(data_dir).join("mock-agent"))),
            Program::Installed(start) => start.spec()?,
        };
        Some(Self {
            name: agent.id.to_owned(),
            adapter: *agent,
            launch,
            source: AgentSource::BuiltIn,
            start: agent.start(),
            settings: settings_of(agent.start(), agent.id, data_dir),
            versions: InstalledVersions::of(agent, data_dir),
        })
    }

    /// Returns the configured agent, which replaces the registered one. The switches of a known agent stay,
    /// where the configuration does not set the same variable, and so do its arguments.
    fn configured(registry: &Registry, name: &str, agent: &AgentConfig, data_dir: &Path) -> Option<Self> {
        let mut launch = acp::custom(&agent.command, agent.env.clone())?;
        let with_quirks = agent.quirks.as_deref().and_then(|quirks| registry.quirks(quirks));
        let namesake = registry.get(name).filter(|known| known.protocol == agent.protocol);
        let known = with_quirks.or(namesake);
        let start = namesake.or(with_quirks).and_then(Adapter::start);
        let of_protocol = registry.of_protocol(&agent.protocol);
        let adapter = *known.or(of_protocol)?;
        if let Some(start) = namesake.or(of_protocol).and_then(Adapter::start) {
            launch.args.extend(start.missing_args(&launch.args));
        }
        let mut entry = Self {
            name: name.to_owned(),
            versions: InstalledVersions::of(&adapter, data_dir),
            adapter,
            source: AgentSource::Configured,
            start,
            settings: settings_of(start, name, data_dir)
                .filter(|(file, _)| !launch.env.contains_key(file.variable)),
            launch,
        };
        entry.set_defaults(start.map_or(&[], |start| start.env));
        Some(entry)
    }

    fn in_sandbox(&mut self) {
        let start = self.adapter.start();
        self.set_defaults(start.map_or(&[], |start| start.sandbox_env));
    }

    /// Sets the variables that are not set.
    fn set_defaults(&mut self, env: &[(&str, &str)]) {
        for (variable, value) in env {
            self.launch.env.entry((*variable).to_owned()).or_insert_with(|| (*value).to_owned());
        }
    }

    pub fn translator(&self) -> Box<dyn Translator> {
        (self.adapter.translator)()
    }

    /// Returns the command that starts it for this session.
    pub(crate) fn launch_for(&self, open: &Open) -> LaunchSpec {
        let mut base = self.command(open.agent_version.as_deref());
        if let Some((file, path)) = &self.settings {
            match write_settings(file, path) {
                Ok(()) => drop(base.env.insert(file.variable.to_owned(), path.to_string_lossy().into())),
                Err(error) => tracing::warn!(agent = self.name, %error, "the agent's settings"),
            }
        }
        (self.adapter.launch)(&base, open)
    }

    /// Waits until the agent can continue the session without harm to it.
    pub(crate) async fn may_resume(&self, open: &Open) {
        let since = open.resume_since.filter(|_| open.resume.is_some());
        let from = since.and_then(|since| (self.adapter.resumable_from)(since));
        let wait = from.and_then(|from| from.duration_since(Timestamp::now()).try_into().ok());
        if let Some(wait) = wait {
            tracing::info!(agent = self.name, ?wait, "its session is too young to be loaded");
            tokio::time::sleep(wait).await;
        }
    }

    /// Removes what the agent has left behind in its own files when it loaded the session.
    pub(crate) async fn tidy_after_load(&self, session: String) {
        let Some(files) = self.start.and_then(|start| start.empty_transcripts) else { return };
        let home = self.variable(files.home).or_else(|| self.variable("HOME"));
        let Some(home) = home.filter(|home| !home.is_empty()) else { return };
        let tidied = tokio::task::spawn_blocking(move || {
            empty_transcripts::remove(&files, Path::new(&home), &session)
        });
        if let Err(error) = tidied.await {
            tracing::warn!(agent = self.name, %error, "what a load has left behind");
        }
    }

    pub(crate) fn install(&self) -> Install {
        self.adapter.install
    }

    /// Whether the agent would find credentials in its environment or its files; `None` where it is not known in
    /// which, or where it may work without.
    pub(crate) fn finds_credentials(&self) -> Option<bool> {
        match self.adapter.credentials {
            // Our own agent needs none.
            [] => {
                (self.adapter.program == Program::Own && self.source == AgentSource::BuiltIn).then_some(true)
            }
            places if credentials::found(places, |name| self.variable(name)) => Some(true),
            places => (!places.contains(&Credential::NotNeeded)).then_some(false),
        }
    }

    /// Returns how one logs in to the agent, where that is known.
    pub(crate) fn login(&self) -> Option<&'static str> {
        self.start.map(|start| start.login).filter(|login| !login.is_empty())
    }

    /// Returns the names of the variables and files that credentials are looked for in.
    pub(crate) fn credential_places(&self) -> Vec<String> {
        self.adapter.credentials.iter().filter_map(credentials::name).collect()
    }

    /// Returns a variable that a child of this agent would have.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let inherited = || std::env::var(name).ok().filter(|_| !is_of_daemon(name.as_ref()));
        self.launch.env.get(name).cloned().or_else(inherited)
    }

    pub(crate) fn info(&self, version: Option<String>, login: AuthStatus) -> AgentInfo {
        let path = self.path();
        let versions = self.versions.as_ref().map(InstalledVersions::all).unwrap_or_default();
        AgentInfo {
            id: self.name.clone(),
            installed: path.is_some(),
            // Credentials are of no use to a program that is not there.
            credentials_available: path.is_some() && login != AuthStatus::Required,
            login: path.as_ref().map(|_| login),
            installed_versions: versions.iter().map(ToString::to_string).collect(),
            version,
            path: path.map(|path| path.to_string_lossy().into_owned()),
            source: Some(self.source),
            stability: Some(self.adapter.stability),
            capabilities: self.adapter.capabilities(),
            server_status: None,
        }
    }
}

/// Where the file of settings is kept. One that the user already points at is the user's.
fn settings_of(start: Option<&Start>, name: &str, data_dir: &Path) -> Option<(SettingsFile, PathBuf)> {
    let file = start?.settings.filter(|file| std::env::var_os(file.variable).is_none())?;
    Some((file, private(data_dir).join("agents").join(name).join(file.name)))
}

/// Writes the file unless it is there as it should be. It takes the place of the old one at once, and of a link: an
/// agent may have changed it, and another start may be reading it.
fn write_settings(file: &SettingsFile, path: &Path) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if is_file && fs::read_to_string(path).is_ok_and(|there| there == file.content) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let half = path.with_file_name(format!(".{}", uuid::Uuid::now_v7().simple()));
    fs::write(&half, file.content)?;
    fs::rename(&half, path).inspect_err(|_| drop(fs::remove_file(&half)))
}

#[cfg(test)]
mod tests {
    use omniglot_agents::{claude, opencode};

    use super::*;

    fn catalog(toml: &str, data_dir: &Path) -> Catalog {
        let config = Config::parse(Path::new("omniglot.toml"), toml, &Registry::default()).unwrap();
        Catalog::new(&config, &Registry::default(), Path::new("omniglot"), data_dir)
    }

    #[test]
    fn a_registered_agent_is_listed_whether_or_not_it_is_installed() {
        let catalog = catalog("", Path::new("data"));
        let gemini = catalog.get("gemini").unwrap();
        assert_eq!(gemini.launch.program, "gemini");
        assert_eq!(gemini.launch.args, ["--acp"]);
        assert_eq!(gemini.launch.env["GEMINI_TELEMETRY_ENABLED"], "false");
        assert_eq!(gemini.adapter.id, "gemini");
        for agent in Registry::default().iter() {
            assert!(catalog.get(agent.id).is_ok(), "{}", agent.id);
        }
    }

    #[test]
    fn a_configured_agent_takes_the_place_of_its_namesake_and_keeps_its_quirks() {
        let toml = "[agents.gemini]\nprotocol = \"acp\"\ncommand = [\"/opt/gemini\", \"--acp\"]\n\
                    env = { GEMINI_TELEMETRY_ENABLED = \"true\", KEY = \"k\" }\n";
        let catalog = catalog(toml, Path::new("data"));
        let gemini = catalog.get("gemini").unwrap();
        assert_eq!(gemini.launch.program, "/opt/gemini");
        assert_eq!(gemini.launch.env["GEMINI_TELEMETRY_ENABLED"], "true");
        assert_eq!(gemini.launch.env["GEMINI_CLI_NO_RELAUNCH"], "true");
        assert_eq!(gemini.adapter.id, "gemini");
        assert_eq!(gemini.source, AgentSource::Configured);
    }

    /// B8: another path of a known agent needs nothing but the path.
    #[test]
    fn a_known_agent_keeps_its_adapter_and_its_arguments_at_another_path() {
        let started = |toml: &str, name: &str| {
            let catalog = catalog(toml, Path::new("data"));
            let entry = catalog.get(name).unwrap();
            (entry.adapter.id, entry.launch.args.clone())
        };
        let configured =
            |name: &str, command: &str| started(&format!("[agents.{name}]\ncommand = {command}\n"), name);
        assert_eq!(configured("claude", r#"["/opt/claude"]"#), ("claude", vec![]));
        assert_eq!(configured("gemini", r#"["node", "/opt/gemini.js"]"#).1, ["/opt/gemini.js", "--acp"]);
        assert_eq!(configured("gemini", r#"["gemini", "--experimental-acp"]"#).1, ["--experimental-acp"]);
        let (adapter, args) = configured("codex", r#"["/opt/codex"]"#);
        assert_eq!((adapter, args.first().map(String::as_str)), ("codex", Some("app-server")));
        assert_eq!(configured("codex", r#"["codex", "app-server"]"#).1, ["app-server"]);
        let other = "[agents.mine]\nprotocol = \"codex\"\ncommand = [\"codex\"]\n";
        assert_eq!(started(other, "mine").1, args);
        let version = catalog(other, Path::new("data")).get("mine").unwrap().version_command().unwrap();
        assert_eq!(version.args, ["--version"]);
        // Only the configuration can say that a program of this name speaks something else.
        let acp = "[agents.claude]\nprotocol = \"acp\"\ncommand = [\"wrapper\"]\n";
        assert_eq!(started(acp, "claude"), ("acp", vec![]));
        assert_eq!(configured("mine", r#"["x"]"#), ("acp", vec![]));
    }

    #[test]
    fn another_name_may_have_the_quirks_of_a_known_agent() {
        let toml = "[agents.mine]\nprotocol = \"acp\"\ncommand = [\"x\"]\nquirks = \"gemini\"\n";
        let catalog = catalog(toml, Path::new("data"));
        let mine = catalog.get("mine").unwrap();
        assert_eq!(mine.adapter.id, "gemini");
        assert_eq!(mine.launch.env["GEMINI_CLI_NO_RELAUNCH"], "true");
    }

    #[test]
    fn settings_of_an_agent_are_written_when_it_is_started() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = catalog("", dir.path());
        let gemini = catalog.get("gemini").unwrap();
        let file = dir.path().join("private/agents/gemini/settings.json");
        assert!(!file.exists());
        let launch = gemini.launch_for(&Open::default());
        assert_eq!(launch.env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"], file.to_string_lossy());
        let settings: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(settings["tools"]["shell"]["enableInteractiveShell"], false);
    }

    #[test]
    fn settings_that_an_agent_has_changed_are_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = catalog("", dir.path());
        let (pi, folder) = (catalog.get("pi").unwrap(), dir.path().join("private/agents/pi"));
        let (gate, other) = (folder.join("gate.ts"), dir.path().join("other.ts"));
        pi.launch_for(&Open::default());
        let content = fs::read_to_string(&gate).unwrap();
        fs::write(&gate, "").unwrap();
        pi.launch_for(&Open::default());
        assert_eq!(fs::read_to_string(&gate).unwrap(), content);
        // A link to the very content could lead elsewhere a moment later.
        fs::rename(&gate, &other).unwrap();
        std::os::unix::fs::symlink(&other, &gate).unwrap();
        pi.launch_for(&Open::default());
        assert!(!gate.is_symlink() && fs::read_to_string(&gate).unwrap() == content);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn an_agent_finds_the_credentials_that_its_child_would_find() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().display();
        // Keys of the machine that the test runs on do not count.
        let unset = claude::ADAPTER.credentials.iter().filter_map(|place| match place {
            Credential::Env(variable) | Credential::FileBelow { variable, .. } => {
                Some(format!("{variable} = \"\""))
            }
            Credential::File(_) | Credential::NotNeeded => None,
        });
        let env = unset.chain([format!("HOME = \"{home}\"")]).collect::<Vec<_>>().join(", ");
        let toml = format!(
            "[agents.claude]\nprotocol = \"claude\"\ncommand = [\"sh\"]\nenv = {{ {env} }}\n\
             [agents.gone]\nprotocol = \"acp\"\ncommand = [\"{home}/gone\"]\n"
        );
        let catalog = catalog(&toml, dir.path());
        let claude = catalog.get("claude").unwrap();
        assert_eq!(claude.finds_credentials(), Some(false));
        assert!(claude.credential_places().contains(&"~/.claude/.credentials.json".to_owned()));
        fs::create_dir(dir.path().join(".claude")).unwrap();
        fs::write(dir.path().join(".claude/.credentials.json"), r#"{"key":"k"}"#).unwrap();
        assert_eq!(claude.finds_credentials(), Some(true));
        assert!(claude.info(None, AuthStatus::Ready).credentials_available);
        let gone = catalog.get("gone").unwrap();
        let info = gone.info(None, AuthStatus::Unknown);
        assert_eq!(gone.finds_credentials(), None);
        assert!(!info.credentials_available && info.login.is_none());
        assert_eq!(catalog.get("mock").unwrap().finds_credentials(), Some(true));
    }

    #[test]
    fn an_agent_with_free_models_may_work_without_credentials() {
        let dir = tempfile::tempdir().unwrap();
        let unset = opencode::ADAPTER.credentials.iter().filter_map(|place| match place {
            Credential::Env(variable) | Credential::FileBelow { variable, .. } => Some(*variable),
            Credential::File(_) | Credential::NotNeeded => None,
        });
        let env: std::collections::BTreeSet<String> = unset.map(|name| format!("{name} = \"\"")).collect();
        let env = env.into_iter().collect::<Vec<_>>().join(", ");
        let toml = format!(
            "[agents.opencode]\nprotocol = \"opencode\"\ncommand = [\"sh\"]\nenv = {{ {env}, HOME = {:?} }}\n",
            dir.path()
        );
        let catalog = catalog(&toml, dir.path());
        let agent = catalog.get("opencode").unwrap();
        assert_eq!(agent.finds_credentials(), None);
        fs::create_dir_all(dir.path().join(".local/share/opencode")).unwrap();
        fs::write(dir.path().join(".local/share/opencode/auth.json"), r#"{"key":"k"}"#).unwrap();
        assert_eq!(agent.finds_credentials(), Some(true));
    }

    #[test]
    fn agents_in_a_sandbox_are_told_so_if_they_read_it() {
        let told_to = |agent: &str, toml: &str| {
            let catalog = catalog(toml, Path::new("data"));
            let launch = catalog.get(agent).unwrap().launch_for(&Open::default());
            (launch.env.get("IS_SANDBOX").cloned(), launch.args.iter().any(|arg| arg.contains("dangerously")))
        };
        assert_eq!(told_to("claude", "sandbox = true"), (Some("1".to_owned()), true));
        assert_eq!(told_to("claude", ""), (None, false));
        let own = "sandbox = true\n[agents.mine]\nprotocol = \"claude\"\ncommand = [\"x\"]\n";
        assert_eq!(told_to("mine", own), (Some("1".to_owned()), true));
        assert_eq!(told_to("claude-acp", "sandbox = true").0, Some("1".to_owned()));
        assert_eq!(told_to("codex", "sandbox = true").0, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_young_session_of_gemini_waits_for_the_next_minute() {
        let catalog = catalog("", Path::new("data"));
        let waited = async |agent: &str, resume: Option<String>| {
            let since = Some(Timestamp::now());
            let before = tokio::time::Instant::now();
            let open = Open { resume, resume_since: since, ..Open::default() };
            catalog.get(agent).unwrap().may_resume(&open).await;
            before.elapsed()
        };
        let old = || Some("old".to_owned());
        assert!(waited("gemini", old()).await <= std::time::Duration::from_secs(60));
        assert!(!waited("gemini", old()).await.is_zero());
        assert!(waited("gemini", None).await.is_zero());
        assert!(waited("mock", old()).await.is_zero());
    }
}
