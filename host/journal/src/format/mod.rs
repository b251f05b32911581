//! How bytes are laid out, the same for memory and disk. No I/O.

pub(crate) mod chain;
pub(crate) mod envelope;
pub(crate) mod frame;
pub mod limits;
pub(crate) mod meta;
pub(crate) mod snapshot;
