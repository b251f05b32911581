//! The embedded journal: sled 0.34.7 in the one shape that was shown to be durable, with every
//! guard round it. `vessel` is what the journal and the durable map share: lock file, witness,
//! copies after an unclean stop, and the engine.

mod appender;
mod aside;
mod before;
mod check;
pub(crate) mod engine;
pub(crate) mod guarded;
pub(crate) mod head;
mod inspect;
pub(crate) mod io;
mod layout;
pub(crate) mod lock;
mod open;
mod parts;
mod reading;
mod salvage;
mod shared;
mod snapshots;
mod space;
pub(crate) mod vessel;
pub(crate) mod walk;

pub use inspect::{Inspection, dump, inspect};
pub use open::{DurableOptions, DurableStore};
pub use salvage::{SalvageError, Salvaged, SoundBatches, salvage};
pub use space::{Space, SpaceProbe, SystemSpace};

#[cfg(test)]
mod tests;
