//! Sessions, log, rings and cursors of the daemon on one thread, in simulated time, with chance in every step: whatever
//! happens, each reader has seen a beginning of the log, and what was answered is in it.
//!
//! `world` has the rules of the game, `history` the verdict. A failing seed is printed; it fails again with
//! `OMNIGLOT_SEED=N cargo nextest run -p omniglot-testkit --test simulation`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed assumption fails the test")]

mod agent;
mod all_sessions_reader;
mod c_library;
mod client;
mod dice;
mod history;
mod own_process;
mod reader;
mod world;

use omniglot_store::simulation::Flaw;

/// `cargo xtask soak --counts` tries more.
const SEEDS: u64 = 60;
/// The most seeds that are tried until a flaw is found.
const SEEDS_OF_A_FLAW: u64 = 60;

#[test]
fn every_reader_sees_a_beginning_of_the_log_in_any_order_of_steps() {
    if own_process::is_ordered() {
        return own_process::obey();
    }
    let number = |name| std::env::var(name).ok().map(|number| number.parse().unwrap());
    let seeds = match number("OMNIGLOT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OMNIGLOT_SEEDS").unwrap_or(SEEDS),
    };
    let failures = own_process::simulate_all(seeds, Flaw::None);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_seed_repeats_itself_to_the_last_step() {
    for seed in 0..4 {
        let traces = [(); 2].map(|()| own_process::simulate(seed, Flaw::None).unwrap());
        assert_eq!(traces[0], traces[1], "seed {seed}");
        assert!(!traces[0].is_empty());
    }
}

/// The simulation can fail: each of these logs breaks a promise, and is found.
#[test]
fn a_log_that_breaks_its_promise_is_found() {
    let found = |flaw| {
        let failure = (0..SEEDS_OF_A_FLAW).find_map(|seed| own_process::simulate(seed, flaw).err());
        failure.unwrap_or_else(|| panic!("{flaw:?} was not found within {SEEDS_OF_A_FLAW} seeds"))
    };
    for (flaw, complaint) in [
        (Flaw::AnswersBeforeCommit, "before it was committed"),
        (Flaw::ForgetsUnflushed, " of s"),
        (Flaw::SkipsEvents, "was served after"),
        (Flaw::LosesWakeUps, "stands at"),
        (Flaw::FlushesNothing, "before it was flushed"),
    ] {
        let failure = found(flaw);
        assert!(failure.contains(complaint), "{flaw:?}: {failure}");
    }
}
