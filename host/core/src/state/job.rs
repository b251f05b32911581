//! Jobs and their runs.

use super::StopCause;
use alloc::string::String;
use minicbor::{Decode, Encode};
use pliant_types::{
    Incarnation as IncarnationNumber, JobName, JobUid, Kind, Namespace, Revision, RolloutId, Time,
    Version as VersionNumber,
};
use serde::{Deserialize, Serialize};

/// What people want of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum Wanted {
    /// That it runs.
    #[n(0)]
    Running,
    /// That it stands still; its spec stays.
    #[n(1)]
    Stopped,
    /// That it is gone; its name is free already.
    #[n(2)]
    Deleted,
}

/// How a batch or ops job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(map)]
pub struct JobEnd {
    /// Every task has completed.
    #[n(0)]
    pub success: bool,
    /// Why, in words with numbers.
    #[n(1)]
    pub reason: String,
    /// When.
    #[n(2)]
    pub at: Time,
}

/// Where a job stands, in one word (14-decisions.md, 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// No task has started.
    Pending,
    /// At least one task has started.
    Running,
    /// Asked to end, not confirmed by every host.
    Stopping,
    /// Every execution has confirmed its end.
    Stopped,
    /// Done with success.
    Completed,
    /// Done without success.
    Failed,
}

impl RunState {
    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// What a user asked for, by name.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Job {
    /// Its uid.
    #[n(0)]
    pub uid: JobUid,
    /// Its namespace.
    #[n(1)]
    pub namespace: Namespace,
    /// Its name.
    #[n(2)]
    pub name: JobName,
    /// Its kind; immutable.
    #[n(3)]
    pub kind: Kind,
    /// Its current version.
    #[n(4)]
    pub current: VersionNumber,
    /// Its newest run.
    #[n(5)]
    pub incarnation: IncarnationNumber,
    /// Its live size; daemon and ops jobs follow the hosts and keep 0 here.
    #[n(6)]
    pub size: u32,
    /// What people want of it.
    #[n(7)]
    pub wanted: Wanted,
    /// How its newest run ended.
    #[n(8)]
    pub ended: Option<JobEnd>,
    /// When it was created.
    #[n(9)]
    pub created_at: Time,
    /// When what is wanted last changed.
    #[n(10)]
    pub updated_at: Time,
    /// The revision of that change: its ETag (14-decisions.md, 2).
    #[n(11)]
    pub spec_revision: Revision,
    /// The version that runs when the present run is over (`onResubmit: finish-first`).
    #[n(12)]
    pub queued: Option<VersionNumber>,
}

/// Key of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct VersionKey {
    /// The job.
    #[n(0)]
    pub job: JobUid,
    /// The version.
    #[n(1)]
    pub version: VersionNumber,
}

/// Key of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct IncarnationKey {
    /// The job.
    #[n(0)]
    pub job: JobUid,
    /// The run.
    #[n(1)]
    pub incarnation: IncarnationNumber,
}

/// A run of a whole job.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Incarnation {
    /// The version that its tasks run or move to.
    #[n(0)]
    pub version: VersionNumber,
    /// When it began.
    #[n(1)]
    pub started_at: Time,
    /// When its first task ran.
    #[n(2)]
    pub first_up_at: Option<Time>,
    /// Whether an ops job's hosts are chosen.
    #[n(3)]
    pub members_fixed: bool,
    /// How it ended by itself.
    #[n(4)]
    pub ended: Option<JobEnd>,
    /// Why it was ended before it was over.
    #[n(5)]
    pub halted: Option<StopCause>,
    /// The rollout that moves it now.
    #[n(6)]
    pub rollout: Option<RolloutId>,
}

impl Incarnation {
    /// Whether it is neither over nor ended by somebody; its job may still be stopped.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.ended.is_none() && self.halted.is_none()
    }
}
