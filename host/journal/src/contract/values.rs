//! What goes into a journal and what comes out of it.

use crate::{BatchId, ClusterId, Digest, Epoch, Sequence};

/// How much an append matters when space runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Brings new work (a submission): refused while less than 5 % of the space is free.
    NewWork,
    /// Lets the cluster go on (stops, reports, leases): accepted as long as the disk takes it.
    Essential,
}

/// A batch that a writer wants to append.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// The writer's name of the batch.
    pub id: BatchId,
    /// What it is worth when space runs out.
    pub class: Class,
    /// The encoded decisions, at most [`crate::limits::MAX_PAYLOAD_BYTES`]; may be empty.
    pub payload: &'a [u8],
}

/// A committed batch, verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its number.
    pub sequence: Sequence,
    /// The term of its writer.
    pub epoch: Epoch,
    /// The writer's name of it.
    pub id: BatchId,
    /// Hash of its whole envelope, to which the next batch is chained.
    pub hash: Digest,
    /// The bytes that were appended.
    pub payload: Vec<u8>,
}

/// Where a batch landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its number.
    pub sequence: Sequence,
    /// The term in which it was written.
    pub epoch: Epoch,
}

/// A verified snapshot, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotRef {
    /// The last batch whose effect it holds.
    pub at: Sequence,
    /// The term of that batch's writer.
    pub epoch: Epoch,
    /// Hash of that batch's envelope: the chain goes on from here.
    pub chain: Digest,
    /// SHA-256 of the bytes.
    pub digest: Digest,
    /// Number of bytes.
    pub len_bytes: u64,
}

/// A verified snapshot with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What it is.
    pub reference: SnapshotRef,
    /// The bytes that were put.
    pub bytes: Vec<u8>,
}

/// Who leads, as this journal knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This handle leads and may append.
    Leader(Epoch),
    /// It does not; the epoch is the highest that it knows.
    Follower(Epoch),
}

impl Leadership {
    /// The epoch, whoever leads.
    #[must_use]
    pub const fn epoch(self) -> Epoch {
        match self {
            Self::Leader(epoch) | Self::Follower(epoch) => epoch,
        }
    }
}

/// Figures of an open journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Whose journal it is.
    pub cluster: ClusterId,
    /// The last committed batch.
    pub head: Sequence,
    /// The last trimmed batch; replay starts after it.
    pub floor: Sequence,
    /// The highest epoch.
    pub epoch: Epoch,
    /// Appends committed through this handle.
    pub commits: u64,
    /// Payload bytes committed through this handle.
    pub committed_bytes: u64,
    /// Appends refused by this handle.
    pub refusals: u64,
    /// Bytes that batches take (on disk, or in memory).
    pub stored_bytes: u64,
    /// Free share of the space in thousandths, where there is a disk.
    pub free_permille: Option<u32>,
    /// Why the journal accepts nothing more, if so.
    pub poison: Option<crate::Poison>,
}
