//! One simulation: a disk, and daemons on it one after another, of which each but the last dies at some step; clients
//! and readers that outlive them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use omniglot_agents::Registry;
use omniglot_runtime::config::Config;
use omniglot_runtime::process::simulated;
use omniglot_runtime::{Backlog, Deadlines, Hub, HubConfig};
use omniglot_schema::SessionId;
use omniglot_store::Store;
use omniglot_store::simulation::{Chance as _, Disk, Flaw};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::all_sessions_reader::{self, AllSessions};
use crate::client::{self, Client};
use crate::dice::Dice;
use crate::history::{self, History};
use crate::reader::{self, ReaderId};
use crate::{agent, c_library};

/// How long the last daemon may take to finish everything, in simulated time.
const FINISH_TIMEOUT: Duration = Duration::from_secs(4 * 3600);
/// How long readers may take to see what is committed.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(300);

const CONFIG: &str = "snapshots = false\n[agents.scripted]\nprotocol = \"acp\"\ncommand = [\"scripted\"]\n";

pub(crate) struct World {
    pub(crate) dice: Arc<Dice>,
    pub(crate) disk: Disk,
    pub(crate) directory: TempDir,
    sessions: Vec<SessionId>,
    clients: Mutex<BTreeMap<SessionId, Client>>,
    histories: Mutex<BTreeMap<ReaderId, History>>,
    all_sessions: Mutex<AllSessions>,
    failure: Mutex<Option<String>>,
}

/// Returns a trace of what has happened, or what should not have.
pub(crate) fn simulate(seed: u64, flaw: Flaw) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    c_library::begin(seed);
    let dice = Arc::new(Dice::new(seed));
    let sessions = (0..=dice.below(2)).map(|n| SessionId::parse(&format!("s{n}")).unwrap()).collect();
    let world = Arc::new(World {
        disk: Disk::new(flaw),
        dice,
        directory,
        sessions,
        clients: Mutex::default(),
        histories: Mutex::default(),
        all_sessions: Mutex::new(AllSessions::new(String::new())),
        failure: Mutex::default(),
    });
    for deaths_to_come in (0..=world.dice.below(4)).rev() {
        world.live(deaths_to_come > 0);
        if let Some(failure) = world.failure() {
            return Err(failure);
        }
    }
    world.check_all()?;
    Ok(world.dice.trace())
}

impl World {
    /// Lets one daemon live until it dies, or until there is nothing left to do.
    fn live(self: &Arc<Self>, dies: bool) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let dice = self.dice.clone();
        simulated::run_instead(move |child| drop(tokio::spawn(agent::run(dice.clone(), child))));
        runtime.block_on(async {
            let ring_bytes = usize::try_from(self.dice.below(6_000)).unwrap();
            let (store, turns) = self.disk.open(self.dice.clone(), ring_bytes).unwrap();
            self.dice.die_after(dies.then(|| 1 + self.dice.below(700)));
            tokio::select! {
                biased;
                () = self.dice.death() => {}
                () = turns.run() => {}
                () = self.serve(store.clone()) => {}
            }
            turns.kill();
        });
        drop(runtime);
        self.dice.die_after(None);
        match dies.then(|| self.dice.below(3)) {
            None => {}
            Some(0) => self.disk.lose_power(&*self.dice),
            Some(_) => self.disk.lose_process(),
        }
    }

    async fn serve(self: &Arc<Self>, store: Store) {
        let registry = Registry::default();
        let config = Config::parse(Path::new("omniglot.toml"), CONFIG, &registry).unwrap();
        let hub = Hub::start(HubConfig {
            data_dir: self.directory.path().to_owned(),
            program: "omniglot".into(),
            config,
            registry,
            store: store.clone(),
            deadlines: Deadlines::default(),
            backlog: Backlog::Deliver,
        });
        let hub = hub.await.unwrap();
        let mut clients = tokio::task::JoinSet::new();
        for session in &self.sessions {
            clients.spawn(client::run(self.clone(), hub.clone(), session.clone()));
            tokio::spawn(client::decide(self.clone(), hub.clone(), session.clone()));
            for number in 0..3 {
                let id = ReaderId { session: session.clone(), number };
                tokio::spawn(reader::run(self.clone(), hub.clone(), id));
            }
        }
        tokio::spawn(all_sessions_reader::run(self.clone(), hub.clone()));
        let finished = async {
            clients.join_all().await;
            while hub.is_busy() {
                sleep(Duration::from_secs(1)).await;
            }
        };
        if timeout(FINISH_TIMEOUT, finished).await.is_err() {
            return self.fail("a turn does not end, or a message is not answered".to_owned());
        }
        self.catch_up().await;
        hub.shutdown().await;
        if let Err(error) = store.close().await {
            // Closing while the disk refuses tells so.
            self.dice.note(error.to_string());
        }
    }

    /// Waits until every reader has seen everything.
    async fn catch_up(&self) {
        let waiting = async {
            while self.laggard().is_some() {
                sleep(Duration::from_millis(500)).await;
            }
        };
        if timeout(CATCH_UP_TIMEOUT, waiting).await.is_err() {
            self.fail(self.laggard().unwrap_or_default());
        }
    }

    fn laggard(&self) -> Option<String> {
        let behind = |who: String, session: &SessionId, history: &History| {
            let (seen, all) = (history.events.len(), self.disk.committed(session).len());
            (seen < all).then(|| format!("{who} stands at {seen} of {all} events"))
        };
        let histories = self.histories.lock().unwrap();
        let of_one = histories.iter().find_map(|(id, seen)| behind(format!("{id:?}"), &id.session, seen));
        let all = self.all_sessions.lock().unwrap();
        let none = History::default();
        let of_all = self.sessions.iter().find_map(|session| {
            let history = all.histories.get(session).unwrap_or(&none);
            behind(format!("the reader of all sessions, in {session},"), session, history)
        });
        of_one.or(of_all)
    }

    fn check_all(&self) -> Result<(), String> {
        for (id, history) in &*self.histories.lock().unwrap() {
            history.check(&self.disk, &id.session)?;
        }
        for (session, history) in &self.all_sessions.lock().unwrap().histories {
            history.check(&self.disk, session)?;
        }
        self.sessions.iter().try_for_each(|session| history::check_log(&self.disk, session))
    }

    /// Ends the simulation: something has happened that must not.
    pub(crate) fn fail(&self, failure: String) {
        self.failure.lock().unwrap().get_or_insert(failure);
        self.dice.die();
    }

    fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap().clone()
    }

    pub(crate) fn client<T>(&self, session: &SessionId, with: impl FnOnce(&mut Client) -> T) -> T {
        with(self.clients.lock().unwrap().entry(session.clone()).or_default())
    }

    pub(crate) fn history<T>(&self, id: &ReaderId, with: impl FnOnce(&mut History) -> T) -> T {
        with(self.histories.lock().unwrap().entry(id.clone()).or_default())
    }

    pub(crate) fn all_sessions<T>(&self, with: impl FnOnce(&mut AllSessions) -> T) -> T {
        with(&mut self.all_sessions.lock().unwrap())
    }
}
