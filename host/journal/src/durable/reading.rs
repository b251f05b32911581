//! Reading a journal that nobody has open, without touching it: the engine rewrites what it opens,
//! so a copy of the store is opened and thrown away afterwards.

use std::{path::PathBuf, sync::Arc};

use super::{
    before,
    engine::Engine,
    guarded::with_limit,
    head::{self, Witness},
    io::{copy_dir, remove_dir},
    lock::LockFile,
    open::DurableOptions,
    snapshots::{SnapshotFiles, verified_in},
    vessel::{Layout, Vessel, finish_swap},
    walk::{Break, first_sequence, read_meta},
};
use crate::{
    ClusterId, Damage, Digest, EngineError, Epoch, OpenError, Place, Sequence, SnapshotRef,
    format::{chain::Chain, meta::Meta},
};

/// A closed journal, locked, with a copy of its store open.
pub(crate) struct Reading {
    pub(crate) cluster: ClusterId,
    pub(crate) witness: Option<Witness>,
    pub(crate) meta: Option<Meta>,
    pub(crate) engine: Option<Engine>,
    pub(crate) snapshots: Vec<SnapshotRef>,
    pub(crate) damages: Vec<Damage>,
    pub(crate) lock: Arc<LockFile>,
    options: DurableOptions,
    copy: PathBuf,
}

impl Reading {
    /// Locks the directory and opens a copy of the store, as far as that is possible.
    ///
    /// # Errors
    /// Locked, or nothing there tells whose journal it is.
    pub(crate) fn begin(options: &DurableOptions) -> Result<Self, OpenError> {
        let layout = Layout(&options.dir);
        if !layout.head().exists() && layout.is_new()? {
            let why = format!("there is no journal in {}", options.dir.display());
            return Err(OpenError::Damaged(Damage::new(Place::Store, why)));
        }
        let lock = Vessel::lock(&options.dir)?;
        finish_swap(&layout)?;
        before::give_back(&layout)?;
        let mut damages = Vec::new();
        let witness = kept(&mut damages, witness_in(&layout))?;
        let copy = options.dir.join("store.reading");
        remove_dir(&copy)?;
        copy_dir(&layout.store(), &copy)?;
        let engine = kept(&mut damages, open_copy(options, &copy, &lock))?;
        let read = engine.as_ref().map_or(Ok(None), read_meta).map_err(OpenError::from);
        let meta = kept(&mut damages, read)?.flatten();
        let (snapshots, broken) = verified_in(&options.snapshots)?;
        damages.extend(broken);
        let witness = witness.flatten();
        let known = meta.map(|it| it.cluster).or(witness.map(|it| it.cluster));
        let Some(cluster) = known.or(snapshots.last().map(|(cluster, _)| *cluster)) else {
            remove_dir(&copy)?;
            let why = "neither the store, nor HEAD, nor a snapshot says whose it is";
            return Err(OpenError::Damaged(Damage::new(Place::Store, why)));
        };
        let own = |(of, reference): (ClusterId, SnapshotRef)| (of == cluster).then_some(reference);
        let snapshots = snapshots.into_iter().filter_map(own).collect();
        let options = options.clone();
        Ok(Self { cluster, witness, meta, engine, snapshots, damages, lock, options, copy })
    }

    /// Where the chain begins: at the meta record's floor, at the very first batch, or behind a
    /// snapshot whose next batch is there.
    pub(crate) fn base(&self) -> Option<Chain> {
        if let Some(meta) = self.meta {
            return Some(Chain::from(self.cluster, meta.floor, meta.floor_hash));
        }
        let first = first_sequence(self.engine.as_ref()?).ok().flatten()?;
        if first == Sequence(1) {
            return Some(Chain::from(self.cluster, Sequence::ZERO, Digest::GENESIS));
        }
        let snapshot = self.snapshots.iter().find(|snapshot| snapshot.at.next() == first)?;
        Some(Chain::from(self.cluster, snapshot.at, snapshot.chain))
    }

    /// The highest epoch that anything here knows.
    pub(crate) fn epoch(&self) -> Epoch {
        let snapshots = self.snapshots.iter().map(|snapshot| snapshot.epoch);
        let others = [self.meta.map(|it| it.epoch), self.witness.map(|it| it.epoch)];
        snapshots.chain(others.into_iter().flatten()).max().unwrap_or_default()
    }

    /// Closes the copy and removes it; the lock is kept for as long as the result lives.
    pub(crate) fn end(self) -> Result<Arc<LockFile>, EngineError> {
        if let Some(engine) = self.engine {
            engine.close(&self.lock, self.options.limit)?;
        }
        remove_dir(&self.copy)?;
        Ok(self.lock)
    }

    /// The snapshot files, for moving them.
    pub(crate) fn snapshot_files(&self) -> Result<SnapshotFiles, EngineError> {
        SnapshotFiles::open(&self.options.snapshots, self.cluster, &mut Vec::new())
    }
}

fn witness_in(layout: &Layout<'_>) -> Result<Option<Witness>, OpenError> {
    Ok(head::read(&layout.head())?.map(|found| found.witness))
}

fn open_copy(
    options: &DurableOptions,
    copy: &std::path::Path,
    lock: &Arc<LockFile>,
) -> Result<Engine, OpenError> {
    let (copy, lock) = (copy.to_owned(), Arc::clone(lock));
    let open = move || {
        let _lock = lock;
        Engine::open(&copy, &mut Vec::new())
    };
    Ok(with_limit("opening a copy of the store", options.limit, open)??)
}

/// What was read, or nothing and one more damage. Other failures end the reading.
fn kept<T>(
    damages: &mut Vec<Damage>,
    outcome: Result<T, OpenError>,
) -> Result<Option<T>, OpenError> {
    let damage = match outcome {
        Ok(read) => return Ok(Some(read)),
        Err(OpenError::Damaged(damage)) => damage,
        Err(OpenError::Engine(error)) => Damage::new(Place::Store, in_words(&error)),
        Err(other) => return Err(other),
    };
    damages.push(damage);
    Ok(None)
}

/// An error with all its sources, in one line.
pub(crate) fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        words = format!("{words}: {inner}");
        source = inner.source();
    }
    words
}

/// The end of a walk as a damage, if it was cut short by one.
pub(crate) fn damage_of(end: Break) -> Option<Damage> {
    match end {
        Break::Damaged(damage) => Some(damage),
        Break::Newer(at, format) => Some(Damage::new(at, format!("format {format} is unknown"))),
        Break::Engine(error) => Some(Damage::new(Place::Store, in_words(&error))),
        Break::Enough => None,
    }
}
