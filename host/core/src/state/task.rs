//! Tasks: numbered members of a run, which keep their number for life.

use alloc::{string::String, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{ExecutionId, HostId, Incarnation, JobUid, TaskNumber, Time};

/// A task is (job, run, number) (14-decisions.md, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct TaskKey {
    /// The job.
    #[n(0)]
    pub job: JobUid,
    /// The run.
    #[n(1)]
    pub incarnation: Incarnation,
    /// The member.
    #[n(2)]
    pub number: TaskNumber,
}

/// How a task of a batch or ops job ended for good.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TaskEnd {
    /// With success.
    #[n(0)]
    Completed,
    /// Without; why, in words.
    #[n(1)]
    Failed(#[n(0)] String),
}

/// A numbered member of a run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Task {
    /// Which.
    #[n(0)]
    pub key: TaskKey,
    /// The only host that it may run on: of daemon and ops jobs, or after a loss with `keep`.
    #[n(1)]
    pub host: Option<HostId>,
    /// Whether the job still has it.
    #[n(2)]
    pub wanted: bool,
    /// How it ended for good.
    #[n(3)]
    pub end: Option<TaskEnd>,
    /// Failed executions in a row.
    #[n(4)]
    pub failures: u32,
    /// Not placed before this time.
    #[n(5)]
    pub retry_at: Option<Time>,
    /// Whether an execution of it has ever been up.
    #[n(6)]
    pub started: bool,
    /// The kept executions, oldest first.
    #[n(7)]
    pub executions: Vec<ExecutionId>,
}

impl Task {
    /// A task as it begins.
    #[must_use]
    pub const fn new(key: TaskKey, host: Option<HostId>) -> Self {
        Self {
            key,
            host,
            wanted: true,
            end: None,
            failures: 0,
            retry_at: None,
            started: false,
            executions: Vec::new(),
        }
    }
}
