//! What agents observe: the whole present state of each execution, sent again until it is known.

use crate::{
    digest::Digest,
    duration::Millis,
    exit::ExitStatus,
    host::HostDescription,
    id::{ExecutionId, HostId, JobUid},
    name::PortName,
    number::{Attempt, Epoch, Fence, Generation, Incarnation, Version},
    phase::{AttemptState, Health, Phase},
};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Most observations in one report; the agent sends several reports for more.
pub const MAX_OBSERVATIONS: usize = 256;

/// The present state of one execution on its host.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct Observation {
    /// Which execution.
    #[n(0)]
    pub execution: ExecutionId,
    /// The job's uid.
    #[n(1)]
    pub job: JobUid,
    /// The run of the job.
    #[n(2)]
    pub incarnation: Incarnation,
    /// The fence under which it was placed.
    #[n(3)]
    pub fence: Fence,
    /// Preparing, running, stopping or final; never placed or lost.
    #[n(4)]
    pub phase: Phase,
    /// The current attempt.
    #[n(5)]
    pub attempt: Attempt,
    /// Where that attempt is.
    #[n(6)]
    pub attempt_state: AttemptState,
    /// How it fares.
    #[n(7)]
    pub health: Health,
    /// Real port numbers on the host.
    #[n(8)]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<PortName, u16>,
    /// How the last attempt, or a final execution, ended.
    #[n(9)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitStatus>,
    /// What a completed task left in its output directory.
    #[n(10)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
    /// What the agent does now, in words with numbers ("compiling, 2 of 5 MB").
    #[n(11)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The version whose template it obeys now; absent until its first start.
    #[n(12)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The assigned version that the host cannot, or may not, change this execution to in place.
    #[n(13)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Version>,
}

/// An archive of a task's output directory in the artifact store.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct Results {
    /// The archive (tar).
    #[n(0)]
    pub digest: Digest,
    /// Its size in bytes.
    #[n(1)]
    pub size_bytes: u64,
    /// Files in it.
    #[n(2)]
    pub files: u32,
}

/// A batch of observations from one host.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct Report {
    /// The machine's boot.
    #[n(0)]
    pub boot: String,
    /// The host's fence as the agent knows it.
    #[n(1)]
    pub fence: Fence,
    /// Highest term that the agent obeyed.
    #[n(2)]
    pub epoch: Epoch,
    /// Highest generation of that term that the agent obeyed.
    #[n(3)]
    pub generation: Generation,
    /// At most [`MAX_OBSERVATIONS`].
    #[n(4)]
    pub observations: Vec<Observation>,
}

/// A leftover that a registering agent still has.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    minicbor::Encode,
    minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct InventoryItem {
    /// Which execution.
    #[n(0)]
    pub execution: ExecutionId,
    /// The fence under which it was placed.
    #[n(1)]
    pub fence: Fence,
}

/// What an agent sends to become or stay a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registration {
    /// What the host is.
    pub description: HostDescription,
    /// The id that it was given before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostId>,
    /// Highest term and generation that it obeyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obeyed: Option<Obeyed>,
    /// Every execution that it still has, running or not.
    pub inventory: Vec<InventoryItem>,
}

/// The highest assignment that an agent obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Obeyed {
    /// The term.
    pub epoch: Epoch,
    /// The generation in it.
    pub generation: Generation,
}

/// The answer to a registration.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct Registered {
    /// The host's id.
    #[n(0)]
    pub host: HostId,
    /// The host's fence.
    #[n(1)]
    pub fence: Fence,
    /// Executions that must end before the host gets work; register again when they have.
    #[n(2)]
    pub kill: Vec<ExecutionId>,
}

/// What an agent is told when it renews its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Renewed {
    /// The controller's term.
    pub epoch: Epoch,
    /// The host's fence; another one than the agent's means: register again.
    pub fence: Fence,
    /// How long the lease is, counted from when the agent sent the renewal.
    #[serde(rename = "leaseMs", with = "crate::duration::as_number")]
    pub lease: Millis,
}
