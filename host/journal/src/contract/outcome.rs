//! What an append, a resolve, a trim or an open can come to, as values. Errors are in `error`.

use crate::{
    ClusterId, Damage, Epoch, Journal, Position, Sequence, SnapshotRef, limits::MAX_PAYLOAD_BYTES,
};

/// The outcome of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Append {
    /// Durable, visible, at this place.
    Committed(Position),
    /// Left no trace.
    Refused(Refusal),
    /// May or may not be there. The journal is poisoned: close it, open it again, `resolve`.
    Unknown(Poison),
}

/// Why an append was refused. It left no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This handle does not lead (any more).
    #[error("this writer does not lead; the highest epoch is {epoch}")]
    Fenced {
        /// The highest epoch known.
        epoch: Epoch,
    },
    /// The expected sequence is not the next one.
    #[error("expected sequence {expected}, but the next one is {next}")]
    WrongSequence {
        /// What the writer named.
        expected: Sequence,
        /// What it would have to be.
        next: Sequence,
    },
    /// The payload is above the limit.
    #[error("{len_bytes} bytes are more than a batch may have ({MAX_PAYLOAD_BYTES})")]
    TooLarge {
        /// Bytes of the payload.
        len_bytes: usize,
    },
    /// Too little space is free for new work.
    #[error("{free_permille} of 1000 parts of the disk are free, new work needs {needed_permille}")]
    NoSpace {
        /// Free share in thousandths.
        free_permille: u32,
        /// Share that must be free.
        needed_permille: u32,
    },
    /// The journal failed before and takes nothing more until it is re-opened.
    #[error("the journal takes nothing more until it is opened again: {0}")]
    ReadOnly(Poison),
}

/// Why a journal stopped. Once set it stays: only closing and opening again gets rid of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Poison {
    /// The disk is full.
    #[error("no space left on the device")]
    NoSpace,
    /// Writing or syncing failed.
    #[error("{0}")]
    Io(String),
    /// The storage engine panicked.
    #[error("the storage engine panicked: {0}")]
    Panicked(String),
    /// What is stored contradicts what was written.
    #[error("{0}")]
    Damaged(Damage),
    /// An injected crash of the process.
    #[error("the process ended (injected)")]
    Crashed,
    /// An injected loss of the answer.
    #[error("the answer was lost (injected)")]
    AnswerLost,
}

/// The answer to "is my batch there?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Yes: it is committed.
    Present,
    /// No, and nothing is in its place: it may be appended once.
    Absent,
    /// Another batch is in its place: somebody else leads, step down.
    Other,
}

/// What a trim did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// The last batch that is gone.
    pub floor: Sequence,
    /// How many batches this call removed.
    pub removed: u64,
}

/// A journal that was opened and verified.
pub struct Opened {
    /// The journal; it does not lead until it campaigns.
    pub journal: Box<dyn Journal>,
    /// Whose it is.
    pub cluster: ClusterId,
    /// The last committed batch.
    pub head: Sequence,
    /// The last trimmed batch.
    pub floor: Sequence,
    /// The highest epoch.
    pub epoch: Epoch,
    /// The newest good snapshot.
    pub snapshot: Option<SnapshotRef>,
    /// Whether it had been closed in order.
    pub clean: bool,
    /// What opening did or found that an operator should know.
    pub notes: Vec<Note>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("cluster", &self.cluster)
            .field("head", &self.head)
            .field("floor", &self.floor)
            .field("epoch", &self.epoch)
            .field("snapshot", &self.snapshot)
            .field("clean", &self.clean)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

/// Something that opening did or found; for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// The journal was new.
    #[error("a new journal was made")]
    Created,
    /// The last stop was unclean and the directory was copied first.
    #[error("the last stop was unclean; the store was copied to {path} first")]
    CopiedAside {
        /// Where the copy is.
        path: String,
    },
    /// No copy was made because it would have filled the disk.
    #[error("the last stop was unclean; no copy was made: it needs {needed_bytes} bytes")]
    CopySkipped {
        /// Bytes that a copy would take.
        needed_bytes: u64,
    },
    /// A half-written file of the engine was removed.
    #[error("removed the half-written {name}")]
    RemovedHalfWritten {
        /// Its name.
        name: String,
    },
    /// The engine's accelerator files were moved away and opening was tried once more.
    #[error("the store called itself corrupt; its accelerator was moved to {path}, tried again")]
    AcceleratorMoved {
        /// Where to.
        path: String,
    },
    /// A snapshot was unreadable, an older one is used.
    #[error("the snapshot at {at} is damaged and was moved aside: {why}")]
    SnapshotDamaged {
        /// Which one.
        at: Sequence,
        /// What is wrong.
        why: String,
    },
    /// The ballast file was given up because the disk is nearly full.
    #[error("the disk is nearly full; the ballast of {len_bytes} bytes was given up")]
    BallastReleased {
        /// Its size.
        len_bytes: u64,
    },
}
