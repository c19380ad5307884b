//! A reader of all sessions at once: it sees every event of every session once, in the order of its session, from any
//! place at which it has stopped.

use std::collections::BTreeMap;
use std::sync::Arc;

use omniglot_runtime::{AllEventsFilter, AllEventsPiece, CommitPosition, Hub};
use omniglot_schema::SessionId;
use omniglot_store::simulation::Chance as _;

use crate::history::History;
use crate::world::World;

#[derive(Debug, Clone)]
pub(crate) struct AllSessions {
    epoch: String,
    position: CommitPosition,
    pub(crate) histories: BTreeMap<SessionId, History>,
}

impl AllSessions {
    pub(crate) fn new(epoch: String) -> Self {
        Self { epoch, position: CommitPosition { no: 0, partly: None }, histories: BTreeMap::new() }
    }
}

/// Reads for as long as the daemon lives.
pub(crate) async fn run(world: Arc<World>, hub: Hub) {
    loop {
        world.dice.pause().await;
        if let Err(failure) = visit(&world, &hub).await {
            return world.fail(failure);
        }
    }
}

async fn visit(world: &World, hub: &Hub) -> Result<(), String> {
    let Ok(head) = hub.commit_head().await else { return Ok(()) };
    let position = world.all_sessions(|reader| {
        if reader.epoch != head.epoch {
            *reader = AllSessions::new(head.epoch.clone());
        }
        reader.position
    });
    let mut stream = hub.all_events(position, AllEventsFilter::default());
    for _ in 0..world.dice.below(40) {
        let Ok(piece) = stream.next(usize::try_from(1 + world.dice.below(4_000)).unwrap()).await else {
            return Ok(());
        };
        let AllEventsPiece::Events { no, last, events } = piece else {
            return Err(format!("the stream over all sessions has {piece:?}"));
        };
        for event in events {
            let told: serde_json::Value = serde_json::from_slice(&event.json).unwrap();
            let session = SessionId::parse(told["session_id"].as_str().unwrap()).unwrap();
            world.all_sessions(|reader| {
                let history = reader.histories.entry(session.clone()).or_default();
                let after = history.events.len() as u64;
                reader.position = CommitPosition { no, partly: (event.seq < last).then_some(event.seq) };
                history.take(&world.disk, &session, after, &event)
            })?;
            world.dice.note(("all", session.as_str(), event.seq));
        }
        world.dice.pause().await;
    }
    Ok(())
}
