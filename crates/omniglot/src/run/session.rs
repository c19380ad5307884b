//! Opens the session of a run: continues the named one, or creates one.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use omniglot_client::Client;
use omniglot_schema::{CreateSessionRequest, SessionDetail, SessionId, SessionInfo, SessionPatch};

use super::scratch;
use super::settings::Settings;
use crate::cli::RunArgs;
use crate::sessions::answer::how_to_answer;
use crate::sessions::find;
use crate::token::random_hex;
use crate::usage::UsageError;

const RANDOM_BYTES: usize = 5;

/// The requested settings of a run's session, checked as far as the client can.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: SessionId,
    agent: Option<String>,
    default_agent: String,
    place: Workplace,
    worktree: bool,
    model: Option<String>,
    force_model: bool,
    permission_mode: Option<String>,
    settings: Settings,
    /// The typed id of a session that must exist already.
    existing: Option<String>,
    /// The session that an earlier attempt created before its connection broke.
    made: Option<Opened>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Workplace {
    Current,
    Named(PathBuf),
    Scratch,
}

/// A session that is ready for a message.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) agent: String,
    pub(crate) directory: Option<String>,
    /// The last event before ours; 0 in a session created for this run.
    pub(crate) after: u64,
    pub(crate) scratch: bool,
    pub(crate) new: bool,
    /// The request that its running turn waits for, with a hint.
    pub(crate) waits: Option<String>,
}

impl Wanted {
    pub(crate) fn new(args: &RunArgs, default_agent: &str) -> anyhow::Result<Self> {
        let id = match &args.session {
            Some(text) => {
                SessionId::parse(text).map_err(|e| UsageError::new(format!("--session {text}: {e}")))?
            }
            None => random_id()?,
        };
        let place = match &args.cwd {
            Some(dir) => Workplace::Named(directory(dir.clone())?),
            None if args.scratch => Workplace::Scratch,
            None => Workplace::Current,
        };
        Ok(Self {
            id,
            agent: args.agent.clone(),
            default_agent: default_agent.to_owned(),
            place,
            worktree: args.worktree,
            model: args.model.clone(),
            force_model: args.force_model,
            permission_mode: args.permission_mode.clone(),
            settings: Settings::read(&args.settings)?,
            existing: None,
            made: None,
        })
    }

    /// Selects an existing session, by its id or the beginning of it.
    pub(crate) fn existing(typed: &str) -> anyhow::Result<Self> {
        Ok(Self {
            id: find::id(typed)?,
            agent: None,
            default_agent: String::new(),
            place: Workplace::Current,
            worktree: false,
            model: None,
            force_model: false,
            permission_mode: None,
            settings: Settings::default(),
            existing: Some(typed.to_owned()),
            made: None,
        })
    }

    pub(crate) async fn open(&mut self, client: &Client) -> anyhow::Result<Opened> {
        if let Some(typed) = &self.existing {
            let detail = find::session(client, typed).await?;
            self.id = detail.info.session_id.clone();
            return self.resume(client, detail).await;
        }
        match client.detail(&self.id).await {
            Ok(_) if let Some(made) = &self.made => Ok(made.clone()),
            Ok(detail) => self.resume(client, detail).await,
            Err(error) if error.status() == Some(404) => self.create(client).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Settings that are fixed at the creation cannot be changed; the others are.
    async fn resume(&self, client: &Client, detail: SessionDetail) -> anyhow::Result<Opened> {
        self.check(&detail.info)?;
        let waits = how_to_answer(&detail);
        let mut info = detail.info;
        let (model, permission_mode) = (self.model.clone(), self.permission_mode.clone());
        let force = self.force_model;
        let patch = SessionPatch { model, force, permission_mode, ..SessionPatch::default() };
        let patch = self.settings.of_existing(patch)?;
        if patch != SessionPatch::default() {
            info = client.patch(&self.id, &patch).await?.info;
        }
        Ok(Opened {
            agent: info.agent,
            directory: info.directory,
            after: info.event_count,
            scratch: false,
            new: false,
            waits,
        })
    }

    fn check(&self, info: &SessionInfo) -> anyhow::Result<()> {
        let refuse = |what: &str| UsageError::new(format!("session {} exists: {what}", self.id));
        if self.agent.as_ref().is_some_and(|agent| *agent != info.agent) {
            bail!(refuse(&format!(
                "its agent is {}; leave out --agent, or choose another --session",
                info.agent
            )));
        }
        if self.worktree && info.worktree.is_none() {
            bail!(refuse("it has its directory; leave out --worktree, or choose another --session"));
        }
        if self.place == Workplace::Scratch {
            bail!(refuse("it has its directory; leave out --scratch, or choose another --session"));
        }
        if let (Workplace::Named(dir), Some(current)) = (&self.place, &info.directory)
            && dir.as_os_str() != current.as_str()
        {
            bail!(refuse(&format!("it works in {current}; leave out --cwd, or choose another --session")));
        }
        Ok(())
    }

    async fn create(&mut self, client: &Client) -> anyhow::Result<Opened> {
        let agent = self.agent.clone().unwrap_or_else(|| self.default_agent.clone());
        let directory = match &self.place {
            Workplace::Named(dir) => dir.clone(),
            Workplace::Current => {
                std::env::current_dir().context("the current directory is gone; give --cwd DIR")?
            }
            Workplace::Scratch => scratch::make().context("the demo project cannot be made")?,
        };
        let mut directory = text(directory)?;
        let request = self.settings.of_new(CreateSessionRequest {
            directory: Some(directory.clone()),
            model: self.model.clone(),
            force: self.force_model,
            permission_mode: self.permission_mode.clone(),
            worktree: self.worktree,
            ..CreateSessionRequest::new(agent.clone())
        });
        let answer = client.create(&self.id, &request).await?;
        if let Some(error) = answer.error.filter(|_| !answer.healthy) {
            let hint = error.details.as_ref().and_then(|details| details.get("hint")?.as_str());
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            bail!("agent {agent} cannot work yet: {}{hint}", error.message);
        }
        if self.worktree {
            directory = client.detail(&self.id).await?.info.directory.unwrap_or(directory);
        }
        let scratch = self.place == Workplace::Scratch;
        let opened = Opened { agent, directory: Some(directory), after: 0, scratch, new: true, waits: None };
        Ok(self.made.insert(opened).clone())
    }
}

fn random_id() -> anyhow::Result<SessionId> {
    Ok(SessionId::parse(&format!("run-{}", random_hex::<RANDOM_BYTES>()?))?)
}

/// Returns the full path of a directory that `--cwd` names.
pub(crate) fn directory(dir: PathBuf) -> Result<PathBuf, UsageError> {
    let real = dir.canonicalize().map_err(|e| UsageError::new(format!("--cwd {}: {e}", dir.display())))?;
    if !real.is_dir() {
        return Err(UsageError::new(format!("--cwd {}: not a directory", dir.display())));
    }
    Ok(real)
}

/// The REST face names directories in JSON, which is UTF-8.
fn text(dir: PathBuf) -> Result<String, UsageError> {
    dir.into_os_string()
        .into_string()
        .map_err(|dir| UsageError::new(format!("the name of the directory {} is not UTF-8", dir.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_session_id_is_short_and_new() {
        let (first, second) = (random_id().unwrap(), random_id().unwrap());
        assert_ne!(first, second);
        assert_eq!(first.as_str().len(), "run-".len() + 2 * RANDOM_BYTES);
    }

    #[test]
    fn a_working_directory_must_be_one() {
        assert!(
            directory("/no/such/place".into()).unwrap_err().to_string().starts_with("--cwd /no/such/place: ")
        );
        assert!(directory(file!().into()).is_err());
        assert!(directory(".".into()).unwrap().is_absolute());
    }
}
