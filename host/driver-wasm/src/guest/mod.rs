//! What a guest sees of its host: its store, its limits, its output, its grants.

mod limiter;
mod linker;
mod output;
mod setup;
mod state;

pub(crate) use linker::linker;
pub(crate) use output::{GuestLog, now_ms};
pub(crate) use setup::GuestSetup;
pub(crate) use state::GuestState;
