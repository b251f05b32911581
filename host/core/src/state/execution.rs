//! Executions: one placement of one task on one host; one-shot, never moved.

use super::task::TaskKey;
use alloc::{collections::BTreeMap, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{
    Attempt, Cpu, ExecutionId, ExitStatus, Fence, Health, HostId, Memory, Phase, PortName, Time,
    Version as VersionNumber, assignment::Desired, phase::AttemptState, report::Results,
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
    /// Since when it has been up without a dip.
    #[n(20)]
    pub healthy_since: Option<Time>,
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
    /// Whether its guest is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.phase == Phase::Running && self.attempt_state == AttemptState::Up
    }
}
