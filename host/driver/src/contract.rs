//! The driver trait: the verbs by which an agent runs executions on an engine.
//!
//! Order of verbs for an execution: `prepare` (of its artifact), `start`, then any of the
//! questions, `stop`, `remove`. A further `start` of an ended execution is its next attempt.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use pliant_types::{Attempt, Cpu, Digest, ExecutionId, Memory};

use crate::logs::LogReader;
use crate::{BoundPort, DriverError, EventReceiver, ExecutionSpec, ExitReport, Usage};

/// An engine on this host. Shared by `Arc<dyn Driver>`; every verb may be called concurrently.
#[async_trait]
pub trait Driver: Send + Sync + 'static {
    /// What this engine is and what it takes.
    fn describe(&self) -> DriverDescription;

    /// The one receiver of this driver's events; `None` when it was taken before.
    fn take_events(&self) -> Option<EventReceiver>;

    /// Makes an artifact ready to start: verify its digest, inspect it, compile it. Runs before
    /// anything of an older version is touched. Idempotent; concurrent calls share the work.
    async fn prepare(
        &self,
        artifact: &Artifact,
        progress: &dyn Progress,
    ) -> Result<Prepared, DriverError>;

    /// Starts an attempt. When this returns, ports are bound and the guest may run; the same
    /// ports come as `DriverEvent::Started`. On failure nothing is left behind.
    async fn start(&self, spec: ExecutionSpec) -> Result<Started, DriverError>;

    /// What is known of an execution; `None` when it was never started here or was removed.
    async fn probe(&self, execution: ExecutionId) -> Option<ExecutionState>;

    async fn signal(&self, execution: ExecutionId, signal: Signal) -> Result<(), DriverError>;

    /// Changes the limits of a running execution in place.
    async fn resize(&self, execution: ExecutionId, to: Resources) -> Result<(), DriverError>;

    /// Gives a running execution other code, keeping its ports and mounts.
    async fn swap(&self, spec: ExecutionSpec) -> Result<(), DriverError>;

    /// Ends an execution: no new requests, what is under way gets `grace`, then it is cut off.
    /// Returns when nothing of it runs any more. Stopping what has ended is not an error.
    async fn stop(
        &self,
        execution: ExecutionId,
        grace: Duration,
    ) -> Result<ExitReport, DriverError>;

    /// Forgets an ended execution. Its directories belong to the agent and stay.
    async fn remove(&self, execution: ExecutionId) -> Result<(), DriverError>;

    /// After a restart of the agent: which of these executions still run on the engine.
    async fn recover(&self, known: &[ExecutionId]) -> Vec<Recovered>;

    /// Output of an execution, also of one that this process did not start.
    async fn logs(&self, request: LogRequest) -> Result<LogReader, DriverError>;

    async fn usage(&self, execution: ExecutionId) -> Result<Usage, DriverError>;

    /// Stops everything that still runs and joins every task and thread of the driver.
    async fn shutdown(&self);
}

/// What a driver says of itself; shown by `pliant host show`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverDescription {
    /// `wasm` or `container`.
    pub name: &'static str,
    pub engine_version: String,
    /// For placement constraints, such as `wasm.worlds`.
    pub attributes: BTreeMap<String, String>,
    /// Executions that can run at the same time; `None` when the engine sets no bound.
    pub max_executions: Option<u64>,
    /// What an operator should know, such as a fallback that was taken.
    pub notes: Vec<String>,
}

/// The bytes of an artifact on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub digest: Digest,
    pub path: PathBuf,
}

/// The steps of `prepare`, in order; a step may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Verifying,
    Inspecting,
    Compiling,
    Loading,
}

/// Is told each step of `prepare` as it begins. Must not block.
pub trait Progress: Send + Sync {
    fn phase(&self, phase: Phase);
}

/// For callers that do not show progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn phase(&self, _phase: Phase) {}
}

/// What `prepare` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub digest: Digest,
    /// What the artifact is, in the engine's words, such as `component http`.
    pub kind: String,
    /// False when the code was in the cache already.
    pub compiled: bool,
}

/// What `start` bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub ports: Vec<BoundPort>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionState {
    Running { attempt: Attempt, ports: Vec<BoundPort> },
    Ended { attempt: Attempt, report: ExitReport },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Hangup,
    User1,
    User2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    pub memory: Memory,
    pub cpu: Cpu,
}

/// The answer of `recover` for one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// It still runs, and the driver owns it again.
    Running { execution: ExecutionId, attempt: Attempt, ports: Vec<BoundPort> },
    /// Nothing of it is left on this host.
    Gone { execution: ExecutionId },
}

/// Which output to read, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    pub execution: ExecutionId,
    /// `LogSettings::dir` of that execution.
    pub dir: PathBuf,
    /// Offset of the first byte to read, as reported by `LogReader::offset`.
    pub from: u64,
}
