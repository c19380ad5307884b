//! An agent that misbehaves: `misbehaving WIRE FAULT` speaks the wire of one agent, well enough for a turn, and has
//! one fault. Further arguments are those that the adapter adds.

#![expect(clippy::print_stderr, reason = "an agent writes to its stderr")]

mod fault;
mod output;
mod server;
mod wire;

use std::io::{BufRead as _, stdin};

use serde_json::Value;

use fault::Fault;
use output::{Agent, Output};
use wire::{Message, Wire};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (wire, fault) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    match (wire.as_str(), Wire::parse(&wire), Fault::parse(&fault)) {
        ("opencode", None, Some(fault)) => server::serve(fault),
        (_, Some(wire), Some(fault)) => reads_lines(wire, &Agent::new(fault, Output::Stdout)),
        _ => {
            eprintln!("usage: misbehaving WIRE FAULT");
            std::process::exit(2);
        }
    }
}

fn reads_lines(mut wire: Wire, agent: &Agent) {
    agent.starts();
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        match wire.hear(&message) {
            Message::Setup(answers) => agent.sets_up(&answers),
            Message::Prompt(turn) => {
                agent.works(&turn);
                if wire.ends_after_a_turn() {
                    return;
                }
            }
            Message::Other => {}
        }
    }
    agent.input_ended();
}
