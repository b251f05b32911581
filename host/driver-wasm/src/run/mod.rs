//! One attempt of an execution: starting, keeping its processor share, ending.

mod command;
mod exit;
mod launch;
mod live;
mod ports;
mod quota;

pub(crate) use exit::cause_of;
pub(crate) use launch::{Core, launch};
pub(crate) use live::Registry;
pub(crate) use quota::Metered;
