//! Drives the agent through pipes, as a client does, but inside the test process.

mod client;
mod methods;
mod questions;
mod script_file;
mod scripts;
mod words;
