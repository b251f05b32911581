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

pub use clock::ClusterClock;
pub use config::{Config, ConfigError, DEFAULT_SNAPSHOT_FACTS, FetchRules};
pub use hosts::HostBook;
pub use http::openapi_document;
pub use published::{Board, KEPT_FACTS, Published};
pub use service::{Controller, StartError};
