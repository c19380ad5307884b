//! A recording of a connection that several sessions shared, as one recording for each of them.
//!
//! The link decides which session a line belongs to, as with a live agent. Lines of others are left empty,
//! so that every line keeps its number.

use std::collections::BTreeMap;

use super::ReplayError;
use super::capture::{self, Step};
use crate::adapter::Adapter;
use crate::contract::{Link, Route, SlotId};

/// The recordings of the sessions in a recording of this agent, in the order of their beginning.
pub fn sessions(agent: &Adapter, capture: &str) -> Result<Vec<String>, ReplayError> {
    match agent.shared() {
        Some(mut shared) => split(shared.link.as_mut(), capture),
        None => Ok(vec![capture.to_owned()]),
    }
}

fn split(link: &mut dyn Link, capture: &str) -> Result<Vec<String>, ReplayError> {
    let lines: Vec<&str> = capture.lines().collect();
    let mut kept: BTreeMap<SlotId, Vec<usize>> = BTreeMap::new();
    // What is said to all while nobody is there, the first to come hears, as when the agent is alive.
    let mut unheard = Vec::new();
    for row in capture::read(capture)? {
        let all = |kept: &BTreeMap<SlotId, Vec<usize>>| kept.keys().copied().collect::<Vec<_>>();
        let recipients = match &row.step {
            Step::Sent(frame) => link.recorded(frame).into_iter().collect(),
            // In a recording the answers are there already.
            Step::Frame(frame) => match link.route(frame, &mut Vec::new()) {
                Route::Session(slot) => vec![slot],
                Route::All if kept.is_empty() => {
                    unheard.push(row.line);
                    vec![]
                }
                Route::All => all(&kept),
                Route::Mine(_) | Route::Nobody => vec![],
            },
            Step::Garbage(_) | Step::Started { .. } | Step::Exited(_) | Step::Remark => all(&kept),
        };
        for slot in recipients {
            kept.entry(slot).or_insert_with(|| std::mem::take(&mut unheard)).push(row.line);
        }
    }
    Ok(kept.into_values().map(|rows| only(&lines, &rows)).collect())
}

fn only(lines: &[&str], rows: &[usize]) -> String {
    let mut rows = rows.iter().peekable();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if rows.next_if(|row| **row == index + 1).is_some() {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}
