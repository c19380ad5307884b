//! A client of one session: it posts messages until each is answered, hangs up, cancels, and decides on permissions.
//! It outlives the daemon.

use std::sync::Arc;
use std::time::Duration;

use omniglot_runtime::{Hub, IdempotencyKey, RuntimeError};
use omniglot_schema::{
    CreateSessionRequest, EventData, MessageRequest, PermissionReply, QueueOnCancel, SessionId,
    UniversalEvent,
};
use omniglot_store::Next;
use omniglot_store::simulation::Chance as _;
use serde_json::json;

use crate::world::World;

/// The messages that a client posts to its session.
pub(crate) const MESSAGES: usize = 5;

#[derive(Debug, Default, Clone)]
pub(crate) struct Client {
    created: bool,
    answered: usize,
}

/// Returns the text of a message, which occurs nowhere else.
pub(crate) fn message(session: &SessionId, number: usize) -> String {
    format!("message {number} to {session}, please")
}

/// Works until everything was answered, or the daemon is gone.
pub(crate) async fn run(world: Arc<World>, hub: Hub, session: SessionId) {
    create(&world, &hub, &session).await;
    while let number = world.client(&session, |client| client.answered)
        && number < MESSAGES
    {
        world.dice.pause().await;
        post(&world, &hub, &session, number).await;
        if world.dice.one_in(4) {
            world.dice.pause().await;
            // A session that is not at work has nothing to cancel.
            drop(hub.cancel(&session, QueueOnCancel::Keep).await);
        }
    }
}

async fn create(world: &World, hub: &Hub, session: &SessionId) {
    let request = json!({ "agent": "scripted", "directory": world.directory.path() });
    let request: CreateSessionRequest = serde_json::from_value(request).unwrap();
    loop {
        match hub.create(session.clone(), request.clone()).await {
            Ok(_) if world.client(session, |client| client.created) => {
                return world.fail(format!("{session} was created, and is gone"));
            }
            Ok(_) | Err(RuntimeError::SessionExists(_)) => {
                return world.client(session, |client| client.created = true);
            }
            Err(_) => world.dice.pause().await,
        }
    }
}

/// Posts one message, with the same key however often that takes.
async fn post(world: &World, hub: &Hub, session: &SessionId, number: usize) {
    let text = message(session, number);
    let request: MessageRequest = serde_json::from_value(json!({ "message": text })).unwrap();
    let key = IdempotencyKey { key: format!("key {number}"), body_hash: format!("hash {number}") };
    let posting = hub.post(session, request, Some(key));
    // It may hang up before it is answered, and ask again.
    let limit = match world.dice.one_in(4) {
        true => Duration::from_millis(world.dice.below(20)),
        false => Duration::from_secs(60),
    };
    if let Ok(Ok(_)) = tokio::time::timeout(limit, posting).await {
        if !world.disk.has_flushed(session, &text) {
            world.fail(format!("{text:?} was answered before it was flushed"));
        }
        world.dice.note(("answered", session.as_str(), number));
        world.client(session, |client| client.answered = number + 1);
    }
}

/// Decides on what the agent asks for, sooner or later.
pub(crate) async fn decide(world: Arc<World>, hub: Hub, session: SessionId) {
    loop {
        world.dice.pause().await;
        let Ok(record) = hub.record(&session).await else { continue };
        let mut log = hub.subscribe(&record, 0);
        while let Ok(Next::Events(events)) = log.next(64 * 1024).await {
            for event in events {
                let event: UniversalEvent = serde_json::from_slice(&event.json).unwrap();
                if let EventData::PermissionRequested(request) = event.data {
                    world.dice.pause().await;
                    let reply =
                        if world.dice.one_in(3) { PermissionReply::Reject } else { PermissionReply::Once };
                    // Somebody else may have resolved it.
                    drop(hub.reply_permission(&session, request.permission_id.as_str(), reply, None).await);
                }
            }
        }
    }
}
