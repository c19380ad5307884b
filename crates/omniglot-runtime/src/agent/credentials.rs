//! Whether each agent has credentials that its provider takes: what its sessions have shown, else what is found in
//! the places where the agent itself looks. Values are never read.
//!
//! Shared by the hub, which opens agents, and the sessions, whose turns fail or succeed. Nothing of it is
//! kept over a restart.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniglot_agents::adapter::Credential;

#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// By agent: the trial that showed last, and whether they were accepted.
    shown: Arc<Mutex<HashMap<String, (Trial, bool)>>>,
}

/// Where they are put to the test. Most agents open a session without a look at their key, so that an
/// opening takes nothing back of what a turn has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trial {
    Opening,
    Turn,
}

impl Credentials {
    /// Returns what the agent's sessions have shown; `None` before the first.
    pub(crate) fn shown(&self, agent: &str) -> Option<bool> {
        self.lock().get(agent).map(|(_, accepted)| *accepted)
    }

    pub(crate) fn refused(&self, agent: &str, trial: Trial) {
        self.lock().insert(agent.to_owned(), (trial, false));
    }

    pub(crate) fn accepted(&self, agent: &str, trial: Trial) {
        let mut shown = self.lock();
        if shown.get(agent).is_none_or(|(before, accepted)| *accepted || *before <= trial) {
            shown.insert(agent.to_owned(), (trial, true));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Trial, bool)>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of a place, never its content.
pub(crate) fn name(place: &Credential) -> Option<String> {
    match place {
        Credential::Env(name) | Credential::File(name) => Some((*name).to_owned()),
        Credential::FileBelow { variable, path } => Some(format!("${variable}/{path}")),
        Credential::NotNeeded => None,
    }
}

/// Whether any of these places has something for an agent with these variables.
pub(crate) fn found(places: &[Credential], variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let below = |name: &str, path: &str| set(name).is_some_and(|dir| is_filled(&Path::new(&dir).join(path)));
    let is_there = |place: &Credential| match *place {
        Credential::Env(name) => set(name).is_some(),
        Credential::File(path) => match path.strip_prefix("~/") {
            Some(path) => below("HOME", path),
            None => is_filled(Path::new(path)),
        },
        Credential::FileBelow { variable, path } => below(variable, path),
        Credential::NotNeeded => false,
    };
    places.iter().any(is_there)
}

/// Agents write an empty object before anybody has logged in, or leave one after a logout.
const EMPTY_OBJECT: u64 = "{\n}\n".len() as u64;

fn is_filled(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > EMPTY_OBJECT)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_turn_has_shown_only_a_turn_takes_back() {
        let credentials = Credentials::default();
        assert_eq!(credentials.shown("a"), None);
        credentials.refused("a", Trial::Opening);
        assert_eq!((credentials.shown("a"), credentials.shown("b")), (Some(false), None));
        credentials.accepted("a", Trial::Opening);
        assert_eq!(credentials.shown("a"), Some(true));
        credentials.refused("a", Trial::Turn);
        credentials.accepted("a", Trial::Opening);
        assert_eq!(credentials.shown("a"), Some(false));
        credentials.accepted("a", Trial::Turn);
        assert_eq!(credentials.shown("a"), Some(true));
    }

    const PLACES: &[Credential] = &[
        Credential::Env("TOY_KEY"),
        Credential::File("~/.toy/login.json"),
        Credential::FileBelow { variable: "TOY_HOME", path: "login.json" },
    ];

    #[test]
    fn a_variable_or_a_file_that_is_not_empty_is_a_credential() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap();
        let toy = dir.path().join(".toy");
        let with =
            |name: &str, value: &str| found(PLACES, |asked| Some(value.to_owned()).filter(|_| asked == name));
        assert!(with("TOY_KEY", "k") && !with("TOY_KEY", "") && !with("OTHER_KEY", "k"));
        fs::create_dir_all(toy.join("login.json")).unwrap();
        assert!(!with("HOME", home), "a directory is no login");
        fs::remove_dir(toy.join("login.json")).unwrap();
        fs::write(toy.join("login.json"), "").unwrap();
        assert!(!with("HOME", home), "an empty file is no login");
        fs::write(toy.join("login.json"), "{}\n").unwrap();
        assert!(!with("HOME", home), "an empty object is no login");
        fs::write(toy.join("login.json"), r#"{"key":"k"}"#).unwrap();
        assert!(with("HOME", home) && with("TOY_HOME", toy.to_str().unwrap()));
        assert!(!found(PLACES, |_| None));
        assert_eq!(
            PLACES.iter().filter_map(name).collect::<Vec<_>>(),
            ["TOY_KEY", "~/.toy/login.json", "$TOY_HOME/login.json"]
        );
    }
}
