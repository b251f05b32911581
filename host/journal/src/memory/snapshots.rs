//! The snapshots of a memory store.

use super::{journal::Port, state::State};
use crate::{
    Damage, Place, Sequence, Snapshot, SnapshotError, SnapshotRef, Snapshots,
    format::{envelope, snapshot},
    limits::SNAPSHOTS_KEPT,
};

/// Snapshots through one handle.
pub(super) struct MemorySnapshots(pub(super) Port);

impl MemorySnapshots {
    /// How many good ones are at or above a batch.
    pub(super) fn count_above(state: &State, at: Sequence) -> usize {
        references(state).filter(|reference| reference.at >= at).count()
    }

    /// What is broken in them.
    pub(super) fn damages(state: &State) -> Vec<Damage> {
        let broken = |bytes: &Vec<u8>| snapshot::decode(bytes.clone()).err();
        let named = |error: crate::format::frame::FrameError| error.damage(Place::Store);
        state.snapshots.iter().filter_map(broken).map(named).collect()
    }
}

fn references(state: &State) -> impl DoubleEndedIterator<Item = SnapshotRef> {
    let verified = |bytes: &Vec<u8>| snapshot::decode(bytes.clone()).ok();
    state.snapshots.iter().filter_map(verified).map(|(_, snapshot)| snapshot.reference)
}

impl Snapshots for MemorySnapshots {
    fn put(&self, at: Sequence, bytes: &[u8]) -> Result<SnapshotRef, SnapshotError> {
        if self.0.is_closed() {
            return Err(SnapshotError::Closed);
        }
        let mut state = self.0.disk.lock();
        let bounds = state.bounds();
        if let Some(newest) = references(&state).next_back().filter(|newest| newest.at >= at) {
            return Err(SnapshotError::NotNewer { newest: newest.at });
        }
        let Some(stored) = state.stored(at) else {
            let (floor, head) = (bounds.floor.next(), bounds.head);
            return Err(SnapshotError::OutOfRange { at, floor, head });
        };
        let reference = SnapshotRef {
            at,
            epoch: stored.epoch,
            chain: stored.hash,
            digest: envelope::hash(bytes),
            len_bytes: bytes.len() as u64,
        };
        let mut file = snapshot::encode_header(bounds.cluster, &reference);
        file.extend_from_slice(bytes);
        state.snapshots.push(file);
        let surplus = state.snapshots.len().saturating_sub(SNAPSHOTS_KEPT);
        state.snapshots.drain(..surplus);
        Ok(reference)
    }

    fn latest(&self) -> Result<Option<Snapshot>, SnapshotError> {
        let state = self.0.disk.lock();
        let mut newest_first = state.snapshots.iter().rev();
        Ok(newest_first.find_map(|bytes| snapshot::decode(bytes.clone()).ok()).map(|(_, it)| it))
    }

    fn list(&self) -> Result<Vec<SnapshotRef>, SnapshotError> {
        Ok(references(&self.0.disk.lock()).collect())
    }
}
