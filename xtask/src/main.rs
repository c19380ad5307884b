//! The project's chores as one program: `cargo xtask test|fuzz|soak|bench|openapi|events|sdk|ui|matrix|agents|drift|programs|dist`.
//!
//! Only the command line is read here; each chore is a module. Everything runs in the root of the
//! repository, needs no terminal and ends with a non-zero code when something is wrong.
#![expect(clippy::print_stdout, reason = "a chore tells its progress to whoever started it")]

mod agents;
mod bench;
mod dist;
mod drift;
mod events;
mod fuzz;
mod matrix;
mod openapi;
mod programs;
mod sdk;
mod shell;
mod soak;
mod test;
mod tools;
mod ui;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The chores of this repository")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every check that a commit must pass.
    Test(test::Args),
    /// Try the fuzz targets of the tests with many more cases and another seed, on the stable toolchain; cargo-fuzz and
    /// nightly are not used.
    Fuzz(fuzz::Args),
    /// Run the tests of endurance with their full counts, which takes minutes.
    Soak(soak::Args),
    /// Build for release, measure, and print the numbers beside their targets.
    #[command(name = "bench")]
    Harness(bench::Args),
    /// Write docs/openapi.json as the code generates it.
    Openapi {
        /// Write nothing; fail when the file differs.
        #[arg(long)]
        check: bool,
    },
    /// Write docs/EVENTS.md as the description and the recordings say.
    Events,
    /// Write the types of the SDKs as their generators make them from docs/openapi.json.
    Sdk,
    /// Build the screen in the browser from ui/src into ui/dist (needs npm).
    Ui(ui::Args),
    /// Write the README's table of what works with which agent, from the tests that passed.
    Matrix(matrix::Args),
    /// Install the pinned real agents below .agents/ (needs npm) and check their versions.
    Agents {
        /// Only these; all of them by default.
        names: Vec<String>,
    },
    /// Install the newest published versions of the tested agents beside the pinned ones (needs npm), run the tests of
    /// both, and print where they differ.
    Drift(drift::Args),
    /// Build the packages that are published, below target/dist: the program for Linux, npm packages, wheel, image.
    Dist(dist::Args),
    /// Find the programs of the machine that tests drive clients with, or install them.
    Programs,
}

fn main() -> ExitCode {
    let done = shell::enter_root().and_then(|()| match Cli::parse().chore {
        Chore::Test(args) => test::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Soak(args) => soak::run(&args),
        Chore::Harness(args) => bench::run(&args),
        Chore::Openapi { check: true } => openapi::check(),
        Chore::Openapi { check: false } => openapi::write(),
        Chore::Events => events::write(),
        Chore::Sdk => sdk::write(),
        Chore::Ui(args) => ui::run(&args),
        Chore::Matrix(args) => matrix::run(&args),
        Chore::Agents { names } => agents::run(&names),
        Chore::Drift(args) => drift::run(&args),
        Chore::Dist(args) => dist::run(&args),
        Chore::Programs => programs::run(),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
