//! An execution as answers show it.

use pliant_types::exit::ExitReason;
use pliant_types::phase::AttemptState;
use pliant_types::report::Results;
use pliant_types::{
    Attempt, ExecutionId, ExitStatus, Health, HostId, HostName, Incarnation, JobName, JobUid,
    Namespace, Phase, PortName, TaskNumber, Version,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ResultView, Timestamp};

/// One placement of one task on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionView {
    /// Its id.
    #[schema(value_type = String, example = "e_412")]
    pub id: ExecutionId,
    /// The job's id.
    #[schema(value_type = String, example = "j_17")]
    pub job_uid: JobUid,
    /// The job's namespace.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The job's name.
    #[schema(value_type = String)]
    pub job: JobName,
    /// The run of the job.
    #[schema(value_type = u32)]
    pub incarnation: Incarnation,
    /// The member of the job.
    #[schema(value_type = u32)]
    pub task: TaskNumber,
    /// What it runs.
    #[schema(value_type = u32)]
    pub version: Version,
    /// Where.
    #[schema(value_type = String, example = "h_3")]
    pub host: HostId,
    /// The host's own name.
    #[schema(value_type = String)]
    pub host_name: HostName,
    /// placed, preparing, running, stopping, completed, failed, stopped or lost.
    #[schema(value_type = String)]
    pub phase: Phase,
    /// unknown, healthy or unhealthy.
    #[schema(value_type = String)]
    pub health: Health,
    /// The current start.
    #[schema(value_type = u32)]
    pub attempt: Attempt,
    /// waiting, preparing, starting, up or ended.
    #[schema(value_type = String)]
    pub attempt_state: AttemptState,
    /// Why it was asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_cause: Option<String>,
    /// Its ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortView>,
    /// How the last start ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitView>,
    /// What it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<ResultView>,
    /// What its host does with it now, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When it was placed.
    #[schema(value_type = String, format = DateTime)]
    pub placed_at: Timestamp,
    /// When it first ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

/// A port of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PortView {
    /// The port's name in the spec.
    #[schema(value_type = String)]
    pub name: PortName,
    /// Where it can be reached, `ADDRESS:PORT`; with `http://` when HTTP is spoken.
    pub address: String,
}

/// How a start ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitView {
    /// What ended it, such as `exited` or `trapped`.
    #[schema(value_type = String)]
    pub reason: ExitReason,
    /// The guest's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// A trap's message and backtrace, or another cause in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl From<&ExitStatus> for ExitView {
    fn from(exit: &ExitStatus) -> Self {
        Self { reason: exit.reason, code: exit.code, detail: exit.detail.clone() }
    }
}

impl From<&Results> for ResultView {
    fn from(results: &Results) -> Self {
        Self { digest: results.digest, size_bytes: results.size_bytes, files: results.files }
    }
}
