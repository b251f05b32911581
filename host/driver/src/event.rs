//! What a driver tells without being asked: a closed set of events, in order per execution.

use std::fmt;

use pliant_types::{Attempt, ExecutionId, ExitReason, ExitStatus};
use tokio::sync::mpsc;

use crate::BoundPort;

/// Events that may wait for the agent; a driver that finds the queue full waits.
pub const EVENT_QUEUE_LIMIT: usize = 4_096;

pub type EventReceiver = mpsc::Receiver<DriverEvent>;

/// For each attempt exactly one `Started` (if `start` succeeded), then exactly one `Ended`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverEvent {
    Started { execution: ExecutionId, attempt: Attempt, ports: Vec<BoundPort> },
    Ended { execution: ExecutionId, attempt: Attempt, report: ExitReport },
}

impl DriverEvent {
    #[must_use]
    pub fn execution(&self) -> ExecutionId {
        match self {
            Self::Started { execution, .. } | Self::Ended { execution, .. } => *execution,
        }
    }
}

/// How an attempt ended and what it had used by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitReport {
    pub cause: ExitCause,
    pub usage: Usage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// The guest returned or called exit.
    Code(u32),
    /// The guest did what the engine does not allow. `backtrace`: innermost frame first.
    Trap { message: String, backtrace: Vec<String> },
    /// The guest asked for memory beyond its limit and could not go on.
    OutOfMemory { limit_bytes: u64, asked_bytes: u64, backtrace: Vec<String> },
    /// `timeouts.execution` was over.
    TimedOut { after_ms: u64 },
    /// The agent asked for it.
    Stopped,
    /// The driver could not go on with it; not the guest's doing.
    Failed { message: String },
}

impl ExitCause {
    /// Whether a batch execution with this end has done its work.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Code(0))
    }

    /// The same in the words of status and facts; figures and backtrace go into the detail.
    #[must_use]
    pub fn status(&self) -> ExitStatus {
        match self {
            Self::Code(code) => ExitStatus::exited(code.cast_signed()),
            Self::Trap { message, backtrace } => detailed(ExitReason::Trapped, message, backtrace),
            Self::OutOfMemory { backtrace, .. } => {
                detailed(ExitReason::OutOfMemory, &self.to_string(), backtrace)
            }
            Self::TimedOut { .. } => {
                ExitStatus::with_detail(ExitReason::TimedOut, &self.to_string())
            }
            Self::Stopped => ExitStatus::of(ExitReason::Stopped),
            Self::Failed { message } => ExitStatus::with_detail(ExitReason::HostFailure, message),
        }
    }
}

fn detailed(reason: ExitReason, message: &str, backtrace: &[String]) -> ExitStatus {
    let lines: Vec<&str> =
        std::iter::once(message).chain(backtrace.iter().map(String::as_str)).collect();
    ExitStatus::with_detail(reason, &lines.join("\n"))
}

impl fmt::Display for ExitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Trap { message, .. } => write!(f, "trapped: {message}"),
            Self::OutOfMemory { limit_bytes, asked_bytes, .. } => write!(
                f,
                "out of memory: asked for {asked_bytes} bytes in all, the limit is {limit_bytes}"
            ),
            Self::TimedOut { after_ms } => write!(f, "stopped by its time limit of {after_ms} ms"),
            Self::Stopped => write!(f, "stopped"),
            Self::Failed { message } => write!(f, "failed: {message}"),
        }
    }
}

/// What an attempt uses now, or had used when it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    /// Processor time of the guest and of its host calls, milliseconds.
    pub cpu_ms: u64,
    /// Requests that were answered, 0 for what serves none.
    pub requests: u64,
}
