//! What a fact speaks of: its job, its execution, and whether it changes what is wanted.

use crate::FactKind;
use pliant_types::{ExecutionId, JobUid};

impl FactKind {
    /// The job that the fact speaks of, for watches.
    #[must_use]
    pub fn job(&self) -> Option<JobUid> {
        match self {
            Self::JobCreated { job, .. }
            | Self::VersionAdded { job, .. }
            | Self::IncarnationStarted { job, .. }
            | Self::JobSized { job, .. }
            | Self::JobWanted { job, .. }
            | Self::JobEnded { job, .. }
            | Self::JobForgotten { job }
            | Self::VersionForgotten { job, .. }
            | Self::IncarnationForgotten { job, .. }
            | Self::MembersFixed { job, .. }
            | Self::VersionProven { job, .. }
            | Self::VersionFailed { job, .. }
            | Self::VersionTagged { job, .. }
            | Self::VersionUntagged { job, .. }
            | Self::IncarnationMoved { job, .. }
            | Self::IncarnationHalted { job, .. }
            | Self::RunQueued { job, .. }
            | Self::RolloutStarted { job, .. }
            | Self::RolloutChanged { job, .. }
            | Self::RolloutForgotten { job, .. } => Some(*job),
            Self::TaskAdded { task, .. }
            | Self::TaskRetried { task, .. }
            | Self::TaskEnded { task, .. }
            | Self::TaskForgotten { task }
            | Self::TaskRetired { task }
            | Self::ExecutionPlaced { task, .. } => Some(task.job),
            Self::ExecutionObserved { observation } => Some(observation.job),
            Self::TermStarted { .. }
            | Self::ExecutionRelabelled { .. }
            | Self::ExecutionStopRequested { .. }
            | Self::ExecutionLost { .. }
            | Self::ExecutionChanged { .. }
            | Self::ExecutionResized { .. }
            | Self::HostRegistered { .. }
            | Self::HostDescribed { .. }
            | Self::HostStaged { .. }
            | Self::HostFenced { .. }
            | Self::HostModeSet { .. }
            | Self::NamespaceCreated { .. }
            | Self::NamespaceDeleted { .. }
            | Self::RequestRemembered { .. }
            | Self::RequestForgotten { .. } => None,
        }
    }

    /// Whether the fact changes what is wanted of its job, and so the job's spec revision.
    #[must_use]
    pub const fn changes_wanted(&self) -> bool {
        matches!(
            self,
            Self::JobCreated { .. }
                | Self::VersionAdded { .. }
                | Self::JobWanted { .. }
                | Self::JobSized { .. }
                | Self::IncarnationHalted { .. }
                | Self::RunQueued { .. }
                | Self::RolloutStarted { .. }
                | Self::RolloutChanged { asked: true, .. }
                | Self::VersionTagged { .. }
                | Self::VersionUntagged { .. }
        )
    }

    /// The execution that the fact speaks of, for watches and assignments.
    #[must_use]
    pub const fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::ExecutionPlaced { execution, .. }
            | Self::ExecutionRelabelled { execution, .. }
            | Self::ExecutionStopRequested { execution, .. }
            | Self::ExecutionChanged { execution, .. }
            | Self::ExecutionResized { execution, .. }
            | Self::ExecutionLost { execution } => Some(*execution),
            Self::ExecutionObserved { observation } => Some(observation.execution),
            _ => None,
        }
    }
}
