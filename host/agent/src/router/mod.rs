//! The router of a host: one HTTP address that leads by host name and path to the ready tasks of jobs.
//!
//! `table` finds the route and the task, `proxy` passes a request on, `server` listens. The table comes from
//! the controller and stays in force while that is away. A task that is asked to stop has left the table
//! before its guest ends, so what is under way is answered.

mod proxy;
mod server;
mod table;

pub use server::{Router, RouterConfig, RouterError};
