//! The daemon against a scripted controller over HTTP and the fake driver. Waits for conditions,
//! never for times.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is test code; clippy sees that only inside of test functions"
)]

mod controller;
mod executions;
mod ledger;
mod logs;
mod restarts;
mod rig;
