//! The recordings of all agents, replayed to universal events.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use omniglot_agents::{Adapter, Registry, replay};
use omniglot_schema::{SessionId, UniversalEvent};
use omniglot_testkit::captures::agent_of;
use omniglot_timeline::Identity;

pub(crate) struct Capture {
    /// `folder/file`, without its extension.
    pub(crate) name: String,
    pub(crate) sessions: Vec<Vec<UniversalEvent>>,
}

/// Returns all recordings, replayed once.
pub(crate) fn all() -> &'static [Capture] {
    static ALL: OnceLock<Vec<Capture>> = OnceLock::new();
    ALL.get_or_init(|| {
        let folders = entries(&root()).into_iter().filter(|path| path.is_dir());
        folders.flat_map(|folder| entries(&folder)).map(|file| replayed(&file)).collect()
    })
}

pub(crate) fn by_family() -> BTreeMap<&'static str, Vec<&'static Capture>> {
    let mut families: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for capture in all() {
        let (family, _) = capture.name.split_once('/').unwrap();
        families.entry(family).or_default().push(capture);
    }
    families
}

/// Returns the first session of a recording.
pub(crate) fn one(name: &str) -> Vec<UniversalEvent> {
    replayed(&root().join(format!("{name}.jsonl"))).sessions.remove(0)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniglot-agents/captures")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn replayed(file: &Path) -> Capture {
    let folder = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let agent = agent(folder);
    let events = |text: &String| {
        let identity =
            Identity { session_id: SessionId::parse("recorded").unwrap(), agent: folder.to_owned() };
        replay::events(&agent, text, identity).unwrap()
    };
    let sessions = replay::sessions(&agent, &fs::read_to_string(file).unwrap()).unwrap();
    Capture {
        name: format!("{folder}/{}", file.file_stem().unwrap().to_str().unwrap()),
        sessions: sessions.iter().map(events).collect(),
    }
}

fn agent(folder: &str) -> Adapter {
    let registry = Registry::default();
    *registry.get(agent_of(folder, registry.ids())).unwrap()
}
