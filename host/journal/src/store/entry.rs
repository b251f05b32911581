//! How a map's entries lie in the store: a framed value in chunks under (key, chunk), and one
//! record that counts commits and sums all entries up, so that nothing can be missing unnoticed.
//!
//! Value body after the frame's header: key length 1, key, value. Record body: cluster 16, commits
//! 8, entries 8, sum 32.

use crate::{
    ClusterId, Digest,
    format::{
        envelope,
        frame::{self, FrameError, Magic, Reader},
    },
    limits::CHUNK_BYTES,
};

const VALUE: Magic = *b"PLJV";
const RECORD: Magic = *b"PLJN";

/// Where the record lies; no entry has an empty key.
pub(super) const RECORD_KEY: [u8; 2] = [0, 0];

/// The store's key of a chunk: length of the key, the key, number of the chunk.
fn chunk_key(key: &[u8], chunk: u8) -> Vec<u8> {
    let len = u8::try_from(key.len()).expect("a key has at most 255 bytes");
    [&[len], key, &[chunk]].concat()
}

/// The parts of a store's key.
pub(super) fn parse_key(stored: &[u8]) -> Option<(&[u8], u8)> {
    let (len, rest) = stored.split_first()?;
    let (chunk, key) = rest.split_last()?;
    (usize::from(*len) == key.len()).then_some((key, *chunk))
}

/// A value as it is stored.
pub(super) fn encode(key: &[u8], value: &[u8]) -> Vec<u8> {
    let len = u8::try_from(key.len()).expect("a key has at most 255 bytes");
    let mut bytes = frame::begin(VALUE, 0, 1 + key.len() + value.len());
    bytes.push(len);
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(value);
    frame::seal(bytes)
}

/// Verifies a stored value of this key.
pub(super) fn decode(key: &[u8], bytes: &[u8]) -> Result<Vec<u8>, FrameError> {
    let (_, body) = frame::open(bytes, VALUE)?;
    let broken = || FrameError::Broken("it is the value of another key".to_owned());
    let (len, rest) = body.split_first().ok_or_else(broken)?;
    let (found, value) = rest.split_at_checked(usize::from(*len)).ok_or_else(broken)?;
    if found == key { Ok(value.to_vec()) } else { Err(broken()) }
}

/// The chunks of a stored value, each with its key.
pub(super) fn chunks<'a>(
    key: &'a [u8],
    stored: &'a [u8],
) -> impl Iterator<Item = (Vec<u8>, &'a [u8])> {
    (0..=u8::MAX)
        .zip(stored.chunks(CHUNK_BYTES))
        .map(|(number, chunk)| (chunk_key(key, number), chunk))
}

/// What a store says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) cluster: ClusterId,
    pub(super) commits: u64,
    pub(super) entries: u64,
    pub(super) sum: Sum,
}

impl Record {
    pub(super) const fn new(cluster: ClusterId) -> Self {
        Self { cluster, commits: 0, entries: 0, sum: Sum([0; 4]) }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = frame::begin(RECORD, 0, 64);
        bytes.extend_from_slice(&self.cluster.0);
        bytes.extend_from_slice(&self.commits.to_le_bytes());
        bytes.extend_from_slice(&self.entries.to_le_bytes());
        bytes.extend_from_slice(&self.sum.digest().0);
        frame::seal(bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let (_, body) = frame::open(bytes, RECORD)?;
        let mut reader = Reader(body);
        let record = Self {
            cluster: ClusterId(reader.array()?),
            commits: reader.u64()?,
            entries: reader.u64()?,
            sum: Sum([reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?]),
        };
        reader.rest(0)?;
        Ok(record)
    }
}

/// Sum of the hashes of all stored values, lane by lane; the order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum([u64; 4]);

impl Sum {
    pub(super) fn add(&mut self, stored: &[u8]) {
        self.each_lane(stored, u64::wrapping_add);
    }

    pub(super) fn subtract(&mut self, stored: &[u8]) {
        self.each_lane(stored, u64::wrapping_sub);
    }

    fn each_lane(&mut self, stored: &[u8], change: fn(u64, u64) -> u64) {
        let hash = envelope::hash(stored).0;
        for (lane, bytes) in self.0.iter_mut().zip(hash.as_chunks::<8>().0) {
            *lane = change(*lane, u64::from_le_bytes(*bytes));
        }
    }

    pub(super) fn digest(&self) -> Digest {
        let mut bytes = [0; 32];
        for (lane, out) in self.0.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *out = lane.to_le_bytes();
        }
        Digest(bytes)
    }
}
