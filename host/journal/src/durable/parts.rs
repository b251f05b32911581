//! Writing one batch of the journal into the store, and what an interrupted writing or trim leaves.
//!
//! A small batch is one store batch. A larger one is written in parts, because only so much may be
//! written between two syncs (see [`CHUNKS_PER_WRITE`]): a record names the batch as unfinished while
//! its later chunks are written, and the last part brings its first chunk and takes the record away.
//! So a batch is there exactly if its first chunk is.

use super::{
    engine::Engine,
    layout::{CHUNK_KEYS, UNFINISHED_KEY, chunks, key},
    walk::Break,
};
use crate::{
    Damage, OpenError, Place, Poison, Sequence,
    format::{
        frame::{self, FrameError, Magic, Reader},
        meta::Meta,
    },
    limits::CHUNKS_PER_WRITE,
};

const MAGIC: Magic = *b"PLJU";

/// Makes one batch durable, whole or not at all. After an error its outcome is unknown.
pub(crate) fn write_batch(
    engine: &Engine,
    sequence: Sequence,
    envelope: &[u8],
) -> Result<(), Poison> {
    let all: Vec<_> = chunks(sequence, envelope).collect();
    let (first_part, later) = all.split_at(all.len().min(CHUNKS_PER_WRITE));
    for (number, part) in later.chunks(CHUNKS_PER_WRITE).enumerate() {
        let mut batch = sled::Batch::default();
        if number == 0 {
            batch.insert(&UNFINISHED_KEY, encode(sequence));
        }
        part.iter().for_each(|(key, chunk)| batch.insert(key, *chunk));
        engine.commit(batch)?;
    }
    let mut batch = sled::Batch::default();
    if !later.is_empty() {
        batch.remove(&UNFINISHED_KEY);
    }
    first_part.iter().for_each(|(key, chunk)| batch.insert(key, *chunk));
    engine.commit(batch)
}

/// The batch that was being written in parts when its writer ended.
pub(crate) fn unfinished(engine: &Engine) -> Result<Option<Sequence>, Break> {
    let Some(bytes) = engine.get(&UNFINISHED_KEY)? else { return Ok(None) };
    let sequence = decode(&bytes).map_err(|error| Break::at(Place::Meta, error))?;
    if engine.get(&key(sequence, 0))?.is_some() {
        let why = "it is called unfinished, but it is there";
        return Err(Break::Damaged(Damage::new(Place::Batch(sequence), why)));
    }
    Ok(Some(sequence))
}

/// Removes what an interrupted writing or trim left; nobody was told that it is there.
pub(crate) fn clear_remains(engine: &Engine, meta: &Meta) -> Result<(), OpenError> {
    let stopped = |poison: Poison| {
        OpenError::Damaged(Damage::new(Place::Store, format!("clearing it up: {poison}")))
    };
    let [first, _] = CHUNK_KEYS;
    engine.remove_range(&first, &key(meta.floor, u16::MAX)).map_err(stopped)?;
    if let Some(sequence) = unfinished(engine)? {
        engine.remove_range(&key(sequence, 0), &key(sequence, u16::MAX)).map_err(stopped)?;
        engine.remove_range(&UNFINISHED_KEY, &UNFINISHED_KEY).map_err(stopped)?;
    }
    Ok(())
}

pub(super) fn encode(sequence: Sequence) -> Vec<u8> {
    let mut bytes = frame::begin(MAGIC, 0, 8);
    bytes.extend_from_slice(&sequence.0.to_le_bytes());
    frame::seal(bytes)
}

fn decode(bytes: &[u8]) -> Result<Sequence, FrameError> {
    let (_, body) = frame::open(bytes, MAGIC)?;
    let mut reader = Reader(body);
    let sequence = Sequence(reader.u64()?);
    reader.rest(0)?;
    Ok(sequence)
}
