//! The journal in memory: the whole contract without clock and I/O. A [`MemoryStore`] is the
//! "disk", which outlives the journals that are opened on it, so that a crash can be played.

mod journal;
mod snapshots;
mod state;

pub use state::{MemoryStore, Sharing};
