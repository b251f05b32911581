//! One execution on its host: a state machine that only goes forward between attempts and ends.
//!
//! `table` is its transition table, `machine` what each transition does, `stopping` how it is
//! brought to its end, `change` and `turn` how it comes from one version to another, `verdict` what
//! an end means, `observe` how it is told.

mod change;
mod event;
mod machine;
mod observe;
mod stage;
mod stopping;
mod table;
#[cfg(test)]
mod tests;
mod turn;
mod verdict;

pub use change::Change;
pub use event::Event;
pub use machine::Execution;
pub use stage::{Ending, Stage, StopCause, Stopping};
pub use stopping::KILL_AGAIN;
