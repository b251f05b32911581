//! A host as answers show it.

use std::collections::BTreeMap;

use pliant_types::host::{HostMode, HostStage};
use pliant_types::{Fence, Generation, HostId, HostName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// A machine that runs an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// Its id.
    #[schema(value_type = String, example = "h_3")]
    pub id: HostId,
    /// Its own name.
    #[schema(value_type = String)]
    pub name: HostName,
    /// Where its agent serves logs.
    pub address: String,
    /// up, suspect, unreachable, lost or rejoining.
    #[schema(value_type = String)]
    pub stage: HostStage,
    /// active, paused or draining.
    #[schema(value_type = String)]
    pub mode: HostMode,
    /// How often it was declared lost or came back from a boot.
    #[schema(value_type = u32)]
    pub fence: Fence,
    /// Counts its assignments.
    #[schema(value_type = u64)]
    pub generation: Generation,
    /// What tasks may use.
    pub capacity: HostAmounts,
    /// What live executions hold.
    pub held: HostAmounts,
    /// What its agent found.
    pub attributes: BTreeMap<String, String>,
    /// What its operator gave it.
    pub labels: BTreeMap<String, String>,
    /// When it registered first.
    #[schema(value_type = String, format = DateTime)]
    pub registered_at: Timestamp,
    /// Milliseconds since it was last heard; absent when this controller never heard it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heard_ms: Option<u64>,
}

/// Amounts of what a host can give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostAmounts {
    /// Thousandths of a core.
    pub cpu_millis: u64,
    /// Bytes.
    pub memory_bytes: u64,
    /// Executions.
    pub executions: u32,
}

/// What people want of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostModeBody {
    /// active, paused or draining.
    #[schema(value_type = String)]
    pub mode: HostMode,
}
