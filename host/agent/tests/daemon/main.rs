//! The daemon against a scripted controller over HTTP and the fake driver. Waits for conditions,
//! never for times.

mod controller;
mod executions;
mod logs;
mod restarts;
mod rig;
