//! The envelope round a batch's payload, and its hash, to which the next batch is chained.
//!
//! Body after the frame's header: cluster 16, epoch 8, sequence 8, batch id 16, hash of the
//! previous envelope 32, payload length 4, payload.

use sha2::{Digest as _, Sha256};

use super::frame::{self, FrameError, HEADER_BYTES, Magic, Reader};
use crate::{BatchId, ClusterId, Digest, Epoch, Sequence, limits::MAX_PAYLOAD_BYTES};

const MAGIC: Magic = *b"PLJB";

/// Bytes before the payload.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + 84;

/// Bytes of the largest envelope.
pub(crate) const MAX_ENVELOPE_BYTES: usize = OVERHEAD_BYTES + MAX_PAYLOAD_BYTES;

/// What an envelope says about its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) cluster: ClusterId,
    pub(crate) epoch: Epoch,
    pub(crate) sequence: Sequence,
    pub(crate) id: BatchId,
    pub(crate) previous: Digest,
}

/// Envelope bytes and their hash.
pub(crate) fn encode(label: &Label, payload: &[u8]) -> (Vec<u8>, Digest) {
    let len = u32::try_from(payload.len()).expect("a payload is below MAX_PAYLOAD_BYTES");
    let mut bytes = frame::begin(MAGIC, 0, OVERHEAD_BYTES - HEADER_BYTES + payload.len());
    bytes.extend_from_slice(&label.cluster.0);
    bytes.extend_from_slice(&label.epoch.0.to_le_bytes());
    bytes.extend_from_slice(&label.sequence.0.to_le_bytes());
    bytes.extend_from_slice(&label.id.0);
    bytes.extend_from_slice(&label.previous.0);
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(payload);
    let bytes = frame::seal(bytes);
    let hash = hash(&bytes);
    (bytes, hash)
}

/// Verifies checksum and lengths; whether the label fits its neighbours is the chain's question.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Label, &[u8]), FrameError> {
    let (_, body) = frame::open(bytes, MAGIC)?;
    let mut reader = Reader(body);
    let label = Label {
        cluster: ClusterId(reader.array()?),
        epoch: Epoch(reader.u64()?),
        sequence: Sequence(reader.u64()?),
        id: BatchId(reader.array()?),
        previous: Digest(reader.array()?),
    };
    let len = reader.u32()?;
    Ok((label, reader.rest(len.into())?))
}

/// Bytes of the whole envelope, read from its first bytes, before anything is verified.
pub(crate) fn announced_bytes(first_bytes: &[u8]) -> Option<usize> {
    let field = first_bytes.get(OVERHEAD_BYTES - 4..OVERHEAD_BYTES)?;
    let len = u32::from_le_bytes(field.try_into().ok()?);
    let total = OVERHEAD_BYTES.checked_add(usize::try_from(len).ok()?)?;
    (total <= MAX_ENVELOPE_BYTES).then_some(total)
}

/// SHA-256 of some bytes.
pub(crate) fn hash(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> Label {
        Label {
            cluster: ClusterId([1; 16]),
            epoch: Epoch(2),
            sequence: Sequence(3),
            id: BatchId::from_number(4),
            previous: Digest([5; 32]),
        }
    }

    #[test]
    fn decodes_what_it_encodes() {
        let (bytes, hash_of_it) = encode(&label(), b"payload");
        assert_eq!(decode(&bytes), Ok((label(), &b"payload"[..])));
        assert_eq!(hash_of_it, hash(&bytes));
        assert_eq!(announced_bytes(&bytes), Some(bytes.len()));
    }

    /// Golden bytes: a change here is a change of the format and needs a decision record.
    #[test]
    fn the_bytes_of_format_1_stay_as_they_are() {
        let (bytes, hash) = encode(&label(), b"payload");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let golden = concat!(
            "504c4a4201000000",
            "17267174",
            "01010101010101010101010101010101",
            "0200000000000000",
            "0300000000000000",
            "00000000000000000000000000000004",
            "0505050505050505050505050505050505050505050505050505050505050505",
            "07000000",
            "7061796c6f6164",
        );
        assert_eq!(hex, golden);
        assert_eq!(
            hash.to_string(),
            "fc65da17e331b6f0b11d014bd903f5adf9901a2c6cfd53a788370865f6845a4b"
        );
    }
}
