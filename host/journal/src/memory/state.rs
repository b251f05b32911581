//! What a memory store holds, and how tests and the simulator treat it badly.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::journal::MemoryJournal;
use crate::{
    ClusterId, Damage, Digest, Epoch, Note, OpenError, Opened, Opener, Place, Sequence,
    format::{chain::Chain, meta::Meta, snapshot},
    reader::Bounds,
};

/// How many may have a memory store open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One, like an embedded journal: a second opener is told `Locked`.
    Single,
    /// Any number, like a journal over the network: whoever campaigned last leads.
    Many,
}

/// One stored batch.
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) hash: Digest,
    pub(super) epoch: Epoch,
}

/// Everything that a store holds.
pub(super) struct State {
    pub(super) sharing: Sharing,
    pub(super) meta: Meta,
    pub(super) chain: Chain,
    pub(super) batches: VecDeque<Stored>,
    pub(super) snapshots: Vec<Vec<u8>>,
    pub(super) leader: Option<u64>,
    pub(super) handles: u64,
    pub(super) open: u64,
    pub(super) used: bool,
    pub(super) clean: bool,
    pub(super) free_permille: u32,
}

impl State {
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            cluster: self.meta.cluster,
            floor: self.meta.floor,
            floor_hash: self.meta.floor_hash,
            head: self.chain.head(),
        }
    }

    /// The stored batch of this number.
    pub(super) fn stored(&self, sequence: Sequence) -> Option<&Stored> {
        let index = sequence.0.checked_sub(self.meta.floor.0 + 1)?;
        self.batches.get(usize::try_from(index).ok()?)
    }

    /// Verifies all batches from the floor on.
    pub(super) fn verify(&self) -> Result<Chain, Damage> {
        let mut chain = Chain::from(self.meta.cluster, self.meta.floor, self.meta.floor_hash);
        for stored in &self.batches {
            chain.accept_at(&stored.bytes)?;
        }
        if chain.head() != self.chain.head() {
            let why = format!("it was acknowledged, but the store ends at {}", chain.head());
            return Err(Damage::new(Place::Batch(self.chain.head()), why));
        }
        Ok(chain)
    }
}

/// State and its alarm bell.
pub(super) struct Disk {
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

impl Disk {
    /// The state. A panic elsewhere leaves it whole: nothing here panics half-way.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in memory that journals are opened on. Clones are the same place.
#[derive(Clone)]
pub struct MemoryStore {
    pub(super) disk: Arc<Disk>,
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bounds = self.disk.lock().bounds();
        f.debug_tuple("MemoryStore").field(&bounds).finish()
    }
}

impl MemoryStore {
    /// An empty store of this cluster.
    #[must_use]
    pub fn new(cluster: ClusterId, sharing: Sharing) -> Self {
        let meta = Meta::new(cluster);
        let state = State {
            sharing,
            meta,
            chain: Chain::from(cluster, meta.floor, meta.floor_hash),
            batches: VecDeque::new(),
            snapshots: Vec::new(),
            leader: None,
            handles: 0,
            open: 0,
            used: false,
            clean: true,
            free_permille: 1000,
        };
        Self { disk: Arc::new(Disk { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// Says how much of its space is free, in thousandths.
    pub fn set_free_permille(&self, free_permille: u32) {
        self.disk.lock().free_permille = free_permille;
    }

    /// Flips one byte of a stored batch; the next open, replay or check must notice.
    ///
    /// Returns whether there was such a byte.
    pub fn damage_batch(&self, sequence: Sequence, offset: usize) -> bool {
        let mut state = self.disk.lock();
        let Some(index) = sequence.0.checked_sub(state.meta.floor.0 + 1) else { return false };
        let Some(stored) = usize::try_from(index).ok().and_then(|at| state.batches.get_mut(at))
        else {
            return false;
        };
        let Some(byte) = stored.bytes.get_mut(offset) else { return false };
        *byte ^= 1;
        true
    }

    /// Takes the last batch away behind the witness's back, as a disk that lied about a sync.
    ///
    /// Returns whether there was one.
    pub fn lose_last(&self) -> bool {
        self.disk.lock().batches.pop_back().is_some()
    }
}

impl Opener for MemoryStore {
    fn open(&self) -> Result<Opened, OpenError> {
        let mut state = self.disk.lock();
        if state.sharing == Sharing::Single && state.open > 0 {
            return Err(OpenError::Locked {
                path: "memory".into(),
                holder: "another handle of this process".into(),
            });
        }
        let found = Sequence(state.meta.floor.0 + state.batches.len() as u64);
        let witness = state.chain.head();
        if found < witness {
            return Err(OpenError::Regressed { witness, found });
        }
        state.verify().map_err(OpenError::Damaged)?;
        let newest = state.snapshots.last().and_then(|bytes| snapshot::decode_header(bytes).ok());
        let notes = if state.used { vec![] } else { vec![Note::Created] };
        let clean = state.clean;
        state.used = true;
        state.clean = false;
        state.open += 1;
        state.handles += 1;
        let handle = state.handles;
        Ok(Opened {
            cluster: state.meta.cluster,
            head: state.chain.head(),
            floor: state.meta.floor,
            epoch: state.meta.epoch,
            snapshot: newest.map(|(_, reference)| reference),
            clean,
            notes,
            journal: Box::new(MemoryJournal::new(Arc::clone(&self.disk), handle)),
        })
    }
}
