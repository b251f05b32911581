//! The HTTP contract of Pliant: job files, bodies, routes, problem details, event frames.
//!
//! Shared by the controller, the agent and every client. Serves nothing and calls nobody.

pub mod body;
pub mod headers;
pub mod parse;
pub mod problem;
pub mod routes;
pub mod sse;
