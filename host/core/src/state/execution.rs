//! Executions: one placement of one task on one host; one-shot, never moved.

use super::task::TaskKey;
use alloc::{collections::BTreeMap, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{
    Attempt, Cpu, ExecutionId, ExitStatus, Fence, Health, HostId, Memory, Phase, PortName, Time,
    Version as VersionNumber,
    assignment::{Desired, InPlace},
    phase::AttemptState,
    report::Results,
};
use serde::{Deserialize, Serialize};

/// Why an execution was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum StopCause {
    /// The job was stopped.
    #[n(0)]
    JobStopped,
    /// The job was deleted.
    #[n(1)]
    JobDeleted,
    /// The job has fewer tasks now.
    #[n(2)]
    Shrink,
    /// The task moves to the current version.
    #[n(3)]
    Update,
    /// A newer run of the job replaces this one.
    #[n(4)]
    Superseded,
    /// The job has ended.
    #[n(5)]
    JobEnded,
    /// It did not get healthy within `healthyDeadline`.
    #[n(6)]
    HealthyDeadline,
    /// It was beside a task that goes on without it: a rollout ended before it took over.
    #[n(7)]
    RolloutEnded,
}

/// One placement of one task.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Execution {
    /// Its id.
    #[n(0)]
    pub id: ExecutionId,
    /// Whose.
    #[n(1)]
    pub task: TaskKey,
    /// What it runs.
    #[n(2)]
    pub version: VersionNumber,
    /// Where.
    #[n(3)]
    pub host: HostId,
    /// The host's fence when it was placed.
    #[n(4)]
    pub fence: Fence,
    /// What it holds of the host's CPU.
    #[n(5)]
    pub cpu: Cpu,
    /// What it holds of the host's memory.
    #[n(6)]
    pub memory: Memory,
    /// Static ports that it holds.
    #[n(7)]
    pub static_ports: Vec<u16>,
    /// When it was placed.
    #[n(8)]
    pub placed_at: Time,
    /// Where it is.
    #[n(9)]
    pub phase: Phase,
    /// What the host shall do with it.
    #[n(10)]
    pub desired: Desired,
    /// Why it was asked to stop.
    #[n(11)]
    pub stop: Option<StopCause>,
    /// The current attempt.
    #[n(12)]
    pub attempt: Attempt,
    /// Where that attempt is.
    #[n(13)]
    pub attempt_state: AttemptState,
    /// How it fares.
    #[n(14)]
    pub health: Health,
    /// Real port numbers.
    #[n(15)]
    pub ports: BTreeMap<PortName, u16>,
    /// How the last attempt ended.
    #[n(16)]
    pub exit: Option<ExitStatus>,
    /// What a completed task left.
    #[n(17)]
    pub results: Option<Results>,
    /// When it first ran.
    #[n(18)]
    pub started_at: Option<Time>,
    /// When it ended.
    #[n(19)]
    pub ended_at: Option<Time>,
    /// Since when it has been healthy without a dip.
    #[n(20)]
    pub healthy_since: Option<Time>,
    /// The version that its host said it obeys; absent until it says so first.
    #[n(21)]
    pub obeys: Option<VersionNumber>,
    /// Since when it obeys that version.
    #[n(22)]
    pub obeys_since: Option<Time>,
    /// When it was told to become another version in place.
    #[n(23)]
    pub changed_at: Option<Time>,
    /// The version that its host refuses to change it to now.
    #[n(24)]
    pub refused: Option<VersionNumber>,
    /// How far its host may go to change it in place.
    #[n(25)]
    pub in_place: InPlace,
    /// Whether its end has been judged.
    #[n(26)]
    pub judged: bool,
    /// When it last stopped being healthy.
    #[n(27)]
    pub dipped_at: Option<Time>,
    /// The version that its host has refused to change it to, as far as `in_place` says.
    #[n(28)]
    pub cannot: Option<VersionNumber>,
}

impl Execution {
    /// Whether it still holds its host's resources.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        !self.phase.is_final()
    }
    /// Whether it is asked to run.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        matches!(self.desired, Desired::Run) && self.is_live()
    }
    /// Whether it runs what it is asked to run, as far as its host has said.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.obeys.is_none_or(|obeyed| obeyed == self.version)
    }
    /// The version that its host runs, as far as it has said.
    #[must_use]
    pub fn runs(&self) -> VersionNumber {
        self.obeys.unwrap_or(self.version)
    }
    /// Whether it serves: healthy, asked to run, and not about to be restarted where it is.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_wanted()
            && self.healthy_since.is_some()
            && (self.is_settled() || self.in_place == InPlace::Live)
    }
    /// Since when its present version has been healthy without a dip.
    #[must_use]
    pub fn good_since(&self) -> Option<Time> {
        let since = self.healthy_since.filter(|_| self.is_wanted() && self.is_settled())?;
        Some(self.obeys_since.map_or(since, |obeys| obeys.max(since)))
    }
    /// When it was placed or told to change, whichever is later.
    #[must_use]
    pub fn asked_at(&self) -> Time {
        self.changed_at.unwrap_or(self.placed_at)
    }
    /// Whether its guest is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.phase == Phase::Running && self.attempt_state == AttemptState::Up
    }
}
