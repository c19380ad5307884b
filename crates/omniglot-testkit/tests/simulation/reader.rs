//! A reader of one session: it reads in pieces of any size, falls behind, hangs up, and comes back with any cursor that
//! it ever had.

use std::sync::Arc;

use omniglot_runtime::Hub;
use omniglot_schema::SessionId;
use omniglot_store::simulation::Chance as _;
use omniglot_store::{Next, StoreError};

use crate::history::History;
use crate::world::World;

/// Names a reader.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReaderId {
    pub(crate) session: SessionId,
    pub(crate) number: u64,
}

/// Reads for as long as the daemon lives.
pub(crate) async fn run(world: Arc<World>, hub: Hub, id: ReaderId) {
    loop {
        world.dice.pause().await;
        if let Err(failure) = visit(&world, &hub, &id).await {
            return world.fail(failure);
        }
    }
}

/// One connection.
async fn visit(world: &World, hub: &Hub, id: &ReaderId) -> Result<(), String> {
    let Ok(record) = hub.record(&id.session).await else { return Ok(()) };
    let seen = world.history(id, |history| {
        if history.epoch != record.epoch {
            *history = History { epoch: record.epoch.clone(), events: vec![] };
        }
        history.events.len() as u64
    });
    let mut cursor = if world.dice.one_in(3) { world.dice.below(seen + 1) } else { seen };
    let mut log = hub.subscribe(&record, cursor);
    let pieces = if world.dice.one_in(3) { u64::MAX } else { world.dice.below(12) };
    for _ in 0..pieces {
        let bytes = if world.dice.one_in(2) { 1 } else { world.dice.below(8_000) };
        let events = match log.next(usize::try_from(bytes).unwrap()).await {
            Ok(Next::Events(events)) => events,
            Ok(Next::Deleted) => return Ok(()),
            Err(StoreError::Closed) => return Ok(()),
            Err(error) => return Err(format!("reader {id:?} at {cursor}: {error}")),
        };
        for event in events {
            world.history(id, |history| history.take(&world.disk, &id.session, cursor, &event))?;
            cursor = event.seq;
            world.dice.note((id.session.as_str(), id.number, event.seq, event.json.len()));
        }
        world.dice.pause().await;
    }
    Ok(())
}
