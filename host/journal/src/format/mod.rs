//! How bytes are laid out, the same for memory and disk. No I/O.

#![cfg_attr(not(feature = "sled"), allow(dead_code, reason = "some of it is for the disk only"))]

pub(crate) mod chain;
pub(crate) mod envelope;
pub(crate) mod frame;
pub mod limits;
pub(crate) mod meta;
pub(crate) mod snapshot;
