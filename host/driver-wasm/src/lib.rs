//! The Wasm driver: runs components of WASI 0.2 and 0.3 and wasip1 modules on wasmtime.
//!
//! The only crate that compiles an engine. It decides nothing about jobs: it gets an
//! `ExecutionSpec` and keeps its limits. Guests run on a tokio runtime of their own.
//!
//! `unsafe` is used in one place, `compile::load`, with its reason.

mod accounts;
mod compile;
mod driver;
mod engine;
mod guest;
mod http;
pub mod limits;
mod outbound;
mod run;
mod settings;

pub use compile::{CompilerCommand, compile_worker};
pub use driver::WasmDriver;
pub use outbound::{AddressRange, OutboundPolicy};
pub use settings::{PoolMode, WasmSettings};
