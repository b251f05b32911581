//! Tests of the whole logic: a rig with a clock and a ledger in memory, data tests, properties.

mod assignments;
mod changes;
mod life;
mod link;
mod properties;
mod restarts;
pub(crate) mod rig;
