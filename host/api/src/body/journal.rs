//! The state of the journal and of the controller itself.

use pliant_types::{Epoch, Revision};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The journal as the controller sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalStats {
    /// memory, sled or etcd.
    pub engine: String,
    /// Whether it takes writes; else why not.
    pub writable: bool,
    /// Why it takes no writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The term.
    #[schema(value_type = u64)]
    pub epoch: Epoch,
    /// Facts so far.
    #[schema(value_type = u64)]
    pub revision: Revision,
    /// The last batch.
    pub head_sequence: u64,
    /// The first batch that is still kept.
    pub first_sequence: u64,
    /// The batch that the newest snapshot stands for; 0 when there is none.
    pub snapshot_sequence: u64,
    /// Bytes on disk.
    pub size_bytes: u64,
    /// The state's hash at this revision, as 16 hexadecimal digits.
    pub state_hash: String,
}

/// Which program answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// Version of the program.
    pub version: String,
    /// `pliant.dev/v1`.
    pub api_version: String,
    /// Where the cluster keeps its files; only for those who have a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
}
