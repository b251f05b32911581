//! The header of a snapshot; its bytes follow.
//!
//! Body: cluster 16, epoch 8, sequence 8, hash of that batch's envelope 32, SHA-256 of the
//! snapshot's bytes 32, their number 8.

use super::{
    envelope,
    frame::{self, FrameError, HEADER_BYTES, Magic, Reader},
};
use crate::{ClusterId, Digest, Epoch, Sequence, Snapshot, SnapshotRef};

const MAGIC: Magic = *b"PLJS";

/// Bytes before the snapshot's own.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + 104;

/// The header of a snapshot.
pub(crate) fn encode_header(cluster: ClusterId, reference: &SnapshotRef) -> Vec<u8> {
    let mut bytes = frame::begin(MAGIC, 0, OVERHEAD_BYTES - HEADER_BYTES);
    bytes.extend_from_slice(&cluster.0);
    bytes.extend_from_slice(&reference.epoch.0.to_le_bytes());
    bytes.extend_from_slice(&reference.at.0.to_le_bytes());
    bytes.extend_from_slice(&reference.chain.0);
    bytes.extend_from_slice(&reference.digest.0);
    bytes.extend_from_slice(&reference.len_bytes.to_le_bytes());
    frame::seal(bytes)
}

/// Reads and verifies a header.
pub(crate) fn decode_header(bytes: &[u8]) -> Result<(ClusterId, SnapshotRef), FrameError> {
    let Some(header) = bytes.get(..OVERHEAD_BYTES) else {
        return Err(FrameError::Broken(format!("{} bytes are too few", bytes.len())));
    };
    let (_, body) = frame::open(header, MAGIC)?;
    let mut reader = Reader(body);
    let cluster = ClusterId(reader.array()?);
    let epoch = Epoch(reader.u64()?);
    let at = Sequence(reader.u64()?);
    let chain = Digest(reader.array()?);
    let digest = Digest(reader.array()?);
    let len_bytes = reader.u64()?;
    Ok((cluster, SnapshotRef { at, epoch, chain, digest, len_bytes }))
}

/// Reads and verifies a whole snapshot.
pub(crate) fn decode(mut bytes: Vec<u8>) -> Result<(ClusterId, Snapshot), FrameError> {
    let (cluster, reference) = decode_header(&bytes)?;
    let payload = bytes.split_off(OVERHEAD_BYTES);
    Reader(&payload).rest(reference.len_bytes)?;
    if envelope::hash(&payload) != reference.digest {
        return Err(FrameError::Broken("its bytes do not have the stored hash".into()));
    }
    Ok((cluster, Snapshot { reference, bytes: payload }))
}
