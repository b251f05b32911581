//! The wasmtime engine of a host: its configuration, its pool, its clock.

mod config;
mod pool;
mod ticker;

pub(crate) use config::{EngineSet, compile_engine, open_files};
pub(crate) use ticker::Ticker;
