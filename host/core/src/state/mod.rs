//! The state: tables of entities, the counters that hand out ids, and indexes derived from both.
//!
//! Only `apply` changes it (law 1). Entities are hashed and written to snapshots; indexes are
//! neither, since they follow from the entities.

mod execution;
mod host;
mod index;
mod job;
mod rollout;
mod runs;
mod task;
mod upkeep;
mod version;

pub use execution::{Execution, StopCause};
pub use host::Host;
pub use index::{HostLoad, Indexes, Tally};
pub use job::{Incarnation, IncarnationKey, Job, JobEnd, RunState, VersionKey, Wanted};
pub use rollout::{Progress, Rollout, RolloutCause, RolloutKey, RolloutReason, RolloutState};
pub use task::{Task, TaskEnd, TaskKey};
pub(crate) use version::template_hash;
pub use version::{Marks, Version, VersionRecord};

use crate::{Answer, IdempotencyKey, Principal, table::Table};
use minicbor::{Decode, Encode};
use pliant_types::{
    Digest, Epoch, ExecutionId, HostId, Incarnation as IncarnationNumber, JobUid, Namespace,
    Revision, TaskNumber, Time,
};

/// Numbers that the state hands out, and where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Counters {
    /// Facts applied so far.
    #[n(0)]
    pub revision: u64,
    /// The controller's term.
    #[n(1)]
    pub epoch: u64,
    /// The newest time of any fact (law 2: it never goes back).
    #[n(2)]
    pub now: Time,
    /// Highest job uid given out.
    #[n(3)]
    pub job: u64,
    /// Highest execution id given out.
    #[n(4)]
    pub execution: u64,
    /// Highest host id given out.
    #[n(5)]
    pub host: u64,
    /// Highest rollout id given out.
    #[n(6)]
    pub rollout: u64,
}

/// A remembered answer (law 9).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Remembered {
    /// Hash of the request's body.
    #[n(0)]
    pub body: Digest,
    /// The first answer.
    #[n(1)]
    pub answer: Answer,
    /// When it was given.
    #[n(2)]
    pub at: Time,
}

/// A namespace that was created.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct NamespaceRecord {
    /// When.
    #[n(0)]
    pub created_at: Time,
}

/// Key of a remembered answer.
pub type RequestKey = (Principal, IdempotencyKey);

/// The whole state of a cluster; cloning shares everything.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Where the state stands.
    pub counters: Counters,
    /// Jobs, dying ones included.
    pub jobs: Table<JobUid, Job>,
    /// Namespaces that were created; `default` always exists and is not among them.
    pub namespaces: Table<Namespace, NamespaceRecord>,
    /// Versions of jobs.
    pub versions: Table<VersionKey, Version>,
    /// What became of each version.
    pub marks: Table<VersionKey, Marks>,
    /// Runs of jobs.
    pub incarnations: Table<IncarnationKey, Incarnation>,
    /// Moves of runs between versions.
    pub rollouts: Table<RolloutKey, Rollout>,
    /// Members of runs.
    pub tasks: Table<TaskKey, Task>,
    /// Placements of tasks.
    pub executions: Table<ExecutionId, Execution>,
    /// Machines.
    pub hosts: Table<HostId, Host>,
    /// Answers of idempotent requests.
    pub requests: Table<RequestKey, Remembered>,
    /// What follows from the tables.
    pub index: Indexes,
}

impl State {
    /// Facts applied so far.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        Revision::new(self.counters.revision)
    }
    /// The controller's term.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        Epoch::new(self.counters.epoch)
    }
    /// A hash over every entity and counter; equal states have equal hashes (law 3).
    #[must_use]
    pub fn hash(&self) -> u128 {
        crate::table::row_hash(&0u8, &self.counters)
            .wrapping_add(self.jobs.sum())
            .wrapping_add(self.versions.sum().rotate_left(1))
            .wrapping_add(self.incarnations.sum().rotate_left(2))
            .wrapping_add(self.tasks.sum().rotate_left(3))
            .wrapping_add(self.executions.sum().rotate_left(4))
            .wrapping_add(self.hosts.sum().rotate_left(5))
            .wrapping_add(self.requests.sum().rotate_left(6))
            .wrapping_add(self.marks.sum().rotate_left(7))
            .wrapping_add(self.namespaces.sum().rotate_left(8))
            .wrapping_add(self.rollouts.sum().rotate_left(9))
    }

    /// The job's current version.
    #[must_use]
    pub fn current_version(&self, job: &Job) -> Option<&Version> {
        self.versions.get(&VersionKey { job: job.uid, version: job.current })
    }

    /// The members of a run, in the order of their numbers.
    pub fn tasks_of(
        &self,
        job: JobUid,
        incarnation: IncarnationNumber,
    ) -> impl DoubleEndedIterator<Item = &Task> {
        let key = |number| TaskKey { job, incarnation, number };
        self.tasks
            .range(key(TaskNumber::new(0))..=key(TaskNumber::new(u32::MAX)))
            .map(|(_, task)| task)
    }

    /// The members of every run of a job.
    pub fn all_tasks_of(&self, job: JobUid) -> impl DoubleEndedIterator<Item = &Task> {
        let key = |incarnation, number| TaskKey {
            job,
            incarnation: IncarnationNumber::new(incarnation),
            number: TaskNumber::new(number),
        };
        self.tasks.range(key(0, 0)..=key(u32::MAX, u32::MAX)).map(|(_, task)| task)
    }

    /// The kept executions of a task, oldest first.
    pub fn executions_of<'a>(
        &'a self,
        task: &'a Task,
    ) -> impl DoubleEndedIterator<Item = &'a Execution> {
        task.executions.iter().filter_map(|id| self.executions.get(id))
    }

    /// The execution that stands for a task: the oldest that is asked to run, which serves while a
    /// successor beside it gets ready, else the newest that is live.
    #[must_use]
    pub fn live_execution<'a>(&'a self, task: &'a Task) -> Option<&'a Execution> {
        let wanted = self.executions_of(task).find(|e| e.is_wanted());
        wanted.or_else(|| self.executions_of(task).rev().find(|e| e.is_live()))
    }

    /// Live executions on a host, oldest first.
    pub fn live_on(&self, host: HostId) -> impl Iterator<Item = &Execution> {
        self.index.live_on(host).filter_map(|id| self.executions.get(&id))
    }
}
