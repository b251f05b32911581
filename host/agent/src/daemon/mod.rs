//! The process on a host: carries out what `logic` decides. Config -> `Agent` -> `stop`.

mod archive;
mod cache;
mod caller;
mod changes;
mod clock;
mod config;
mod drivers;
mod error;
mod follow;
mod ledger;
mod listener;
mod logs;
mod machine;
mod mounts;
mod outage;
mod places;
mod reactor;
mod service;
mod spec;
mod store;
mod worker;

pub(crate) use drivers::chain;

pub use config::{Config, LedgerPlace, Limits};
pub use error::AgentError;
pub use reactor::AgentStatus;
pub use service::Agent;
