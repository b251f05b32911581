//! Rollouts: one health-gated move of a run to a version, with its clock as stored times.
//!
//! What a rollout is and how it stands; what moves it on is `plan::rollout`, what users do to it is
//! `decide::rollout` (03-jobs.md, section 5).

use alloc::{string::String, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{
    Incarnation, JobUid, Millis, RolloutId, TaskNumber, Time, Version as VersionNumber,
};
use serde::{Deserialize, Serialize};

/// Key of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct RolloutKey {
    /// The job.
    #[n(0)]
    pub job: JobUid,
    /// The rollout.
    #[n(1)]
    pub rollout: RolloutId,
}

/// Where a rollout stands; the last four are final.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode,
)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum RolloutState {
    /// Not planned yet.
    #[n(0)]
    Pending,
    /// Tasks move.
    #[n(1)]
    Progressing,
    /// Canaries, or the whole green set, are healthy and wait for a word; the clock stands.
    #[n(2)]
    AwaitingPromotion,
    /// Somebody paused it; the clock stands.
    #[n(3)]
    Paused,
    /// Every task is at the target and healthy; it must stay so for a while.
    #[n(4)]
    Verifying,
    /// Done; the version is proven.
    #[n(5)]
    Successful,
    /// Given up; nothing more of the old is removed.
    #[n(6)]
    Failed,
    /// A newer version took over.
    #[n(7)]
    Superseded,
    /// The job was stopped or deleted.
    #[n(8)]
    Cancelled,
}

impl RolloutState {
    /// Every state, in order.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Progressing,
        Self::AwaitingPromotion,
        Self::Paused,
        Self::Verifying,
        Self::Successful,
        Self::Failed,
        Self::Superseded,
        Self::Cancelled,
    ];

    /// Whether nothing follows.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Successful | Self::Failed | Self::Superseded | Self::Cancelled)
    }

    /// Whether `next` may follow.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Successful | Self::Failed | Self::Superseded | Self::Cancelled, _) => false,
            (_, Self::Failed | Self::Superseded | Self::Cancelled) => true,
            (Self::Paused, next) => !matches!(next, Self::Paused | Self::Successful),
            (from, Self::Paused) => !matches!(from, Self::Paused),
            (Self::Pending | Self::AwaitingPromotion, next) => {
                matches!(next, Self::Progressing)
            }
            (Self::Progressing, next) => {
                matches!(next, Self::AwaitingPromotion | Self::Verifying | Self::Successful)
            }
            (Self::Verifying, next) => matches!(next, Self::Progressing | Self::Successful),
        }
    }

    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Progressing => "progressing",
            Self::AwaitingPromotion => "awaiting-promotion",
            Self::Paused => "paused",
            Self::Verifying => "verifying",
            Self::Successful => "successful",
            Self::Failed => "failed",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
        }
    }
}

impl core::fmt::Display for RolloutState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a rollout began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum RolloutCause {
    /// The job, or a run of it, is new.
    #[n(0)]
    Created,
    /// A submission changed what tasks run, or where they may.
    #[n(1)]
    Updated,
    /// A stopped job was started.
    #[n(2)]
    Started,
    /// Somebody rolled back.
    #[n(3)]
    Rollback,
    /// The rollout before failed and went back by itself.
    #[n(4)]
    AutoRollback,
}

impl RolloutCause {
    /// Whether it goes back, and so is never rolled back itself.
    #[must_use]
    pub const fn is_rollback(self) -> bool {
        matches!(self, Self::Rollback | Self::AutoRollback)
    }

    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Started => "started",
            Self::Rollback => "rollback",
            Self::AutoRollback => "auto-rollback",
        }
    }
}

/// Why a rollout ended as it did, in a stable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum RolloutReason {
    /// More tasks of the new version failed than `maxFailures` allows.
    #[n(0)]
    TaskFailed,
    /// A task did not get healthy within `healthyDeadline`.
    #[n(1)]
    HealthyDeadline,
    /// Nothing got better for `progressDeadline`.
    #[n(2)]
    ProgressDeadline,
    /// Somebody aborted it.
    #[n(3)]
    Aborted,
    /// A newer version took over.
    #[n(4)]
    Superseded,
    /// The job was stopped.
    #[n(5)]
    JobStopped,
    /// The job was deleted.
    #[n(6)]
    JobDeleted,
    /// The run ended before every task had started.
    #[n(7)]
    RunEnded,
}

impl RolloutReason {
    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskFailed => "task-failed",
            Self::HealthyDeadline => "healthy-deadline",
            Self::ProgressDeadline => "progress-deadline",
            Self::Aborted => "aborted",
            Self::Superseded => "superseded",
            Self::JobStopped => "job-stopped",
            Self::JobDeleted => "job-deleted",
            Self::RunEnded => "run-ended",
        }
    }
}

/// How a rollout stands; each change of it is one fact that holds all of this.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Progress {
    /// Where it stands.
    #[n(0)]
    pub state: RolloutState,
    /// The version that tasks move to; a newer one of equal template takes its place.
    #[n(1)]
    pub version: VersionNumber,
    /// Where it stood before it was paused.
    #[n(2)]
    pub before: Option<RolloutState>,
    /// When it fails unless something gets better; absent while the clock stands.
    #[n(3)]
    pub deadline: Option<Time>,
    /// What was left of the clock when it was paused.
    #[n(4)]
    pub left: Option<Millis>,
    /// End of the present wait: bake before a promotion, retirement of the old set, verification.
    #[n(5)]
    pub until: Option<Time>,
    /// What was left of that wait when it was paused.
    #[n(6)]
    pub until_left: Option<Millis>,
    /// Highest number of healthy tasks at the target so far.
    #[n(7)]
    pub best: u32,
    /// Tasks of the target that failed.
    #[n(8)]
    pub failures: u32,
    /// Whether its canaries, or its green set, were promoted.
    #[n(9)]
    pub promoted: bool,
    /// The tasks that go first and wait for a word.
    #[n(10)]
    pub canaries: Vec<TaskNumber>,
    /// Whether a task had to be stopped before its successor could start (condition
    /// `StopFirstForced`).
    #[n(11)]
    pub forced: bool,
    /// Since when clocks of single tasks count again, after a pause or a gap without a writer.
    #[n(12)]
    pub resumed_at: Option<Time>,
    /// Why it ended.
    #[n(13)]
    pub reason: Option<RolloutReason>,
    /// The same in words, with evidence.
    #[n(14)]
    pub message: Option<String>,
    /// When it ended.
    #[n(15)]
    pub ended_at: Option<Time>,
}

impl Progress {
    /// A rollout that begins; its deadline is armed at once.
    #[must_use]
    pub const fn new(version: VersionNumber, deadline: Option<Time>) -> Self {
        Self {
            state: RolloutState::Pending,
            version,
            before: None,
            deadline,
            left: None,
            until: None,
            until_left: None,
            best: 0,
            failures: 0,
            promoted: false,
            canaries: Vec::new(),
            forced: false,
            resumed_at: None,
            reason: None,
            message: None,
            ended_at: None,
        }
    }

    /// The same, ended.
    #[must_use]
    pub fn ended(
        &self,
        state: RolloutState,
        (reason, message): (RolloutReason, String),
        at: Time,
    ) -> Self {
        Self {
            state,
            deadline: None,
            until: None,
            left: None,
            until_left: None,
            reason: Some(reason),
            message: Some(message),
            ended_at: Some(at),
            ..self.clone()
        }
    }
}

/// A rollout.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Rollout {
    /// Its id.
    #[n(0)]
    pub id: RolloutId,
    /// The run that it moves.
    #[n(1)]
    pub incarnation: Incarnation,
    /// Why it began.
    #[n(2)]
    pub cause: RolloutCause,
    /// The version that the run was at.
    #[n(3)]
    pub from: Option<VersionNumber>,
    /// The failed rollout that it goes back from.
    #[n(4)]
    pub undoes: Option<RolloutId>,
    /// When it began.
    #[n(5)]
    pub started_at: Time,
    /// How it stands.
    #[n(6)]
    pub progress: Progress,
}

impl Rollout {
    /// Whether it has not ended.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        !self.progress.state.is_final()
    }

    /// Whether it replaces another version.
    #[must_use]
    pub const fn from_another(&self) -> bool {
        self.from.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn the_whole_matrix_of_states() {
        let mut matrix = String::new();
        for from in RolloutState::ALL {
            let row: String = RolloutState::ALL
                .iter()
                .map(|to| if from.may_become(*to) { 'x' } else { '.' })
                .collect();
            matrix.push_str(&format!("{from:<19} {row}\n"));
        }
        expect_test::expect![[r"
            pending             .x.x..xxx
            progressing         ..xxxxxxx
            awaiting-promotion  .x.x..xxx
            paused              xxx.x.xxx
            verifying           .x.x.xxxx
            successful          .........
            failed              .........
            superseded          .........
            cancelled           .........
        "]]
        .assert_eq(&matrix);
    }
}
