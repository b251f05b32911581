//! What a command that was carried out answers; remembered for idempotent requests.

use alloc::{string::String, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{ChangeClass, JobUid, Revision, RolloutId, Version, report::Registered};
use serde::{Deserialize, Serialize};

/// The answer of a command.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// Done; there is nothing to add.
    #[n(0)]
    Done,
    /// A submission's outcome.
    #[n(1)]
    Submitted(#[n(0)] SubmitAnswer),
    /// A verb on a job.
    #[n(2)]
    Job {
        /// The job.
        #[n(0)]
        uid: JobUid,
        /// Its spec revision afterwards.
        #[n(1)]
        spec_revision: Revision,
    },
    /// A host's registration.
    #[n(3)]
    Registered(#[n(0)] Registered),
}

/// What a submission did (03-jobs.md, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum SubmitOutcome {
    /// There was no such job.
    #[n(0)]
    Created,
    /// Nothing changed.
    #[n(1)]
    Unchanged,
    /// Unchanged, and started again.
    #[n(2)]
    Started,
    /// Unchanged, deployed again because it was forced.
    #[n(3)]
    Forced,
    /// A new version.
    #[n(4)]
    Updated,
}

/// One changed field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(map)]
pub struct Change {
    /// Dotted path, such as `spec.env.PATH`.
    #[n(0)]
    pub field: String,
    /// The effective value before, as JSON; absent when there was none.
    #[n(1)]
    pub old: Option<String>,
    /// The effective value now, as JSON; absent when there is none.
    #[n(2)]
    pub new: Option<String>,
    /// What it does to tasks.
    #[n(3)]
    pub class: ChangeClass,
}

/// The answer of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(map)]
pub struct SubmitAnswer {
    /// What it did.
    #[n(0)]
    pub outcome: SubmitOutcome,
    /// The job.
    #[n(1)]
    pub uid: JobUid,
    /// Its current version.
    #[n(2)]
    pub version: Version,
    /// The version before, when there is a new one.
    #[n(3)]
    pub previous_version: Option<Version>,
    /// The job's spec revision: its ETag.
    #[n(4)]
    pub revision: Revision,
    /// Every changed field.
    #[n(5)]
    pub changes: Vec<Change>,
    /// What the user should know.
    #[n(6)]
    pub warnings: Vec<String>,
    /// The rollout that it began.
    #[n(7)]
    pub rollout: Option<RolloutId>,
}
