//! Artifacts and results as answers show them.

use pliant_types::{Digest, ExecutionId, Incarnation, TaskNumber, Version};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// Largest artifact, in bytes; a component beyond it is refused before its bytes are sent.
pub const MAX_ARTIFACT_BYTES: u64 = 256 * 1024 * 1024;

/// Bytes in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactView {
    /// Their digest.
    #[schema(value_type = String)]
    pub digest: Digest,
    /// Their number.
    pub size_bytes: u64,
    /// What they are.
    pub kind: ArtifactKind,
    /// Interfaces that a component imports; empty for what is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// Interfaces that a component exports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<String>,
    /// When the store got them.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Whether a kept version or result needs them.
    pub in_use: bool,
}

/// What an artifact is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactKind {
    /// A component.
    Component,
    /// A core module.
    Module,
    /// An archive of results.
    Archive,
    /// Anything else.
    Other,
}

/// What a task left in its output directory, as one archive in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultView {
    /// The archive (tar).
    #[schema(value_type = String)]
    pub digest: Digest,
    /// Its size.
    pub size_bytes: u64,
    /// Files in it.
    pub files: u32,
}

/// The results of one run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultsView {
    /// The run.
    #[schema(value_type = u32)]
    pub incarnation: Incarnation,
    /// Its version.
    #[schema(value_type = u32)]
    pub version: Version,
    /// The task.
    #[schema(value_type = u32)]
    pub task: TaskNumber,
    /// The execution that left it.
    #[schema(value_type = String)]
    pub execution: ExecutionId,
    /// What it left.
    pub result: ResultView,
}
