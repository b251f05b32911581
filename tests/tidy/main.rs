//! The rules of the project, as tests: what neither the compiler nor clippy can see.
//! Not tests of what Pliant does. Each module is one rule and says where the rule comes from.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is test code; clippy sees that only inside of test functions"
)]

mod dependencies;
mod edges;
mod error_tables;
mod guests;
mod links;
mod machine_paths;
mod manifests;
mod opening_lines;
mod sizes;
mod tree;
mod words;
