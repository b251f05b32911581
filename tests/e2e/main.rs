//! End to end: the real binary, real guests, real sockets, real kills.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod crash;
mod limits;
mod refusals;
mod registry;
mod rollouts;
mod stories;
mod terminal;
mod versions;
