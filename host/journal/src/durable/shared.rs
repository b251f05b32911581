//! What the durable journal shares with its tails and its snapshot handles, which may live in other
//! threads: the open store for reading, and the end of the chain.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

use super::{
    engine::Engine,
    layout::{Assembly, key, parse_key},
    snapshots::SnapshotFiles,
};
use crate::{
    Damage, Digest, Epoch, Place, Poison, ReplayError, Sequence, Snapshot, SnapshotError,
    SnapshotRef, Snapshots,
    format::{chain::Chain, envelope, meta::Meta},
    reader::{Bounds, Source},
};

/// Where the journal stands.
pub(super) struct Live {
    pub(super) meta: Meta,
    pub(super) chain: Chain,
    pub(super) poison: Option<Poison>,
    pub(super) closed: bool,
}

pub(super) struct Shared {
    pub(super) engine: RwLock<Option<Engine>>,
    live: Mutex<Live>,
    pub(super) changed: Condvar,
    pub(super) files: SnapshotFiles,
}

/// A handle on it.
#[derive(Clone)]
pub(super) struct Port(pub(super) Arc<Shared>);

impl Port {
    pub(super) fn new(engine: Engine, live: Live, files: SnapshotFiles) -> Self {
        let (engine, live) = (RwLock::new(Some(engine)), Mutex::new(live));
        Self(Arc::new(Shared { engine, live, changed: Condvar::new(), files }))
    }

    /// Where the journal stands. No panic happens while this is held.
    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, unless it is closed.
    pub(super) fn engine(&self) -> RwLockReadGuard<'_, Option<Engine>> {
        self.0.engine.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the store away from everyone.
    pub(super) fn take_engine(&self) -> Option<Engine> {
        self.live().closed = true;
        self.0.changed.notify_all();
        self.0.engine.write().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Source for Port {
    fn bounds(&self) -> Result<Bounds, ReplayError> {
        let live = self.live();
        if live.closed {
            return Err(ReplayError::Closed);
        }
        Ok(Bounds {
            cluster: live.meta.cluster,
            floor: live.meta.floor,
            floor_hash: live.meta.floor_hash,
            head: live.chain.head(),
        })
    }

    fn envelope(&self, sequence: Sequence) -> Result<Option<Vec<u8>>, ReplayError> {
        let engine = self.engine();
        let engine = engine.as_ref().ok_or(ReplayError::Closed)?;
        read_envelope(engine, sequence)
    }

    fn wait(&self, sequence: Sequence, limit: Duration) {
        let waiting = |live: &mut Live| live.chain.head() < sequence && !live.closed;
        drop(self.0.changed.wait_timeout_while(self.live(), limit, waiting));
    }
}

/// The raw envelope of one batch.
fn read_envelope(engine: &Engine, sequence: Sequence) -> Result<Option<Vec<u8>>, ReplayError> {
    let damaged = |why| ReplayError::Damaged(Damage { at: Place::Batch(sequence), why });
    let mut assembly = None;
    engine.scan(&key(sequence, 0), &key(sequence, u16::MAX), |key, value| {
        let chunk = parse_key(key).map_or(u16::MAX, |(_, chunk)| chunk);
        assembly.get_or_insert_with(Assembly::default).push(chunk, value).map_err(damaged)
    })?;
    assembly.map(|assembly| assembly.finish().map_err(damaged)).transpose()
}

/// Hash and epoch of a committed batch, for a snapshot.
fn link_of(engine: &Engine, at: Sequence) -> Result<Option<(Digest, Epoch)>, SnapshotError> {
    let read = read_envelope(engine, at).map_err(|error| match error {
        ReplayError::Engine(error) => SnapshotError::Engine(error),
        ReplayError::Damaged(damage) => SnapshotError::Damaged(damage),
        _ => SnapshotError::Closed,
    })?;
    let Some(bytes) = read else { return Ok(None) };
    let (label, _) = envelope::decode(&bytes)
        .map_err(|error| SnapshotError::Damaged(error.damage(Place::Batch(at))))?;
    Ok(Some((envelope::hash(&bytes), label.epoch)))
}

impl Snapshots for Port {
    fn put(&self, at: Sequence, bytes: &[u8]) -> Result<SnapshotRef, SnapshotError> {
        // Held to the end: closing waits, so that nobody opens the directory beside this.
        let engine = self.engine();
        let engine = engine.as_ref().ok_or(SnapshotError::Closed)?;
        let bounds = self.bounds().map_err(|_| SnapshotError::Closed)?;
        let (floor, head) = (bounds.floor.next(), bounds.head);
        let newest = self.0.files.list().last().map(|newest| newest.at);
        if let Some(newest) = newest.filter(|newest| *newest >= at) {
            return Err(SnapshotError::NotNewer { newest });
        }
        let link = if at >= floor && at <= head { link_of(engine, at)? } else { None };
        let Some((chain, epoch)) = link else {
            return Err(SnapshotError::OutOfRange { at, floor, head });
        };
        let wanted = SnapshotRef { at, epoch, chain, digest: Digest::GENESIS, len_bytes: 0 };
        self.0.files.put(wanted, bytes)
    }

    fn latest(&self) -> Result<Option<Snapshot>, SnapshotError> {
        let mut failure = None;
        for reference in self.0.files.list().iter().rev() {
            match self.0.files.read(reference.at) {
                Ok(snapshot) => return Ok(Some(snapshot)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    fn list(&self) -> Result<Vec<SnapshotRef>, SnapshotError> {
        let mut good = Vec::new();
        for reference in self.0.files.list() {
            match self.0.files.read(reference.at) {
                Ok(snapshot) => good.push(snapshot.reference),
                Err(SnapshotError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(good)
    }
}
