//! A handle on a memory store.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    snapshots::MemorySnapshots,
    state::{Disk, State, Stored},
};
use crate::{
    Append, BatchId, CampaignError, Class, CloseError, Damage, Draft, Epoch, Journal, Leadership,
    Position, Refusal, Replay, ReplayError, Resolution, Sequence, Snapshots, Stats, Tail,
    TrimError, Trimmed,
    limits::{MAX_PAYLOAD_BYTES, SNAPSHOTS_KEPT},
    reader::{self, Bounds, Source, Tailing},
    space::NEW_WORK_FREE_PERMILLE,
};

/// What a handle and its tails and snapshots share.
#[derive(Clone)]
pub(super) struct Port {
    pub(super) disk: Arc<Disk>,
    closed: Arc<AtomicBool>,
}

impl Port {
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// The journal in memory.
pub(super) struct MemoryJournal {
    port: Port,
    handle: u64,
    commits: u64,
    committed_bytes: u64,
    refusals: u64,
}

impl MemoryJournal {
    pub(super) fn new(disk: Arc<Disk>, handle: u64) -> Self {
        let port = Port { disk, closed: Arc::new(AtomicBool::new(false)) };
        Self { port, handle, commits: 0, committed_bytes: 0, refusals: 0 }
    }

    fn judge(&self, state: &State, draft: &Draft<'_>, expected: Sequence) -> Option<Refusal> {
        if state.leader != Some(self.handle) {
            return Some(Refusal::Fenced { epoch: state.meta.epoch });
        }
        let len_bytes = draft.payload.len();
        if len_bytes > MAX_PAYLOAD_BYTES {
            return Some(Refusal::TooLarge { len_bytes });
        }
        let next = state.chain.head().next();
        if expected != next {
            return Some(Refusal::WrongSequence { expected, next });
        }
        let free_permille = state.free_permille;
        if draft.class == Class::NewWork && free_permille < NEW_WORK_FREE_PERMILLE {
            let needed_permille = NEW_WORK_FREE_PERMILLE;
            return Some(Refusal::NoSpace { free_permille, needed_permille });
        }
        None
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, draft: &Draft<'_>, expected: Sequence) -> Append {
        let disk = Arc::clone(&self.port.disk);
        let mut state = disk.lock();
        if let Some(refusal) = self.judge(&state, draft, expected) {
            self.refusals += 1;
            return Append::Refused(refusal);
        }
        let epoch = state.meta.epoch;
        let (bytes, chain) = state.chain.extend(epoch, draft.id, draft.payload);
        state.batches.push_back(Stored { bytes, hash: chain.hash(), epoch });
        state.chain = chain;
        self.commits += 1;
        self.committed_bytes += draft.payload.len() as u64;
        disk.changed.notify_all();
        Append::Committed(Position { sequence: expected, epoch })
    }

    fn resolve(&mut self, sequence: Sequence, id: BatchId) -> Result<Resolution, ReplayError> {
        reader::resolve(&self.port, sequence, id)
    }

    fn replay(&self, range: RangeInclusive<Sequence>) -> Replay {
        reader::replay(self.port.clone(), range)
    }

    fn tail(&self, from: Sequence) -> Box<dyn Tail> {
        Box::new(Tailing::new(self.port.clone(), from))
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        Arc::new(MemorySnapshots(self.port.clone()))
    }

    fn trim(&mut self, upto: Sequence) -> Result<Trimmed, TrimError> {
        let mut state = self.port.disk.lock();
        if state.leader != Some(self.handle) {
            let epoch = state.meta.epoch;
            return Err(TrimError::Refused(Refusal::Fenced { epoch }));
        }
        let found = MemorySnapshots::count_above(&state, upto);
        if upto > state.meta.floor && found < SNAPSHOTS_KEPT {
            return Err(TrimError::NoSnapshot { upto, found });
        }
        let mut removed = 0;
        while state.meta.floor < upto {
            let gone = state.batches.pop_front().expect("a snapshot's batch is committed");
            state.meta.floor = state.meta.floor.next();
            state.meta.floor_hash = gone.hash;
            removed += 1;
        }
        Ok(Trimmed { floor: state.meta.floor, removed })
    }

    fn leadership(&self) -> Leadership {
        let state = self.port.disk.lock();
        if state.leader == Some(self.handle) {
            return Leadership::Leader(state.meta.epoch);
        }
        Leadership::Follower(state.meta.epoch)
    }

    fn campaign(&mut self) -> Result<Epoch, CampaignError> {
        let mut state = self.port.disk.lock();
        state.meta.epoch = state.meta.epoch.next();
        state.leader = Some(self.handle);
        Ok(state.meta.epoch)
    }

    fn resign(&mut self) {
        let mut state = self.port.disk.lock();
        if state.leader == Some(self.handle) {
            state.leader = None;
        }
    }

    fn stats(&self) -> Stats {
        let state = self.port.disk.lock();
        Stats {
            cluster: state.meta.cluster,
            head: state.chain.head(),
            floor: state.meta.floor,
            epoch: state.meta.epoch,
            commits: self.commits,
            committed_bytes: self.committed_bytes,
            refusals: self.refusals,
            stored_bytes: state.batches.iter().map(|stored| stored.bytes.len() as u64).sum(),
            free_permille: Some(state.free_permille),
            poison: None,
        }
    }

    fn check(&self) -> Vec<Damage> {
        let state = self.port.disk.lock();
        let batches = state.verify().err();
        batches.into_iter().chain(MemorySnapshots::damages(&state)).collect()
    }

    fn close(self: Box<Self>) -> Result<(), CloseError> {
        self.port.disk.lock().clean = true;
        Ok(())
    }
}

impl Drop for MemoryJournal {
    fn drop(&mut self) {
        self.resign();
        self.port.closed.store(true, Ordering::Release);
        self.port.disk.lock().open -= 1;
        self.port.disk.changed.notify_all();
    }
}

impl Source for Port {
    fn bounds(&self) -> Result<Bounds, ReplayError> {
        if self.is_closed() {
            return Err(ReplayError::Closed);
        }
        Ok(self.disk.lock().bounds())
    }

    fn envelope(&self, sequence: Sequence) -> Result<Option<Vec<u8>>, ReplayError> {
        Ok(self.disk.lock().stored(sequence).map(|stored| stored.bytes.clone()))
    }

    fn wait(&self, sequence: Sequence, limit: Duration) {
        let state = self.disk.lock();
        let waiting = |state: &mut State| state.chain.head() < sequence && !self.is_closed();
        drop(self.disk.changed.wait_timeout_while(state, limit, waiting));
    }
}
