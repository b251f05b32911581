//! Every body of the HTTP API: camelCase, times in RFC 3339, amounts as integers with their unit in the name.
//!
//! Fields are only added. Readers ignore what they do not know; a golden file for each body guards the rest.

mod agent;
mod artifact;
mod event;
mod execution;
mod host;
mod job;
mod journal;
mod rollout;
mod route;
mod submit;
mod timestamp;
mod why;

pub use agent::{AssignmentEvent, ReportAnswer};
pub use artifact::{ArtifactKind, ArtifactView, MAX_ARTIFACT_BYTES, ResultView, ResultsView};
pub use event::{EventView, LogLine, LogStream, WatchEvent};
pub use execution::{ExecutionView, ExitView, PortView};
pub use host::{HostAmounts, HostModeBody, HostView};
pub use job::{
    Condition, DiffQuery, DiffView, JobMetadata, JobStatus, JobSummary, JobView, NamespaceView,
    RunView, TaskCounts, VersionView,
};
pub use journal::{JournalStats, ServerVersion};
pub use pliant_types::ChangeClass;
pub use rollout::{EndpointView, EndpointsView, RolloutTasks, RolloutView, RolloutWait};
pub use route::{RouteEndpoint, RouteTable, RouteView};
pub use submit::{
    ChangeView, PlanView, RollbackBody, ScaleBody, StepView, StopQuery, SubmitAnswer,
    SubmitOutcome, SubmitQuery, TagBody, VerbAnswer,
};
pub use timestamp::Timestamp;
pub use why::{HostGroup, LastEnd, Waiting, WhyView};

use pliant_types::{Incarnation, Revision, Version};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Entries in one page when the caller asks for no number.
pub const DEFAULT_LIMIT: u32 = 200;
/// Most entries in one page.
pub const MAX_LIMIT: u32 = 1_000;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The entries, in the order of the list.
    pub items: Vec<T>,
    /// The state that all pages of this list show.
    #[schema(value_type = u64)]
    pub revision: Revision,
    /// Opaque; given as `cursor` it continues the list. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which part of a job a list means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Only what ran this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<u32>)]
    pub version: Option<Version>,
    /// Only this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<u32>)]
    pub run: Option<Incarnation>,
}

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// From an earlier page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Entries in a page; 200 when absent, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Answer from no older state than this (read your writes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_revision: Option<u64>,
}

/// How new the state behind an answer must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RevisionQuery {
    /// Answer from no older state than this (read your writes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_revision: Option<u64>,
}

/// What a watch shows and where it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WatchQuery {
    /// Only events after this revision; the header `Last-Event-ID` wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Whether the stream goes on after the present.
    #[serde(default)]
    pub follow: bool,
}

/// Which lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Whether the stream goes on after the present end.
    #[serde(default)]
    pub follow: bool,
    /// Only the last lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u32>,
    /// The log of this attempt; the current one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Only this stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub stream: Option<LogStream>,
}
