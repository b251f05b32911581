//! What was decided: self-contained results that are journaled and applied.
//!
//! Integer keys; fields are only added and keys never used again (14-decisions.md, 22). Each kind
//! has golden bytes in golden/facts.txt; changing one is a change of format.

use crate::{
    Answer, IdempotencyKey, Principal,
    state::{JobEnd, Progress, Rollout, StopCause, TaskEnd, TaskKey, VersionRecord, Wanted},
};
use alloc::{boxed::Box, string::String, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{
    Cpu, Digest, Epoch, ExecutionId, Fence, HostId, Incarnation, JobName, JobUid, Kind, Memory,
    Millis, Namespace, RolloutId, Tag, Time, Version,
    assignment::InPlace,
    host::{HostDescription, HostMode, HostStage},
    report::Observation,
};

/// One fact and its time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Fact {
    /// The time of the decision.
    #[n(0)]
    pub at: Time,
    /// What was decided.
    #[n(1)]
    pub kind: FactKind,
}

macro_rules! facts {
    ($($(#[$doc:meta])* $index:literal $variant:ident = $word:literal { $($(#[$fdoc:meta])* $findex:literal $field:ident: $type:ty,)* })*) => {
        /// What was decided.
        #[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
        pub enum FactKind {
            $($(#[$doc])* #[n($index)] #[cbor(map)] $variant { $($(#[$fdoc])* #[n($findex)] $field: $type,)* },)*
        }
        impl FactKind {
            /// Every kind's word, in the order of their keys.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
            /// The kind's word, for logs, watches and dumps.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $word,)* }
            }
        }
    };
}

facts! {
    /// A controller's term began.
    0 TermStarted = "term-started" {
        /// The term.
        0 epoch: Epoch,
        /// How long nobody could write, when that is longer than a host's lease; added to the
        /// deadlines of rollouts (14-decisions.md, 13).
        1 gap: Option<Millis>,
    }
    /// A job exists.
    1 JobCreated = "job-created" {
        /// Its uid.
        0 job: JobUid,
        /// Its namespace.
        1 namespace: Namespace,
        /// Its name.
        2 name: JobName,
        /// Its kind.
        3 kind: Kind,
    }
    /// A job has a new current version.
    2 VersionAdded = "version-added" {
        /// The job.
        0 job: JobUid,
        /// All that is stored of it.
        1 record: Box<VersionRecord>,
    }
    /// A new run of a job began; tasks 0 to size-1 are its members.
    3 IncarnationStarted = "incarnation-started" {
        /// The job.
        0 job: JobUid,
        /// The run.
        1 incarnation: Incarnation,
        /// Its version.
        2 version: Version,
        /// Its first size; 0 for daemon and ops.
        3 size: u32,
        /// Whether older runs go on beside it; otherwise they are ended.
        4 beside: bool,
    }
    /// A job has another size; holes are filled from the lowest, the highest go first.
    4 JobSized = "job-sized" {
        /// The job.
        0 job: JobUid,
        /// The size.
        1 size: u32,
    }
    /// People want something else of a job.
    5 JobWanted = "job-wanted" {
        /// The job.
        0 job: JobUid,
        /// What.
        1 wanted: Wanted,
    }
    /// A run of a batch or ops job is over.
    6 JobEnded = "job-ended" {
        /// The job.
        0 job: JobUid,
        /// How.
        1 end: JobEnd,
        /// The run.
        2 incarnation: Incarnation,
    }
    /// A deleted job is gone with all that belonged to it.
    7 JobForgotten = "job-forgotten" {
        /// The job.
        0 job: JobUid,
    }
    /// A version fell out of history.
    8 VersionForgotten = "version-forgotten" {
        /// The job.
        0 job: JobUid,
        /// The version.
        1 version: Version,
    }
    /// An ended run fell out of history with its tasks.
    9 IncarnationForgotten = "incarnation-forgotten" {
        /// The job.
        0 job: JobUid,
        /// The run.
        1 incarnation: Incarnation,
    }
    /// A daemon or ops job has a member on a host.
    10 TaskAdded = "task-added" {
        /// The task.
        0 task: TaskKey,
        /// Its host.
        1 host: HostId,
    }
    /// A task's ended execution was judged: it is placed again, not before a time.
    11 TaskRetried = "task-retried" {
        /// The task.
        0 task: TaskKey,
        /// The execution that was judged.
        1 judged: ExecutionId,
        /// Failures in a row.
        2 failures: u32,
        /// Not before.
        3 retry_at: Option<Time>,
        /// The only host that it may run on.
        4 host: Option<HostId>,
    }
    /// A task is done for good.
    12 TaskEnded = "task-ended" {
        /// The task.
        0 task: TaskKey,
        /// The execution that was judged.
        1 judged: ExecutionId,
        /// How.
        2 end: TaskEnd,
    }
    /// A task that the job no longer has is gone.
    13 TaskForgotten = "task-forgotten" {
        /// The task.
        0 task: TaskKey,
    }
    /// The hosts of an ops job's run are chosen.
    14 MembersFixed = "members-fixed" {
        /// The job.
        0 job: JobUid,
        /// The run.
        1 incarnation: Incarnation,
    }
    /// A task was placed on a host.
    15 ExecutionPlaced = "execution-placed" {
        /// The new execution.
        0 execution: ExecutionId,
        /// Whose.
        1 task: TaskKey,
        /// What it runs.
        2 version: Version,
        /// Where.
        3 host: HostId,
        /// The host's fence.
        4 fence: Fence,
        /// What it holds of the CPU.
        5 cpu: Cpu,
        /// What it holds of the memory.
        6 memory: Memory,
        /// Static ports that it holds.
        7 static_ports: Vec<u16>,
        /// The task's oldest kept execution, when it falls out.
        8 forget: Option<ExecutionId>,
    }
    /// An execution counts as another version of equal template, without a restart.
    16 ExecutionRelabelled = "execution-relabelled" {
        /// The execution.
        0 execution: ExecutionId,
        /// The version.
        1 version: Version,
    }
    /// An execution is asked to stop.
    17 ExecutionStopRequested = "execution-stop-requested" {
        /// The execution.
        0 execution: ExecutionId,
        /// Why.
        1 cause: StopCause,
        /// Between being asked and being ended.
        2 kill: Millis,
    }
    /// A host observed something new of an execution.
    18 ExecutionObserved = "execution-observed" {
        /// The observation.
        0 observation: Observation,
    }
    /// An execution is lost with its host.
    19 ExecutionLost = "execution-lost" {
        /// The execution.
        0 execution: ExecutionId,
    }
    /// A host is known.
    20 HostRegistered = "host-registered" {
        /// Its id.
        0 host: HostId,
        /// What it is.
        1 description: HostDescription,
    }
    /// A host describes itself differently.
    21 HostDescribed = "host-described" {
        /// Its id.
        0 host: HostId,
        /// What it is now.
        1 description: HostDescription,
    }
    /// A host stands elsewhere.
    22 HostStaged = "host-staged" {
        /// Its id.
        0 host: HostId,
        /// Where.
        1 stage: HostStage,
        /// When its lease ended, while it is silent.
        2 lease_end: Option<Time>,
    }
    /// What was placed on a host before is fenced off.
    23 HostFenced = "host-fenced" {
        /// Its id.
        0 host: HostId,
        /// The new fence.
        1 fence: Fence,
    }
    /// People want something else of a host.
    24 HostModeSet = "host-mode-set" {
        /// Its id.
        0 host: HostId,
        /// What.
        1 mode: HostMode,
    }
    /// The answer of an idempotent request.
    25 RequestRemembered = "request-remembered" {
        /// Who asked.
        0 principal: Principal,
        /// The key.
        1 key: IdempotencyKey,
        /// Hash of the body.
        2 body: Digest,
        /// The answer.
        3 answer: Answer,
    }
    /// An old answer is no longer kept.
    26 RequestForgotten = "request-forgotten" {
        /// Who asked.
        0 principal: Principal,
        /// The key.
        1 key: IdempotencyKey,
    }
    /// A version has proven itself: its tasks were healthy long enough, or its run succeeded.
    27 VersionProven = "version-proven" {
        /// The job.
        0 job: JobUid,
        /// The version.
        1 version: Version,
    }
    /// A version's run failed.
    28 VersionFailed = "version-failed" {
        /// The job.
        0 job: JobUid,
        /// The version.
        1 version: Version,
        /// Why, in words.
        2 reason: String,
    }
    /// A version has a tag; another version of the job loses it.
    29 VersionTagged = "version-tagged" {
        /// The job.
        0 job: JobUid,
        /// The version.
        1 version: Version,
        /// The tag.
        2 tag: Tag,
    }
    /// No version of a job has a tag any more.
    30 VersionUntagged = "version-untagged" {
        /// The job.
        0 job: JobUid,
        /// The tag.
        1 tag: Tag,
    }
    /// A run goes on at another version of equal template.
    31 IncarnationMoved = "incarnation-moved" {
        /// The job.
        0 job: JobUid,
        /// The run.
        1 incarnation: Incarnation,
        /// The version.
        2 version: Version,
    }
    /// A run is ended before it is over; the job's other runs go on.
    32 IncarnationHalted = "incarnation-halted" {
        /// The job.
        0 job: JobUid,
        /// The run.
        1 incarnation: Incarnation,
        /// Why.
        2 cause: StopCause,
    }
    /// Which version runs after the present run, if one does.
    33 RunQueued = "run-queued" {
        /// The job.
        0 job: JobUid,
        /// The version.
        1 version: Option<Version>,
    }
    /// A namespace exists.
    34 NamespaceCreated = "namespace-created" {
        /// Its name.
        0 namespace: Namespace,
    }
    /// A namespace is gone.
    35 NamespaceDeleted = "namespace-deleted" {
        /// Its name.
        0 namespace: Namespace,
    }
    /// A run is moved to a version.
    36 RolloutStarted = "rollout-started" {
        /// The job.
        0 job: JobUid,
        /// The rollout as it begins.
        1 rollout: Box<Rollout>,
    }
    /// A rollout stands elsewhere.
    37 RolloutChanged = "rollout-changed" {
        /// The job.
        0 job: JobUid,
        /// The rollout.
        1 rollout: RolloutId,
        /// How it stands now.
        2 progress: Box<Progress>,
        /// Whether somebody asked for it, which changes what is wanted of the job.
        3 asked: bool,
    }
    /// A rollout fell out of history.
    38 RolloutForgotten = "rollout-forgotten" {
        /// The job.
        0 job: JobUid,
        /// The rollout.
        1 rollout: RolloutId,
    }
    /// An execution becomes another version where it is.
    39 ExecutionChanged = "execution-changed" {
        /// The execution.
        0 execution: ExecutionId,
        /// The version.
        1 version: Version,
        /// How far its host may go.
        2 in_place: InPlace,
        /// What it holds of the CPU from now on.
        3 cpu: Cpu,
        /// What it holds of the memory from now on.
        4 memory: Memory,
    }
    /// An execution holds another part of its host.
    40 ExecutionResized = "execution-resized" {
        /// The execution.
        0 execution: ExecutionId,
        /// What it holds of the CPU.
        1 cpu: Cpu,
        /// What it holds of the memory.
        2 memory: Memory,
    }
    /// A daemon's task is no longer wanted: its host does not match the new version.
    41 TaskRetired = "task-retired" {
        /// The task.
        0 task: TaskKey,
    }
}
