//! How an agent runs an engine: the driver trait, what it is given, what it tells.
//!
//! This crate holds the contract and what every driver shares (guest logs). It knows no engine,
//! no controller and no network. The fake driver (`fake`) and the suite that every driver must
//! pass (`conformance`) are behind features of those names.

#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod error;
mod event;
#[cfg(feature = "fake")]
pub mod fake;
pub mod logs;
mod spec;

pub use contract::{
    Artifact, Driver, DriverDescription, ExecutionState, LogRequest, Phase, Prepared, Progress,
    Recovered, Resources, Signal, SilentProgress, Started,
};
pub use error::DriverError;
pub use event::{DriverEvent, EVENT_QUEUE_LIMIT, EventReceiver, ExitCause, ExitReport, Usage};
pub use spec::{
    Access, BoundPort, ExecutionSpec, Grants, HttpSettings, LogSettings, MountSpec, PortNumber,
    PortProtocol, PortSpec, Reuse, Timeouts,
};
