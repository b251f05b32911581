//! Keys and chunks of the journal in the store: a batch lies under (sequence, chunk), so that one
//! commit is one atomic store batch and no tree node ever comes near 128 KiB. Key zero is the meta
//! record.

use crate::{Sequence, format::envelope, limits::CHUNK_BYTES};

/// Bytes of a key: sequence u64 and chunk u16, big-endian, so that the store's order is ours.
const KEY_BYTES: usize = 10;

/// Where the meta record lies: batch zero does not exist.
pub(crate) const META_KEY: [u8; KEY_BYTES] = [0; KEY_BYTES];

/// Where the number of a batch lies that is being written in parts.
pub(crate) const UNFINISHED_KEY: [u8; KEY_BYTES] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// The first and the last key that a chunk can have.
pub(crate) const CHUNK_KEYS: [[u8; KEY_BYTES]; 2] =
    [[0, 0, 0, 0, 0, 0, 0, 1, 0, 0], [u8::MAX; KEY_BYTES]];

/// The key of a chunk.
pub(crate) fn key(sequence: Sequence, chunk: u16) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&sequence.0.to_be_bytes());
    key[8..].copy_from_slice(&chunk.to_be_bytes());
    key
}

/// The parts of a key.
pub(crate) fn parse_key(key: &[u8]) -> Option<(Sequence, u16)> {
    let (sequence, rest) = key.split_first_chunk::<8>()?;
    let chunk: [u8; 2] = rest.try_into().ok()?;
    Some((Sequence(u64::from_be_bytes(*sequence)), u16::from_be_bytes(chunk)))
}

/// An envelope cut into chunks, each with its key.
pub(crate) fn chunks(
    sequence: Sequence,
    envelope: &[u8],
) -> impl Iterator<Item = ([u8; KEY_BYTES], &[u8])> {
    (0..=u16::MAX)
        .zip(envelope.chunks(CHUNK_BYTES))
        .map(move |(number, chunk)| (key(sequence, number), chunk))
}

/// Puts the chunks of one envelope together again; every gap and surplus is named.
#[derive(Default)]
pub(crate) struct Assembly {
    bytes: Vec<u8>,
    next_chunk: u16,
}

impl Assembly {
    /// Takes the next chunk.
    pub(crate) fn push(&mut self, chunk: u16, bytes: &[u8]) -> Result<(), String> {
        if chunk != self.next_chunk {
            return Err(format!("chunk {} is missing", self.next_chunk));
        }
        if bytes.len() > CHUNK_BYTES || !self.bytes.len().is_multiple_of(CHUNK_BYTES) {
            return Err(format!("chunk {chunk} does not follow a full one of {CHUNK_BYTES} bytes"));
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > envelope::MAX_ENVELOPE_BYTES {
            return Err("its chunks are more than a batch can have".to_owned());
        }
        self.next_chunk += 1;
        Ok(())
    }

    /// The whole envelope, still unverified but of the announced length.
    pub(crate) fn finish(self) -> Result<Vec<u8>, String> {
        match envelope::announced_bytes(&self.bytes) {
            Some(announced) if announced == self.bytes.len() => Ok(self.bytes),
            Some(announced) => {
                let found = self.bytes.len();
                Err(format!("its chunks hold {found} bytes, its header announces {announced}"))
            }
            None => Err("its header does not announce a possible length".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchId, ClusterId, Digest, Epoch, format::chain::Chain};

    fn envelope_of(payload_bytes: usize) -> Vec<u8> {
        let chain = Chain::from(ClusterId([1; 16]), Sequence::ZERO, Digest::GENESIS);
        chain.extend(Epoch(1), BatchId::from_number(1), &vec![7; payload_bytes]).0
    }

    fn assemble(parts: &[(u16, &[u8])]) -> Result<Vec<u8>, String> {
        let mut assembly = Assembly::default();
        parts.iter().try_for_each(|(chunk, bytes)| assembly.push(*chunk, bytes))?;
        assembly.finish()
    }

    #[test]
    fn chunks_come_together_again() {
        for payload_bytes in [0, 1, 3_904, 3_905, 8_000, crate::limits::MAX_PAYLOAD_BYTES] {
            let envelope = envelope_of(payload_bytes);
            let parts: Vec<_> = chunks(Sequence(9), &envelope)
                .map(|(key, bytes)| (parse_key(&key).unwrap().1, bytes))
                .collect();
            assert_eq!(assemble(&parts).unwrap(), envelope);
        }
    }

    #[test]
    fn gaps_and_surplus_are_named() {
        let envelope = envelope_of(9_000);
        let parts: Vec<_> = envelope.chunks(CHUNK_BYTES).collect();
        let error = |parts: &[(u16, &[u8])]| assemble(parts).unwrap_err();
        assert_eq!(error(&[(0, parts[0]), (2, parts[2])]), "chunk 1 is missing");
        assert!(error(&[(0, parts[0]), (1, parts[1])]).contains("announces 9096"));
        let surplus = error(&[(0, parts[0]), (1, parts[1]), (2, parts[2]), (3, b"x")]);
        assert!(surplus.contains("does not follow a full one"), "{surplus}");
    }
}
