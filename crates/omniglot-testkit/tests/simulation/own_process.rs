//! Each simulation is a process of its own: the program runs itself, so that nothing which came before decides what
//! chance gives.

use std::ops::Range;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use omniglot_store::simulation::Flaw;

use crate::world;

/// Names the simulation that a process shall run: seed and flaw.
const ORDER: &str = "OMNIGLOT_SIMULATE";
/// The test that runs it.
const TEST: &str = "every_reader_sees_a_beginning_of_the_log_in_any_order_of_steps";
/// Stands before the verdict in the output.
const FAILED: &str = "simulation failed: ";
const TRACE: &str = "simulation trace: ";

const FLAWS: [Flaw; 6] = [
    Flaw::None,
    Flaw::AnswersBeforeCommit,
    Flaw::ForgetsUnflushed,
    Flaw::SkipsEvents,
    Flaw::LosesWakeUps,
    Flaw::FlushesNothing,
];

/// Runs a simulation in its own process; returns its trace, or why it failed.
pub(crate) fn simulate(seed: u64, flaw: Flaw) -> Result<String, String> {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", TEST, "--nocapture"]).env(ORDER, format!("{seed} {flaw:?}"));
    let output = program.output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let line = |mark| said.lines().find_map(|line| line.split_once(mark)).map(|(_, rest)| rest.to_owned());
    match (line(FAILED), line(TRACE)) {
        (Some(failure), _) => Err(failure),
        (None, Some(trace)) if output.status.success() => Ok(trace),
        _ => Err(said),
    }
}

/// Simulates all of them, a few at a time; returns the failures.
pub(crate) fn simulate_all(seeds: Range<u64>, flaw: Flaw) -> Vec<String> {
    let (next, failures) = (AtomicU64::new(seeds.start), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < seeds.end
                {
                    if let Err(failure) = simulate(seed, flaw) {
                        failures.lock().unwrap().push(format!("OMNIGLOT_SEED={seed}: {failure}"));
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

pub(crate) fn is_ordered() -> bool {
    std::env::var_os(ORDER).is_some()
}

/// Runs the simulation that this process was started for, and prints its verdict.
#[expect(clippy::print_stdout, reason = "the process that has started this one reads it")]
pub(crate) fn obey() {
    let order = std::env::var(ORDER).unwrap();
    let (seed, flaw) = order.split_once(' ').unwrap();
    let seed = seed.parse().unwrap();
    let flaw = FLAWS.into_iter().find(|known| format!("{known:?}") == flaw).unwrap();
    // A thread of its own has random numbers of its own.
    let verdict = std::thread::spawn(move || world::simulate(seed, flaw)).join().unwrap();
    match verdict {
        Ok(trace) => println!("\n{TRACE}{trace}"),
        Err(failure) => println!("\n{FAILED}{failure}"),
    }
}
