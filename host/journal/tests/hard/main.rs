//! What only a disk can show: `kill -9`, power cuts, damaged files, two processes, a full disk, and
//! that start-up does not grow. One binary, because each test starts it again as the child that is
//! killed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "this is a test, and its helpers are outside of #[test]"
)]

mod child;
mod damage;
mod growth;
mod model;
mod power;
mod processes;
mod rig;
mod same;
mod sigkill;
mod space;
