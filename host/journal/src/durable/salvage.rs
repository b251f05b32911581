//! The way out of damage: keep everything up to a batch that the operator names, give up the rest.
//! It never decides by itself what to give up, and the old store is moved aside, not removed.

use std::path::PathBuf;

use super::{
    engine::Engine,
    head::{self, HeadFile, Stop, Witness},
    io::{remove_dir, rename_synced},
    layout::{CHUNK_KEYS, META_KEY},
    open::DurableOptions,
    parts::write_batch,
    reading::{Reading, damage_of},
    vessel::{Layout, finish_swap},
    walk::{Break, walk},
};
use crate::{
    Digest, EngineError, Epoch, OpenError, Poison, Sequence,
    format::{chain::Chain, meta::Meta},
};

/// Why nothing was salvaged. The journal is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// It cannot be read at all.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The chain breaks before.
    #[error("batch {to} cannot be reached: {why}; up to {reachable} everything is sound")]
    Unreachable {
        /// What was asked for.
        to: Sequence,
        /// The last sound batch.
        reachable: Sequence,
        /// What breaks the chain.
        why: String,
    },
    /// Sound batches would be given up, and nobody said that they may be.
    #[error("batches {} to {reachable} are sound and would be given up", to.next())]
    Sound {
        /// What was asked for.
        to: Sequence,
        /// The last sound batch.
        reachable: Sequence,
    },
    /// What would be left could not be built into a state.
    #[error("batches up to {floor} are trimmed and no snapshot is between them and {to}")]
    NoSnapshot {
        /// What was asked for.
        to: Sequence,
        /// The last trimmed batch.
        floor: Sequence,
    },
    /// Writing the new store failed.
    #[error("the new store could not be written: {0}")]
    Stopped(Poison),
}

impl From<EngineError> for SalvageError {
    fn from(error: EngineError) -> Self {
        Self::Open(OpenError::Engine(error))
    }
}

/// What becomes of sound batches behind the one that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundBatches {
    /// None may be lost: the salvage is refused.
    Keep,
    /// They are given up; the old store is moved aside all the same.
    GiveUp,
}

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// The last batch that is kept.
    pub head: Sequence,
    /// The last trimmed batch.
    pub floor: Sequence,
    /// Where the old store is.
    pub moved_to: Option<PathBuf>,
    /// Snapshots that were given up and renamed.
    pub abandoned: Vec<Sequence>,
}

/// Rebuilds a closed journal from its sound batches up to and including `to`.
///
/// If the batches cannot be read, a sound snapshot at exactly `to` is enough.
///
/// # Errors
/// See [`SalvageError`]; the journal is then as it was.
pub fn salvage(
    options: &DurableOptions,
    to: Sequence,
    sound: SoundBatches,
) -> Result<Salvaged, SalvageError> {
    let reading = Reading::begin(options)?;
    let outcome = check_sound(&reading, to, sound).and_then(|()| rebuild(options, &reading, to));
    let abandoned = match &outcome {
        Ok(_) => reading.snapshot_files()?.abandon_above(to)?,
        Err(_) => vec![],
    };
    // Keeps the directory locked to the end.
    let _lock = reading.end()?;
    let (meta, hash) = outcome?;
    let layout = Layout(&options.dir);
    rename_synced(&layout.salvaging(), &layout.salvaged())?;
    let found = head::read(&layout.head()).ok().flatten();
    let witness = Witness { cluster: meta.cluster, epoch: meta.epoch, sequence: to, hash };
    // Both marks: a broken one must not win by its number.
    let mut head = HeadFile::open(&layout.head(), found.as_ref())?;
    head.write_synced(&witness, Stop::Clean)?;
    head.write_synced(&witness, Stop::Clean)?;
    let moved_to = finish_swap(&layout)?;
    Ok(Salvaged { head: to, floor: meta.floor, moved_to, abandoned })
}

/// Refuses to give up what is sound, unless that was said.
fn check_sound(reading: &Reading, to: Sequence, sound: SoundBatches) -> Result<(), SalvageError> {
    let (SoundBatches::Keep, Some(engine), Some(mut chain)) =
        (sound, &reading.engine, reading.base())
    else {
        return Ok(());
    };
    // How it ends does not matter here: the chain stands at the last sound batch.
    let _end = walk(engine, &mut chain, |_| Ok(()));
    match chain.head() {
        reachable if reachable > to => Err(SalvageError::Sound { to, reachable }),
        _ => Ok(()),
    }
}

/// Writes the new store beside the old one; gives its meta record and the hash of its head.
fn rebuild(
    options: &DurableOptions,
    reading: &Reading,
    to: Sequence,
) -> Result<(Meta, Digest), SalvageError> {
    let path = Layout(&options.dir).salvaging();
    remove_dir(&path)?;
    let engine = Engine::open(&path, &mut Vec::new())?;
    let outcome = fill(&engine, reading, to);
    engine.close(&reading.lock, options.limit)?;
    if outcome.is_err() {
        remove_dir(&path)?;
    }
    outcome
}

fn fill(engine: &Engine, reading: &Reading, to: Sequence) -> Result<(Meta, Digest), SalvageError> {
    let epoch = reading.epoch();
    let from_batches = match (&reading.engine, reading.base()) {
        (Some(old), Some(base)) => copy_batches(engine, old, base, to)?,
        _ => Err((Sequence::ZERO, "no batch can be read".to_owned())),
    };
    let (base, end) = match from_batches {
        Ok((base, end)) => (base, end),
        Err((reachable, why)) => {
            let Some(snapshot) = reading.snapshots.iter().find(|snapshot| snapshot.at == to) else {
                return Err(SalvageError::Unreachable { to, reachable, why });
            };
            let chain = Chain::from(reading.cluster, snapshot.at, snapshot.chain);
            // What was copied so far belongs below the new floor.
            let [first, last] = CHUNK_KEYS;
            engine.remove_range(&first, &last).map_err(SalvageError::Stopped)?;
            (chain, chain)
        }
    };
    let floor = base.head();
    let has_state =
        floor == Sequence::ZERO || reading.snapshots.iter().any(|it| (floor..=to).contains(&it.at));
    if !has_state {
        return Err(SalvageError::NoSnapshot { to, floor });
    }
    let epoch: Epoch = epoch.max(end.epoch());
    let meta = Meta { cluster: reading.cluster, epoch, floor, floor_hash: base.hash() };
    let mut batch = sled::Batch::default();
    batch.insert(&META_KEY, meta.encode());
    engine.commit(batch).map_err(SalvageError::Stopped)?;
    Ok((meta, end.hash()))
}

/// The two ends of what was copied, or how far it is sound and why no further.
type Copied = Result<(Chain, Chain), (Sequence, String)>;

/// Copies sound batches up to `to`; gives the chain's two ends, or how far it reaches.
fn copy_batches(
    engine: &Engine,
    old: &Engine,
    base: Chain,
    to: Sequence,
) -> Result<Copied, SalvageError> {
    let (mut reader, mut writer) = (base, base);
    let mut stopped = None;
    if to < base.head() {
        let why = format!("batches up to {} are trimmed", base.head());
        return Ok(Err((base.head(), why)));
    }
    let end = walk(old, &mut reader, |kept| {
        if kept.sequence > to {
            return Err(Break::Enough);
        }
        let (envelope, after) = writer.extend(kept.epoch, kept.id, &kept.payload);
        write_batch(engine, kept.sequence, &envelope).map_err(|poison| {
            stopped = Some(poison);
            Break::Enough
        })?;
        writer = after;
        Ok(())
    });
    if let Some(poison) = stopped {
        return Err(SalvageError::Stopped(poison));
    }
    if writer.head() == to {
        return Ok(Ok((base, writer)));
    }
    let why = match end.err().and_then(damage_of) {
        Some(damage) => damage.to_string(),
        None => "there is nothing after it".to_owned(),
    };
    Ok(Err((writer.head(), why)))
}
