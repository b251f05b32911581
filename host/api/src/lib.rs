//! The HTTP contract of Pliant: job files, bodies, routes, problem details, event frames.
//!
//! Shared by the controller, the agent and every client. Serves nothing and calls nobody.

pub mod parse;
pub mod problem;
