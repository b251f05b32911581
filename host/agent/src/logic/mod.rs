//! The decisions of an agent: values in, values out. No clock, no I/O, no tasks.
//!
//! `AgentLogic` is told everything that happens, with the time, and answers with what must be made
//! durable, what drivers must do and what must be asked of the controller. The daemon and the
//! simulator carry the same answers out.

mod agent;
mod execution;
mod flow;
mod input;
mod keeper;
mod lease;
mod link;
mod moment;
mod record;
mod recovery;
mod restart;

pub use agent::AgentLogic;
pub use execution::{Change, Ending, Event, Execution, KILL_AGAIN, Stage, StopCause, Stopping};
pub use input::{Call, Input, NewLimits, Output, Recovered, Step, Then, Ticket, Trouble};
pub use keeper::{Keeper, Offer, Verdict};
pub use lease::Lease;
pub use link::{FIRST_RETRY, LONGEST_RETRY, RENEW_EVERY, RENEW_RETRY};
pub use moment::Moment;
pub use record::{Edit, HostRecord, Image, Obeys, Record, Refused};
pub use recovery::HOLD;
pub use restart::{MAX_HISTORY, Restarts};

#[cfg(test)]
pub(crate) mod tests;
