//! Processes that clients of the daemon run: under a guard as agents are, with bounded time, output and number.
//!
//! Knows no HTTP and no caller: the hub decides who may.

mod launch;
mod limits;
pub mod log;
pub(super) mod pipes;
mod process;
mod run;
mod table;

pub use process::UserProcess;
pub(crate) use run::run;
pub(crate) use table::Table;
