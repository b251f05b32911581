//! What writes take and answer: submissions and verbs.

use std::collections::BTreeMap;

use pliant_types::{
    ChangeClass, Incarnation, JobName, JobUid, Namespace, Revision, RolloutId, TaskNumber, Version,
    VersionRef,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How a submission is meant. The precondition is the header `If-Match`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SubmitQuery {
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Deploy again although nothing changed.
    #[serde(default)]
    pub force: bool,
    /// Why, kept with the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The user's words for where the component came from, when it was uploaded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What a submission did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubmitOutcome {
    /// There was no such job.
    Created,
    /// Nothing changed.
    Unchanged,
    /// Unchanged, and started again.
    Started,
    /// Unchanged, deployed again because it was forced.
    Forced,
    /// A new version.
    Updated,
}

/// One changed field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView {
    /// Dotted path, such as `spec.env.PATH`.
    pub field: String,
    /// The effective value before, as JSON; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The effective value now, as JSON; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// What it does to tasks.
    #[schema(value_type = String, example = "restart")]
    pub class: ChangeClass,
}

/// The answer of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubmitAnswer {
    /// The job's namespace.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The job's name.
    #[schema(value_type = String)]
    pub name: JobName,
    /// What it did, or would do.
    pub outcome: SubmitOutcome,
    /// Whether nothing was done because it was only asked about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The job's id; absent when it was only asked about and does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "j_17")]
    pub uid: Option<JobUid>,
    /// The current version.
    #[schema(value_type = u32)]
    pub version: Version,
    /// The version before, when there is a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub previous_version: Option<Version>,
    /// The job's spec revision, its ETag: what `--expect-revision` takes.
    #[schema(value_type = u64)]
    pub revision: Revision,
    /// The rollout that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "r_9")]
    pub rollout: Option<RolloutId>,
    /// Every changed field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeView>,
    /// What the user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What it would do to each task; only when it was only asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
}

/// What a submission would do to each task. Classes are binding, hosts are a forecast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// The live size now; absent for a new job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_before: Option<u32>,
    /// The live size afterwards.
    pub size_after: u32,
    /// The job's spec revision now, for `If-Match`; 0 when there is no job.
    #[schema(value_type = u64)]
    pub expect_revision: Revision,
    /// How many tasks of each step: keep, relabel, start, replace, stop.
    pub counts: BTreeMap<String, u32>,
    /// The first thousand tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepView>,
}

/// What would happen to one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// The run.
    #[schema(value_type = u32)]
    pub incarnation: Incarnation,
    /// The task.
    #[schema(value_type = u32)]
    pub task: TaskNumber,
    /// keep, relabel, start, replace or stop.
    pub step: String,
    /// The version that it runs afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub version: Option<Version>,
    /// The name of its host now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The name of the host where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why it would wait, when no host has room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
}

/// The answer of a verb on a job: stop, start, scale, delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerbAnswer {
    /// The job's id.
    #[schema(value_type = String, example = "j_17")]
    pub uid: JobUid,
    /// The job's spec revision afterwards.
    #[schema(value_type = u64)]
    pub revision: Revision,
    /// Whether anything changed; a verb that finds everything as asked changes nothing.
    pub changed: bool,
}

/// What `scale` takes: exactly one of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScaleBody {
    /// The number of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// So many more, or fewer when negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<i32>,
}

/// What `rollback` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollbackBody {
    /// `7`, a tag, `proven`, `previous`; without it the newest proven version that differs, else the
    /// one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "proven")]
    pub to: Option<VersionRef>,
    /// Why, kept with the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What putting a tag takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TagBody {
    /// The version that gets the tag; the current one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "7")]
    pub version: Option<VersionRef>,
}

/// Which runs a stop means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StopQuery {
    /// Only the runs of this version; batch and ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<u32>)]
    pub version: Option<Version>,
}
