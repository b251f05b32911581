//! Snapshots beside the running appender, and the trim that keeps the start-up time bounded.

use pliant_core::{State, encode_snapshot};
use pliant_journal::{Journal, Sequence, Snapshots};
use std::thread::JoinHandle;
use tracing::{info, warn};

/// Makes a snapshot after so many facts; one at a time.
pub(super) struct Snapshotter {
    every_facts: u64,
    since: u64,
    running: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Snapshotter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshotter").field("since", &self.since).finish_non_exhaustive()
    }
}

impl Snapshotter {
    /// `replayed` is how many facts the start had to replay.
    pub(super) const fn new(every_facts: u64, replayed: u64) -> Self {
        Self { every_facts, since: replayed, running: None }
    }

    /// Notes a durable batch; begins a snapshot when enough facts have come together.
    pub(super) fn note(
        &mut self,
        journal: &mut dyn Journal,
        at: Sequence,
        facts: u64,
        state: State,
    ) {
        self.since += facts;
        if self.running.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish(journal);
        }
        if self.since < self.every_facts || self.running.is_some() {
            return;
        }
        self.since = 0;
        let snapshots = journal.snapshots();
        let spawned = std::thread::Builder::new()
            .name("snapshot".into())
            .spawn(move || put(&*snapshots, at, &state));
        match spawned {
            Ok(handle) => self.running = Some(handle),
            Err(error) => warn!(%error, "no thread for a snapshot; it is tried again later"),
        }
    }

    /// Waits for a running snapshot and trims below the older of the two that are kept.
    pub(super) fn finish(&mut self, journal: &mut dyn Journal) {
        let Some(running) = self.running.take() else { return };
        if running.join().is_err() {
            warn!("the snapshot thread panicked");
            return;
        }
        let kept = journal.snapshots().list().unwrap_or_default();
        if let [older, _] = kept.as_slice() {
            match journal.trim(older.at) {
                Ok(trimmed) => {
                    info!(floor = trimmed.floor.0, removed = trimmed.removed, "journal trimmed");
                }
                Err(error) => warn!(%error, "the journal could not be trimmed"),
            }
        }
    }
}

fn put(snapshots: &dyn Snapshots, at: Sequence, state: &State) {
    match snapshots.put(at, &encode_snapshot(state)) {
        Ok(done) => info!(at = at.0, bytes = done.len_bytes, "snapshot written"),
        Err(error) => warn!(%error, at = at.0, "the snapshot could not be written"),
    }
}
