//! Why something waits or fails: the planner's report, with its evidence.

use pliant_types::codes::WaitCode;
use pliant_types::{ExecutionId, HostName, TaskNumber};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ExitView, Timestamp};

/// The answer of `why`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhyView {
    /// What was asked about: a job, a task or an execution, by name.
    pub subject: String,
    /// One sentence that says it all.
    pub sentence: String,
    /// Everything that waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
    /// Ends that explain it, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<LastEnd>,
    /// The commands that would help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// One thing that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// The task; absent when the whole job waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub task: Option<TaskNumber>,
    /// The stable code.
    #[schema(value_type = String, example = "no-room")]
    pub code: WaitCode,
    /// A sentence with numbers.
    pub message: String,
    /// Hosts, grouped by what speaks against them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostGroup>,
    /// When it is looked at again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// Hosts against which the same thing speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostGroup {
    /// What speaks against them, with numbers.
    pub reason: String,
    /// How many they are.
    pub count: u32,
    /// Some of them.
    #[schema(value_type = Vec<String>)]
    pub examples: Vec<HostName>,
}

/// An end that explains something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastEnd {
    /// The execution.
    #[schema(value_type = String)]
    pub execution: ExecutionId,
    /// The task.
    #[schema(value_type = u32)]
    pub task: TaskNumber,
    /// How it ended.
    pub exit: ExitView,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// The last lines that it wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines: Vec<String>,
}
