//! A job as answers show it: metadata, spec as written, effective spec, status.

use std::collections::BTreeMap;

use pliant_types::{
    Digest, Incarnation, JobName, JobSpec, JobUid, Kind, Namespace, Revision, Tag, Version,
    VersionRef,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ChangeView, ExecutionView, RolloutView, Timestamp};

/// A job. What is printed of it can be submitted again and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// `pliant.dev/v1`.
    pub api_version: String,
    /// Names, labels, and what the server counts.
    pub metadata: JobMetadata,
    /// The spec of the current version, as written.
    #[schema(value_type = Object)]
    pub spec: JobSpec,
    /// The spec with its defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub effective: Option<JobSpec>,
    /// What is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
}

/// Names, labels, and what the server counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobMetadata {
    /// The name.
    #[schema(value_type = String)]
    pub name: JobName,
    /// The namespace.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// Free labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Free texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The id, never used again.
    #[schema(value_type = String, example = "j_17")]
    pub uid: JobUid,
    /// The revision of the state that this answer shows.
    #[schema(value_type = u64)]
    pub revision: Revision,
    /// The revision at which what is wanted last changed; the ETag.
    #[schema(value_type = u64)]
    pub spec_revision: Revision,
    /// The version that is wanted now.
    #[schema(value_type = u32)]
    pub current_version: Version,
    /// The newest run.
    #[schema(value_type = u32)]
    pub incarnation: Incarnation,
    /// When the job was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When what is wanted last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// What is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// pending, running, stopping, stopped, completed or failed.
    pub run_state: String,
    /// Tasks that the job has now.
    pub size: u32,
    /// How they fare.
    pub tasks: TaskCounts,
    /// The newest version that every task runs; absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub observed_version: Option<Version>,
    /// Why it ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// What deserves a word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Addresses of ready tasks' ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// The newest rollout of the newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutView>,
    /// The version that runs when the present run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub queued_version: Option<Version>,
    /// The kept runs of a batch or ops job, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunView>,
    /// The newest execution of each task, up to a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executions: Vec<ExecutionView>,
}

/// One run of a batch or ops job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its number.
    #[schema(value_type = u32)]
    pub incarnation: Incarnation,
    /// Its version.
    #[schema(value_type = u32)]
    pub version: Version,
    /// active, completed, failed or ended.
    pub state: String,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

/// How many tasks are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCounts {
    /// Tasks that the job has.
    pub wanted: u32,
    /// Tasks without a live execution, and not done.
    pub pending: u32,
    /// Tasks whose guest is up.
    pub running: u32,
    /// Tasks that are up and healthy.
    pub healthy: u32,
    /// Tasks that ended with success.
    pub completed: u32,
    /// Tasks that ended without.
    pub failed: u32,
}

/// Something about a job that deserves a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// A word such as `Waiting` or `Degraded`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A stable code.
    pub reason: String,
    /// A sentence with numbers.
    pub message: String,
}

/// A job in one line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSummary {
    /// The namespace.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The name.
    #[schema(value_type = String)]
    pub name: JobName,
    /// The id.
    #[schema(value_type = String, example = "j_17")]
    pub uid: JobUid,
    /// What done means.
    #[schema(value_type = String, example = "service")]
    pub kind: Kind,
    /// pending, running, stopping, stopped, completed or failed.
    pub run_state: String,
    /// The version that is wanted now.
    #[schema(value_type = u32)]
    pub version: Version,
    /// How the tasks fare.
    pub tasks: TaskCounts,
    /// One sentence when the job waits or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When the job was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When what is wanted last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// One version of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionView {
    /// Its number.
    #[schema(value_type = u32)]
    pub version: Version,
    /// Whether it is the one that is wanted now.
    pub current: bool,
    /// Who submitted it.
    pub author: String,
    /// Why, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The bytes that its tasks run.
    #[schema(value_type = String)]
    pub digest: Digest,
    /// Where they came from, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The version that it is a copy of, after a rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub from: Option<Version>,
    /// The user's words for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    /// When it was proven, or its equal was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub proven_at: Option<Timestamp>,
    /// What became of it: progressing, successful, failed, superseded or cancelled.
    pub result: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Decides whether tasks must change, as it was worked out once.
    pub template_hash: String,
    /// Labels of the job at this version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the job at this version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The spec as written.
    #[schema(value_type = Object)]
    pub spec: JobSpec,
    /// The text as written, with its comments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffView {
    /// The first version.
    #[schema(value_type = u32)]
    pub from: Version,
    /// The second.
    #[schema(value_type = u32)]
    pub to: Version,
    /// Every field that differs, in the order of the paths.
    pub changes: Vec<ChangeView>,
    /// The text of the first, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_text: Option<String>,
    /// The text of the second, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_text: Option<String>,
}

/// Which two versions are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// `7`, a tag, `proven`, `current` or `previous`; previous without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub from: Option<VersionRef>,
    /// The same; current without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub to: Option<VersionRef>,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: Namespace,
    /// Jobs in it.
    pub jobs: u32,
    /// When it was created; `default` always was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Timestamp>,
}
