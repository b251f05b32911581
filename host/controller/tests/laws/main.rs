//! Laws of the controller over HTTP, on a journal in memory that fails on command.
//!
//! No agent and no engine: jobs are submitted and wait.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod frames;
mod http;
mod journal;
mod rig;
mod strict;
