//! What streams carry: events of the cluster, lines of logs.

use pliant_types::{ExecutionId, HostId, JobName, JobUid, Namespace, Revision, TaskNumber};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{JobView, Timestamp};

/// Something that was decided or observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// Its place in the order of everything.
    #[schema(value_type = u64)]
    pub revision: Revision,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// A word such as `execution-placed`.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// The job's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub namespace: Option<Namespace>,
    /// The job's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub job: Option<JobName>,
    /// The job's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub job_uid: Option<JobUid>,
    /// The member of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub task: Option<TaskNumber>,
    /// The execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub execution: Option<ExecutionId>,
    /// The host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub host: Option<HostId>,
}

/// What a watch sends; the frame's `event` is the word, its `id` the revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum WatchEvent {
    /// The job as it is, at the start of a watch of one job and after each change.
    Snapshot {
        /// The job.
        job: Box<JobView>,
    },
    /// Something was decided or observed.
    Event {
        /// What.
        event: EventView,
    },
    /// The history asked for is gone; what follows starts at this revision.
    Reset {
        /// Where it starts.
        #[schema(value_type = u64)]
        revision: Revision,
    },
    /// The job that was watched is gone.
    Gone,
    /// The controller is stopping; watch again from the last revision.
    Shutdown,
}

impl WatchEvent {
    /// The frame's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Snapshot { .. } => "snapshot",
            Self::Event { .. } => "event",
            Self::Reset { .. } => "reset",
            Self::Gone => "gone",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A stream that a guest writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// What the agent says about the execution.
    Agent,
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// When the agent read it.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Which stream.
    pub stream: LogStream,
    /// The line without its end; bytes that are no UTF-8 are replaced.
    pub line: String,
}
