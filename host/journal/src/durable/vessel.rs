//! What every durable store here consists of: a directory with `LOCK`, `HEAD`, `store/` and
//! `aside/`. Opens them in the only safe order; what is in the store is its owner's business.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    before,
    engine::{self, Engine},
    head::{self, Found, HeadFile, Stop, Witness},
    io::{make_dir, names_in, remove_dir, rename_synced, sync_dir, sync_parent},
    lock::LockFile,
    space::SpaceProbe,
};
use crate::{ClusterId, Damage, Digest, EngineError, Epoch, Note, OpenError, Place, Sequence};

/// An opened directory, nothing of it verified yet.
pub(crate) struct Vessel {
    pub(crate) lock: Arc<LockFile>,
    pub(crate) engine: Engine,
    pub(crate) head: HeadFile,
    pub(crate) witness: Witness,
    pub(crate) stop: Stop,
    pub(crate) notes: Vec<Note>,
}

/// Where a vessel is, and whose.
pub(crate) struct VesselPlace<'a> {
    pub(crate) dir: &'a Path,
    /// Whose it must be; `None` takes whatever is there.
    pub(crate) cluster: Option<ClusterId>,
    pub(crate) probe: &'a dyn SpaceProbe,
}

/// Paths below the directory.
pub(crate) struct Layout<'a>(pub(crate) &'a Path);

impl Layout<'_> {
    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("LOCK")
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.0.join("HEAD")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    pub(crate) fn aside(&self) -> PathBuf {
        self.0.join("aside")
    }

    /// The store as it was before an opening that has not finished.
    pub(crate) fn before(&self) -> PathBuf {
        self.0.join("store.before")
    }

    /// Such a copy while it is made or removed; worth nothing.
    pub(crate) fn copying(&self) -> PathBuf {
        self.0.join("store.copying")
    }

    /// A store that is still being written; worth nothing.
    pub(crate) fn salvaging(&self) -> PathBuf {
        self.0.join("store.salvaging")
    }

    /// A complete store that waits to take the place of the old one.
    pub(crate) fn salvaged(&self) -> PathBuf {
        self.0.join("store.salvaged")
    }

    /// Whether there is nothing in the store.
    pub(crate) fn is_new(&self) -> Result<bool, EngineError> {
        Ok(names_in(&self.store())?.is_empty())
    }
}

impl Vessel {
    /// Takes the lock of a directory, which is made if need be, before anything else is touched.
    pub(crate) fn lock(dir: &Path) -> Result<Arc<LockFile>, OpenError> {
        make_dir(dir)?;
        Ok(Arc::new(LockFile::acquire(dir, &Layout(dir).lock())?))
    }

    /// Opens what the lock protects, lets `verify` judge it, and makes what it says was recovered
    /// the witness. If anything refuses, the store is as it was. Runs under the caller's time limit.
    pub(crate) fn open<T>(
        place: &VesselPlace<'_>,
        lock: Arc<LockFile>,
        verify: impl FnOnce(&mut Self) -> Result<(Witness, T), OpenError>,
    ) -> Result<(Self, T), OpenError> {
        let layout = Layout(place.dir);
        let outcome = Self::begin(place, lock).and_then(|mut vessel| {
            let (recovered, verified) = verify(&mut vessel)?;
            vessel.head.write_synced(&recovered, Stop::Unclean)?;
            Ok((vessel, verified))
        });
        match outcome {
            Ok((mut vessel, verified)) => {
                vessel.notes.extend(before::release(&layout, vessel.stop)?);
                Ok((vessel, verified))
            }
            Err(error) => {
                // Should this fail as well, the next opening does it.
                let _ = before::give_back(&layout);
                Err(error)
            }
        }
    }

    fn begin(place: &VesselPlace<'_>, lock: Arc<LockFile>) -> Result<Self, OpenError> {
        let layout = Layout(place.dir);
        finish_swap(&layout)?;
        before::give_back(&layout)?;
        let mut notes = Vec::new();
        let found = read_head(&layout)?;
        let (witness, stop) = match &found {
            Some(found) => (judge_cluster(found, place.cluster)?, found.stop),
            None => (first_witness(&layout, place.cluster)?, Stop::Making),
        };
        let mut head = HeadFile::open(&layout.head(), found.as_ref())?;
        if found.is_none() {
            // The witness exists before the store: a store without one has lost it.
            head.write_synced(&witness, Stop::Making)?;
            sync_dir(place.dir)?;
            sync_parent(place.dir)?;
        }
        if stop == Stop::Making {
            // The engine cannot open what it has half made. Nothing was acknowledged yet.
            remove_dir(&layout.store())?;
            notes.push(Note::Created);
        }
        if stop == Stop::Unclean {
            engine::forget_cached(&layout.store())?;
        }
        let space = super::space::ask(place.probe, place.dir)?;
        notes.extend(before::keep(&layout, space)?);
        let engine = open_engine(&layout, &mut notes)?;
        Ok(Self { lock, engine, head, witness, stop, notes })
    }
}

/// Opens the engine, with at most one retry on the same store without its accelerator.
fn open_engine(layout: &Layout<'_>, notes: &mut Vec<Note>) -> Result<Engine, EngineError> {
    match Engine::open(&layout.store(), notes) {
        Err(error) if engine::without_accelerator_may_work(&error) => {
            before::restore(layout)?;
            let Some(note) = engine::move_accelerator(&layout.store())? else { return Err(error) };
            notes.push(note);
            Engine::open(&layout.store(), notes)
        }
        other => other,
    }
}

/// Puts a salvaged store in the place of the old one; does nothing if there is none. A crash
/// between its steps is made good by the next call.
pub(crate) fn finish_swap(layout: &Layout<'_>) -> Result<Option<PathBuf>, EngineError> {
    if !layout.salvaged().exists() {
        return Ok(None);
    }
    let mut moved_to = None;
    if layout.store().exists() {
        make_dir(&layout.aside())?;
        let taken = names_in(&layout.aside())?.len();
        let free = (taken..).map(|number| layout.aside().join(format!("before-salvage-{number}")));
        let to = free.into_iter().find(|path| !path.exists()).expect("numbers do not run out");
        rename_synced(&layout.store(), &to)?;
        moved_to = Some(to);
    }
    rename_synced(&layout.salvaged(), &layout.store())?;
    Ok(moved_to)
}

/// The witness; a broken one beside an empty store is a first start that was cut short.
fn read_head(layout: &Layout<'_>) -> Result<Option<Found>, OpenError> {
    match head::read(&layout.head()) {
        Err(OpenError::Damaged(_)) if layout.is_new()? => Ok(None),
        other => other,
    }
}

fn judge_cluster(found: &Found, cluster: Option<ClusterId>) -> Result<Witness, OpenError> {
    match cluster {
        Some(expected) if expected != found.witness.cluster => {
            Err(OpenError::WrongCluster { expected, found: found.witness.cluster })
        }
        _ => Ok(found.witness),
    }
}

/// The witness of a directory that has none: it must be new.
fn first_witness(layout: &Layout<'_>, cluster: Option<ClusterId>) -> Result<Witness, OpenError> {
    if !layout.is_new()? {
        let why = "it is gone, but there is a store";
        return Err(OpenError::Damaged(Damage::new(Place::Head, why)));
    }
    let cluster = cluster.map_or_else(super::io::random_cluster, Ok)?;
    let (epoch, sequence) = (Epoch::ZERO, Sequence::ZERO);
    Ok(Witness { cluster, epoch, sequence, hash: Digest::GENESIS })
}

/// What the witness says against what was recovered.
pub(crate) fn judge_witness(
    witness: &Witness,
    recovered: &Witness,
    hash_at_witness: Option<Digest>,
) -> Result<(), OpenError> {
    if witness.sequence > recovered.sequence {
        return Err(OpenError::Regressed { witness: witness.sequence, found: recovered.sequence });
    }
    if witness.epoch > recovered.epoch {
        let why = format!("epoch {} began, the store says {}", witness.epoch, recovered.epoch);
        return Err(OpenError::Damaged(Damage::new(Place::Meta, why)));
    }
    match hash_at_witness {
        Some(hash) if hash != witness.hash => {
            let why = "it is not the batch that was acknowledged";
            Err(OpenError::Damaged(Damage::new(Place::Batch(witness.sequence), why)))
        }
        _ => Ok(()),
    }
}
