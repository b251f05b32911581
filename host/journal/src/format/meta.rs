//! The one record beside the batches: whose journal it is, its highest epoch, and where the chain
//! begins after a trim.
//!
//! Body: cluster 16, epoch 8, floor 8, hash of the floor's envelope 32.

use super::frame::{self, FrameError, Magic, Reader};
use crate::{ClusterId, Digest, Epoch, Sequence};

const MAGIC: Magic = *b"PLJM";

/// The record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) cluster: ClusterId,
    pub(crate) epoch: Epoch,
    /// The last trimmed batch; zero if none was.
    pub(crate) floor: Sequence,
    /// Hash of that batch, which the first kept one names as its predecessor.
    pub(crate) floor_hash: Digest,
}

impl Meta {
    /// The record of a new journal.
    pub(crate) const fn new(cluster: ClusterId) -> Self {
        Self { cluster, epoch: Epoch::ZERO, floor: Sequence::ZERO, floor_hash: Digest::GENESIS }
    }

    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = frame::begin(MAGIC, 0, 64);
        bytes.extend_from_slice(&self.cluster.0);
        bytes.extend_from_slice(&self.epoch.0.to_le_bytes());
        bytes.extend_from_slice(&self.floor.0.to_le_bytes());
        bytes.extend_from_slice(&self.floor_hash.0);
        frame::seal(bytes)
    }

    /// Verifies and reads it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let (_, body) = frame::open(bytes, MAGIC)?;
        let mut reader = Reader(body);
        let meta = Self {
            cluster: ClusterId(reader.array()?),
            epoch: Epoch(reader.u64()?),
            floor: Sequence(reader.u64()?),
            floor_hash: Digest(reader.array()?),
        };
        reader.rest(0)?;
        Ok(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_it_encodes() {
        let meta = Meta {
            epoch: Epoch(3),
            floor: Sequence(4),
            floor_hash: Digest([9; 32]),
            ..Meta::new(ClusterId([7; 16]))
        };
        assert_eq!(Meta::decode(&meta.encode()), Ok(meta));
    }
}
