//! One execution on its host: a state machine that only goes forward between attempts and ends.
//!
//! `table` is its transition table, `machine` what each transition does, `verdict` what an end
//! means, `observe` how it is told.

mod machine;
mod observe;
mod stage;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use machine::{Event, Execution, KILL_AGAIN};
pub use stage::{Stage, StopCause, Stopping};
