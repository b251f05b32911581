//! The service round the core: writer loop, HTTP API, clock, artifacts.
//!
//! Decides nothing by itself: every rule is in `pliant_core`.

pub mod artifacts;
mod clock;
mod config;
mod hosts;
mod http;
mod published;
mod service;
mod space;
pub mod writer;

/// How the journal's batches are read, for tools that look at a closed one.
pub mod codec {
    pub use pliant_core::{Decision, decode_batch, encode_snapshot};
}

pub use clock::ClusterClock;
pub use config::{Config, ConfigError, DEFAULT_SNAPSHOT_FACTS, FetchRules};
pub use hosts::HostBook;
pub use http::openapi_document;
pub use published::{Board, KEPT_FACTS, Published};
pub use service::{Controller, StartError};
