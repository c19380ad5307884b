//! The recordings, replayed to the events of their sessions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use omniglot_agents::{Adapter, Registry, replay};
use omniglot_schema::{SessionId, UniversalEvent};
use omniglot_server::faces::opencode::project::SessionSummary;
use omniglot_testkit::captures::agent_of;
use omniglot_timeline::Identity;

/// One session of one recording.
pub(crate) struct Recording {
    /// Folder and file; with a number where the file has several sessions.
    pub(crate) name: String,
    pub(crate) events: Vec<UniversalEvent>,
}

/// Returns all recordings, by folder.
pub(crate) fn recordings() -> BTreeMap<String, Vec<Recording>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniglot-agents/captures");
    let folders = sorted(&root).into_iter().filter(|path| path.is_dir());
    let read = |folder: PathBuf| {
        let name = file_name(&folder);
        let files =
            sorted(&folder).into_iter().filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
        (name.clone(), files.flat_map(|file| sessions(&name, &file)).collect())
    };
    folders.map(read).collect()
}

pub(crate) fn facts() -> SessionSummary {
    SessionSummary {
        session: SessionId::parse("recorded").unwrap(),
        agent: "agent".into(),
        directory: "/workspace/demo".into(),
        worktree: "/workspace/demo".into(),
        project: "global".into(),
        created: 0,
        title: None,
        model: None,
        agent_mode: None,
    }
}

fn sessions(folder: &str, file: &Path) -> Vec<Recording> {
    let agent = agent(folder);
    let sessions = replay::sessions(&agent, &fs::read_to_string(file).unwrap()).unwrap();
    let several = sessions.len() > 1;
    let read = |(number, text): (usize, &String)| {
        let identity =
            Identity { session_id: SessionId::parse("recorded").unwrap(), agent: folder.to_owned() };
        let events = replay::events(&agent, text, identity).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let number = if several { format!(" session {}", number + 1) } else { String::new() };
        Recording { name: format!("{folder}/{stem}{number}"), events }
    };
    sessions.iter().enumerate().map(read).collect()
}

fn agent(folder: &str) -> Adapter {
    let registry = Registry::default();
    *registry.get(agent_of(folder, registry.ids())).unwrap()
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
