//! `omniglot sessions turns`: the turns of a session, by the ids that `fork --before` and `revert --turn` take.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_client::{Client, EventsQuery};
use omniglot_schema::{
    ContentPart, EventData, ItemKind, ItemRole, SessionId, StopReason, TurnId, UniversalEvent,
    UniversalEventType, UniversalItem,
};
use serde::Serialize;

use super::find;
use crate::cli::OneArgs;
use crate::print;
use crate::run::render::wire_name;
use crate::table::{Give, Sheet, Table};
use crate::times::ago;
use crate::with_daemon::with_daemon;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    turn_id: TurnId,
    /// Milliseconds since 1970.
    started_at: i64,
    /// Absent while the turn runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<StopReason>,
    /// The message that began the turn; absent for a turn that the agent began itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

pub(crate) async fn turns(args: &OneArgs) -> anyhow::Result<ExitCode> {
    let turns = with_daemon(&args.talk.data, async |client| {
        let id = find::session(client, &args.id).await?.info.session_id;
        read(client, &id).await
    })
    .await?;
    if args.talk.json {
        turns.iter().try_for_each(print::json)?;
    } else if turns.is_empty() {
        print::note("the session has no turn yet");
    } else {
        print::text(&table(&turns, Timestamp::now()).render(Sheet::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn read(client: &Client, id: &SessionId) -> anyhow::Result<Vec<Turn>> {
    let types =
        [UniversalEventType::TurnStarted, UniversalEventType::TurnEnded, UniversalEventType::ItemCompleted];
    let mut query = EventsQuery { types: types.to_vec(), ..EventsQuery::default() };
    let mut turns = vec![];
    loop {
        let page = client.events(id, &query).await?;
        query.offset = page.events.last().map_or(query.offset, |event| event.sequence);
        page.events.into_iter().for_each(|event| add(&mut turns, event));
        if !page.has_more {
            return Ok(turns);
        }
    }
}

fn add(turns: &mut Vec<Turn>, event: UniversalEvent) {
    let started_at = event.time.as_millisecond();
    match (event.data, turns.last_mut()) {
        (EventData::TurnStarted(data), _) => {
            turns.push(Turn { turn_id: data.turn_id, started_at, stop_reason: None, message: None });
        }
        (EventData::TurnEnded(data), Some(turn)) => turn.stop_reason = Some(data.metadata.stop_reason),
        (EventData::ItemCompleted(data), Some(turn)) if turn.message.is_none() => {
            turn.message = said(&data.item);
        }
        _ => {}
    }
}

/// Returns the words of a person.
fn said(item: &UniversalItem) -> Option<String> {
    let is_message = item.kind == ItemKind::Message && item.role == Some(ItemRole::User);
    let texts = item.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    is_message.then(|| texts.collect::<Vec<_>>().join(" "))
}

fn table(turns: &[Turn], now: Timestamp) -> Table {
    let mut table = Table::new(&[
        ("TURN", Give::Whole),
        ("WHEN", Give::Whole),
        ("END", Give::Whole),
        ("MESSAGE", Give::Shrinks),
    ]);
    for turn in turns {
        table.row([
            turn.turn_id.as_str().to_owned(),
            ago(now, turn.started_at),
            turn.stop_reason.as_ref().map_or_else(|| "running".to_owned(), wire_name),
            turn.message.clone().unwrap_or_else(|| "(begun by the agent)".to_owned()),
        ]);
    }
    table
}
