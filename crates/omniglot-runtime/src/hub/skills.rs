//! The skills of a new session: who may name which sources, and which agents take them.

use std::path::Path;

use omniglot_agents::{SessionSkills, SkillsDir};
use omniglot_schema::{CreateSessionRequest, Scope, SessionId, SkillsConfig};
use omniglot_store::ListFilter;

use super::Hub;
use crate::agent::skills::{PendingSkills, Source};
use crate::error::RuntimeError;

impl Hub {
    /// Refuses skills that this caller may not name, or that the agent cannot take, before anything is fetched.
    pub(super) fn check_skills(&self, request: &CreateSessionRequest) -> Result<(), RuntimeError> {
        for source in sources(request)? {
            if let Some(path) = source.local_path()
                && !self.caller.may(Scope::Admin)
                && !self.is_below_root(&path)
            {
                return Err(RuntimeError::Forbidden(format!(
                    "the skills of {:?} are files of the daemon's machine, which need the scope `admin` or a place \
                     below `roots` of [files] in omniglot.toml",
                    source.shown()
                )));
            }
        }
        Ok(())
    }

    fn is_below_root(&self, path: &Path) -> bool {
        // Git decodes the path of a URL, which would then be another one.
        if path.to_string_lossy().contains('%') {
            return false;
        }
        let Ok(path) = path.canonicalize() else { return false };
        let mut roots = self.inner.file_roots.iter().filter_map(|root| root.canonicalize().ok());
        roots.any(|root| path.starts_with(root))
    }

    /// Gets the skills of a session that has no row yet, or copies those of its origin.
    pub(super) async fn install_skills(
        &self,
        id: &SessionId,
        request: &CreateSessionRequest,
        origin: Option<&SessionId>,
    ) -> Result<Option<PendingSkills>, RuntimeError> {
        let sources = sources(request)?;
        if sources.is_empty() {
            return Ok(None);
        }
        self.takes_skills(&request.agent)?;
        let (store, supervisor) = (&self.inner.skills, &self.inner.launcher.supervisor);
        let pending = match origin {
            Some(origin) => store.copy(origin, id).await,
            None => store.install(id, sources, supervisor).await.map(Some),
        };
        let pending = pending.map_err(RuntimeError::InvalidRequest)?;
        if pending.is_some() {
            self.place_skills(id, request)?;
        }
        Ok(pending)
    }

    /// Lets the agent of the session find its skills, and no other agent.
    pub(super) fn place_skills(
        &self,
        id: &SessionId,
        request: &CreateSessionRequest,
    ) -> Result<(), RuntimeError> {
        let Some(skills) = &request.skills else { return Ok(()) };
        if skills.sources.is_empty() {
            return Ok(());
        }
        let place = self.takes_skills(&request.agent)?;
        let project = request.directory.as_deref().unwrap_or(".");
        self.inner.skills.place(id, place, Path::new(project)).map_err(RuntimeError::InvalidRequest)
    }

    fn takes_skills(&self, agent: &str) -> Result<SkillsDir, RuntimeError> {
        match self.inner.launcher.catalog.get(agent)?.adapter.skills {
            SkillsDir::None => Err(RuntimeError::InvalidRequest(format!(
                "`skills` cannot be given to agent {agent}: nobody knows where it reads them; leave them out"
            ))),
            place @ (SkillsDir::Own | SkillsDir::Project(_)) => Ok(place),
        }
    }

    /// Returns the skills that were kept for a session, if it was created with some.
    pub(super) fn skills_of(&self, id: &SessionId, request: &CreateSessionRequest) -> Option<SessionSkills> {
        let has_some = |skills: &SkillsConfig| !skills.sources.is_empty();
        request.skills.as_ref().filter(|skills| has_some(skills))?;
        self.inner.skills.of_session(id)
    }

    /// Removes what belongs to no session any more.
    pub(super) async fn sweep_skills(&self) -> Result<(), RuntimeError> {
        if self.inner.skills.is_empty() {
            return Ok(());
        }
        let records = self.inner.store.list(ListFilter::default()).await?;
        self.inner.skills.sweep(records.iter().map(|record| &record.id));
        Ok(())
    }
}

fn sources(request: &CreateSessionRequest) -> Result<Vec<Source>, RuntimeError> {
    let directory = Path::new(request.directory.as_deref().unwrap_or("."));
    let sources = request.skills.iter().flat_map(|skills| &skills.sources);
    let parsed = sources.map(|source| Source::parse(source, directory));
    parsed.collect::<Result<_, _>>().map_err(RuntimeError::InvalidRequest)
}
