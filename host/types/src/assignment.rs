//! Everything one host must run now: what the agent pulls and obeys.
//!
//! Level-triggered: there are no start and stop messages that can get lost. Numbered by
//! (epoch, generation); a stream of changes can always be rebuilt from a whole assignment.

use crate::{
    digest::Digest,
    duration::Millis,
    health::Probes,
    id::{ExecutionId, HostId, JobUid},
    name::{JobName, Namespace},
    number::{Epoch, Fence, Generation, Incarnation, TaskNumber, Version},
    quantity::{Cpu, Memory},
    spec::{Backoff, Capabilities, Kind, Mount, Port, RestartPolicy, Reuse},
};
use alloc::{collections::BTreeMap, string::String, sync::Arc, vec::Vec};
use serde::{Deserialize, Serialize};

/// A host's whole assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assignment {
    /// Whose it is.
    pub host: HostId,
    /// The controller's term.
    pub epoch: Epoch,
    /// Counts the host's assignments.
    pub generation: Generation,
    /// The host's fence; reports carry it.
    pub fence: Fence,
    /// Every execution that is not final; what is not listed must end and be forgotten.
    pub executions: Vec<AssignedExecution>,
}

/// What changed since an older assignment of the same host and epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignmentDelta {
    /// The controller's term.
    pub epoch: Epoch,
    /// The generation that this leads to.
    pub generation: Generation,
    /// The generation that the receiver must have; otherwise it asks for the whole.
    pub base: Generation,
    /// New or changed executions.
    pub put: Vec<AssignedExecution>,
    /// Executions that are no longer listed.
    pub remove: Vec<ExecutionId>,
}

/// One execution as its host must treat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignedExecution {
    /// Which execution.
    pub execution: ExecutionId,
    /// The job's uid.
    pub job: JobUid,
    /// The job's namespace.
    pub namespace: Namespace,
    /// The job's name.
    pub name: JobName,
    /// The run of the job.
    pub incarnation: Incarnation,
    /// The member of the job.
    pub task: TaskNumber,
    /// The version to run.
    pub version: Version,
    /// Run it or end it.
    pub desired: Desired,
    /// How far the host may go to bring a running execution from another template to this one.
    #[serde(default, skip_serializing_if = "InPlace::is_live")]
    pub in_place: InPlace,
    /// How to run it; shared by the tasks of a version.
    pub template: Arc<TaskTemplate>,
}

/// How far a host may go to change an execution that runs (03-jobs.md, section 4).
///
/// What it may not do, or cannot do, it refuses in its observation; the planner then replaces the
/// task.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    minicbor::Encode,
    minicbor::Decode,
)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum InPlace {
    /// Only what its guest does not notice: limits, rules, probes.
    #[default]
    #[n(0)]
    Live,
    /// It may be restarted where it is.
    #[n(1)]
    Restart,
}

impl InPlace {
    /// Whether it is the gentlest.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live)
    }
}

/// Run an execution or end it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "kebab-case")]
pub enum Desired {
    /// Keep it running.
    #[n(0)]
    Run,
    /// Ask it to stop, and end it when the time is over.
    #[n(1)]
    Stop {
        /// Between being asked and being ended.
        #[n(0)]
        #[serde(rename = "killMs", with = "crate::duration::as_number")]
        kill: Millis,
    },
}

/// All that an agent needs to run a task of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskTemplate {
    /// Meaning of an end.
    pub kind: Kind,
    /// `wasm` or `container`.
    pub engine: String,
    /// The artifact's bytes.
    pub digest: Digest,
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// `wasi:config/store`.
    pub config: BTreeMap<String, String>,
    /// CPU share.
    pub cpu: Cpu,
    /// Memory limit.
    pub memory: Memory,
    /// Ports, sorted by name.
    pub ports: Vec<Port>,
    /// Mounts, sorted by target.
    pub mounts: Vec<Mount>,
    /// What else is granted.
    pub capabilities: Capabilities,
    /// Reuse of HTTP instances; absent is a fresh one a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// When an ended attempt is followed by another.
    pub restart: RestartRule,
    /// `timeouts.execution`; 0 is no limit.
    pub execution_timeout: Millis,
    /// `timeouts.kill`.
    pub kill_timeout: Millis,
    /// Whether the agent must end it when its lease is over.
    pub exclusive: bool,
    /// How its health is found out.
    #[serde(default, skip_serializing_if = "Probes::is_empty")]
    pub probes: Probes,
    /// `service.drain`: how long it goes on with what it has between leaving the endpoints and being
    /// asked to stop.
    #[serde(default, skip_serializing_if = "Millis::is_zero")]
    pub drain: Millis,
}

/// The restart policy with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestartRule {
    /// When.
    pub policy: RestartPolicy,
    /// Delays.
    pub backoff: Backoff,
    /// Restarts allowed within the window.
    pub attempts: u32,
    /// The window; the delay's counter is reset after it.
    pub within: Millis,
}
