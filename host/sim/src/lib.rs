//! Simulated cluster: the real core, engine, leases and agent logic on virtual time.
//!
//! Only clock, network, disk and drivers are simulated; everything that decides is production code.
//! The same seed gives the same run. Two uses share it: fault runs ([`faults`]) and transcripts
//! ([`scenario`]).

mod book;
mod chance;
pub mod faults;
mod host;
mod node;
mod oracle;
pub mod scenario;
mod users;
mod world;

pub use book::{Coverage, MUST_HAPPEN};
pub use chance::Chance;
pub use world::{Faults, World};
