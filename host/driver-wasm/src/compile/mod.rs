//! From the bytes of an artifact to code that can be started: inspect, compile in a process of its
//! own, keep in an authenticated cache, load.

mod cache;
mod failed;
mod key;
mod load;
mod prepare;
mod process;
mod worker;

pub(crate) use cache::ENGINE_VERSION;
pub(crate) use load::{HttpProgram, Program};
pub(crate) use prepare::Preparer;
pub use process::CompilerCommand;
pub use worker::compile_worker;
