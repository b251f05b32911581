//! The traits: what a journal does, how it is opened, how it is followed.
//!
//! Laws, one suite for all: what is committed is durable; the order is total; there is no hole; a
//! batch is atomic; a refused append leaves no trace; after `Unknown` every append is refused; an
//! expected sequence makes a double append impossible; epochs never go back; replaying twice gives
//! the same bytes; a trim never changes the replay from the snapshot.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use crate::{
    Append, Batch, BatchId, CampaignError, CloseError, Damage, Draft, Epoch, Leadership, OpenError,
    Opened, ReplayError, Resolution, Sequence, Snapshot, SnapshotError, SnapshotRef, Stats,
    TrimError, Trimmed,
};

/// Verified batches, dense and in order. After an error there is nothing more.
pub type Replay = Box<dyn Iterator<Item = Result<Batch, ReplayError>> + Send>;

/// One open journal. Its owner is the single writer thread; dropping it without
/// [`Journal::close`] counts as an unclean stop.
pub trait Journal: Send {
    /// Appends one batch as number `expected`, which must be the next one.
    fn append(&mut self, draft: &Draft<'_>, expected: Sequence) -> Append;

    /// Tells whether the batch `id` is what stands at `sequence`.
    ///
    /// Legal for a healthy journal at any time. After `Unknown` it is the first question to the
    /// re-opened journal; the poisoned handle answers [`ReplayError::ReopenFirst`].
    ///
    /// # Errors
    /// Poisoned, trimmed away, closed, or the machinery failed.
    fn resolve(&mut self, sequence: Sequence, id: BatchId) -> Result<Resolution, ReplayError>;

    /// Hands out the batches of a range, both ends included, each verified. An empty range gives
    /// nothing. Errors come as the last item.
    fn replay(&self, range: RangeInclusive<Sequence>) -> Replay;

    /// Follows the journal from a batch on.
    fn tail(&self, from: Sequence) -> Box<dyn Tail>;

    /// The snapshots, as a handle that another thread may use while this one appends.
    fn snapshots(&self) -> Arc<dyn Snapshots>;

    /// Stores a snapshot of the state after batch `at` and verifies it.
    ///
    /// # Errors
    /// Out of range, not newer, read back wrong, or the machinery failed.
    fn put_snapshot(&mut self, at: Sequence, bytes: &[u8]) -> Result<SnapshotRef, SnapshotError> {
        self.snapshots().put(at, bytes)
    }

    /// The newest good snapshot with its bytes.
    ///
    /// # Errors
    /// The machinery failed, or every kept snapshot is broken.
    fn latest_snapshot(&self) -> Result<Option<Snapshot>, SnapshotError> {
        self.snapshots().latest()
    }

    /// Forgets the batches up to and including `upto`, which must not be above the older of the two
    /// kept snapshots. Trimming what is trimmed does nothing.
    ///
    /// # Errors
    /// Refused without two verified snapshots at or above it; or it failed on the way.
    fn trim(&mut self, upto: Sequence) -> Result<Trimmed, TrimError>;

    /// Whether this handle leads, and the highest epoch.
    fn leadership(&self) -> Leadership;

    /// Begins a term: a new, higher epoch, durable before this returns. Leading already, it begins
    /// the next one.
    ///
    /// # Errors
    /// The journal is poisoned, before or by this call.
    fn campaign(&mut self) -> Result<Epoch, CampaignError>;

    /// Ends the term; appends are fenced from here on.
    fn resign(&mut self);

    /// Figures.
    fn stats(&self) -> Stats;

    /// Verifies everything that is stored, snapshots included; empty means sound.
    fn check(&self) -> Vec<Damage>;

    /// Ends in order: what is committed is synced with its witness and marked as a clean stop.
    ///
    /// # Errors
    /// The journal was poisoned, or the machinery failed; the stop then counts as unclean.
    fn close(self: Box<Self>) -> Result<(), CloseError>;
}

/// Makes a journal; again after each failure.
pub trait Opener: Send + Sync {
    /// Opens and fully verifies it.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing was changed that matters.
    fn open(&self) -> Result<Opened, OpenError>;
}

/// Follows a journal; may live in another thread than the writer.
pub trait Tail: Send {
    /// The next batch, if it is committed.
    ///
    /// # Errors
    /// Trimmed away, damaged, closed, or the machinery failed.
    fn try_next(&mut self) -> Result<Option<Batch>, ReplayError>;

    /// Waits until the next batch is committed, the journal is closed, or `limit` is over; then
    /// answers like [`Tail::try_next`].
    ///
    /// # Errors
    /// As [`Tail::try_next`].
    fn next(&mut self, limit: Duration) -> Result<Option<Batch>, ReplayError>;
}

/// The snapshots of one journal. Two are kept.
pub trait Snapshots: Send + Sync {
    /// See [`Journal::put_snapshot`].
    ///
    /// # Errors
    /// See there.
    fn put(&self, at: Sequence, bytes: &[u8]) -> Result<SnapshotRef, SnapshotError>;

    /// See [`Journal::latest_snapshot`].
    ///
    /// # Errors
    /// See there.
    fn latest(&self) -> Result<Option<Snapshot>, SnapshotError>;

    /// The good ones, oldest first.
    ///
    /// # Errors
    /// The machinery failed.
    fn list(&self) -> Result<Vec<SnapshotRef>, SnapshotError>;
}
