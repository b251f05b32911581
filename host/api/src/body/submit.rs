//! What writes take and answer: submissions and verbs.

use pliant_types::{JobName, JobUid, Namespace, Revision, RolloutId, Version};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How a submission is meant. The precondition is the header `If-Match`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
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

/// What a change of a field does to a task; the strongest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeClass {
    /// Nothing restarts; a label or a text.
    Metadata,
    /// Nothing restarts; live at the next decision.
    Policy,
    /// Tasks are added or removed.
    Scale,
    /// Limits change while the guest runs.
    Resize,
    /// The code is swapped in place.
    Swap,
    /// The guest restarts in its execution.
    Restart,
    /// Each task is stopped and placed again.
    Replace,
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

/// What `scale` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScaleBody {
    /// The number of tasks.
    pub count: u32,
}
