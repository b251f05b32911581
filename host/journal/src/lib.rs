//! Durable ordered batches of opaque bytes behind one trait. It is the only place that knows how
//! bytes become durable; it knows nothing of facts, commands or state.
//!
//! * [`Journal`] is the contract, [`Opener`] makes one (again and again: after trouble a journal is
//!   closed and re-opened, never repaired in place).
//! * [`memory`] keeps everything in memory, [`faulty`] wraps another journal and injects trouble by
//!   a script or a seed; both without clock and I/O, for tests and the simulator.
//! * `durable` (feature `sled`, on by default) is the embedded journal on disk.
//! * [`store`] is a small durable map of the same shape, for the agent's ledger.
//! * [`conformance`] (feature `conformance`) is the suite of laws that every journal passes.
//!
//! The reference with all files, errors and ways out is `docs/reference/journal.md`.

mod contract;
mod format;
mod reader;
mod space;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(feature = "sled")]
pub mod durable;
pub mod faulty;
pub mod memory;
pub mod store;

pub use contract::*;
pub use format::limits;
pub use space::NEW_WORK_FREE_PERMILLE;
