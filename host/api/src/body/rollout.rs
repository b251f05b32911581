//! Rollouts and endpoints as answers show them.

use pliant_types::{ExecutionId, HostId, Incarnation, PortName, RolloutId, TaskNumber, Version};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// One move of a run between versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutView {
    /// Its id.
    #[schema(value_type = String, example = "r_9")]
    pub id: RolloutId,
    /// The run that it moves.
    #[schema(value_type = u32)]
    pub incarnation: Incarnation,
    /// pending, progressing, awaiting-promotion, paused, verifying; successful, failed, superseded or
    /// cancelled.
    pub state: String,
    /// Whether it has not ended.
    pub active: bool,
    /// created, updated, started, rollback or auto-rollback.
    pub cause: String,
    /// rolling, blue-green or recreate.
    pub strategy: String,
    /// The version that tasks move to.
    #[schema(value_type = u32)]
    pub version: Version,
    /// The version that the run was at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub from: Option<Version>,
    /// The failed rollout that it goes back from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub undoes: Option<RolloutId>,
    /// Where its tasks are.
    pub tasks: RolloutTasks,
    /// The tasks that go first and wait for a word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<u32>)]
    pub canaries: Vec<TaskNumber>,
    /// Whether its canaries, or its green set, were promoted.
    pub promoted: bool,
    /// Whether a task had to be stopped before its successor could start.
    pub stop_first_forced: bool,
    /// Tasks of the new version that failed.
    pub failures: u32,
    /// Failures that it survives.
    pub max_failures: u32,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it fails unless something gets better; absent while the clock stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline: Option<Timestamp>,
    /// What is left until then, in milliseconds; while it is paused, what was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_left_ms: Option<u64>,
    /// End of the present wait: bake, retirement of the old set, verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// What is left until then, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_left_ms: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Why it ended, in a stable word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in words, with evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why tasks do not move, while it is active.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<RolloutWait>,
}

/// Where the tasks of a rollout are; each is counted once in `old`, `moving` and `healthy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutTasks {
    /// Tasks that the run wants.
    pub wanted: u32,
    /// Tasks that serve, at whatever version.
    pub ready: u32,
    /// Tasks with nothing at the new version yet.
    pub old: u32,
    /// Tasks at the new version that are not healthy for `minHealthyTime` yet.
    pub moving: u32,
    /// Tasks at the new version that are.
    pub healthy: u32,
    /// Executions that are being stopped.
    pub draining: u32,
}

/// A reason that holds for tasks of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutWait {
    /// The stable word.
    pub code: String,
    /// One sentence with numbers.
    pub message: String,
    /// The tasks.
    #[schema(value_type = Vec<u32>)]
    pub tasks: Vec<TaskNumber>,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// The ready tasks of a job. A task is in no later list once it is asked to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointsView {
    /// Never goes back; a later list has a higher number, or is the same.
    pub number: u64,
    /// One for each port of a ready task.
    pub endpoints: Vec<EndpointView>,
}

/// One port of a ready task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointView {
    /// The task.
    #[schema(value_type = u32)]
    pub task: TaskNumber,
    /// The execution that serves it.
    #[schema(value_type = String, example = "e_412")]
    pub execution: ExecutionId,
    /// What it runs.
    #[schema(value_type = u32)]
    pub version: Version,
    /// Its host.
    #[schema(value_type = String, example = "h_3")]
    pub host: HostId,
    /// The port's name.
    #[schema(value_type = String)]
    pub port: PortName,
    /// Where it listens, `ADDRESS:PORT`.
    pub address: String,
}
