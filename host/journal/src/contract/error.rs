//! Failures of a journal. Each names the place and, where there is one, the way out.

use std::error::Error;

use crate::{ClusterId, Poison, Sequence};

type Source = Box<dyn Error + Send + Sync>;

/// Where something is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Place {
    /// A batch.
    #[error("batch {0}")]
    Batch(Sequence),
    /// The record of floor, epoch and cluster.
    #[error("the meta record")]
    Meta,
    /// The witness file.
    #[error("the witness file HEAD")]
    Head,
    /// A snapshot file.
    #[error("the snapshot at {0}")]
    Snapshot(Sequence),
    /// A key of a map.
    #[error("the entry {0:?}")]
    Entry(String),
    /// The store as a whole.
    #[error("the store")]
    Store,
}

/// Something broken, and where. The journal never cuts or repairs by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at} is damaged: {why}")]
pub struct Damage {
    /// Where.
    pub at: Place,
    /// What is wrong there.
    pub why: String,
}

impl Damage {
    /// A damage in words.
    pub fn new(at: Place, why: impl Into<String>) -> Self {
        Self { at, why: why.into() }
    }

    /// The highest sequence that `salvage --to` can reach, if the place says so.
    #[must_use]
    pub fn salvage_to(&self) -> Option<Sequence> {
        match self.at {
            Place::Batch(sequence) => Some(sequence.previous()),
            Place::Meta | Place::Head | Place::Snapshot(_) | Place::Entry(_) | Place::Store => None,
        }
    }
}

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody else has it open.
    #[error("{path} is in use by {holder}; stop that process first, removing LOCK does not help")]
    Locked {
        /// The lock file.
        path: String,
        /// Who holds it, in words with the process id.
        holder: String,
    },
    /// It is broken; nothing was changed.
    #[error("{0}; see `pliant journal check`, give up what is after N with `salvage --to N`")]
    Damaged(Damage),
    /// Something that was acknowledged is gone.
    #[error(
        "batch {witness} was acknowledged, but the store ends at {found}: restore the copy it was \
         taken from, or accept the loss with `pliant journal salvage --to {found}`"
    )]
    Regressed {
        /// The acknowledged head.
        witness: Sequence,
        /// What was found.
        found: Sequence,
    },
    /// The storage engine failed, panicked or hung.
    #[error("the storage engine could not open the store")]
    Engine(#[from] EngineError),
    /// The journal of another cluster.
    #[error("this is the journal of cluster {found}, not of {expected}")]
    WrongCluster {
        /// What was asked for.
        expected: ClusterId,
        /// What is there.
        found: ClusterId,
    },
    /// Written by a newer program.
    #[error("{at} has format {found}, this program reads up to {known}; use a newer program")]
    NewerFormat {
        /// Where.
        at: Place,
        /// The format found.
        found: u16,
        /// The newest format that this program knows.
        known: u16,
    },
}

/// A failure of the machinery below a journal.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It panicked.
    #[error("{what}: panic: {message}")]
    Panicked {
        /// What was being done.
        what: &'static str,
        /// The panic's words.
        message: String,
    },
    /// It did not come back in time.
    #[error("{what}: no end after {limit_ms} ms")]
    TimedOut {
        /// What was being done.
        what: &'static str,
        /// The limit.
        limit_ms: u64,
    },
    /// The operating system refused.
    #[error("{what}")]
    Io {
        /// What was being done.
        what: String,
        /// The refusal.
        #[source]
        source: std::io::Error,
    },
    /// The storage engine refused.
    #[error("{what}")]
    Store {
        /// What was being done.
        what: &'static str,
        /// The refusal.
        #[source]
        source: Source,
    },
}

/// Why a replay, a tail or a resolve stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Broken at this place; everything before it was handed out.
    #[error("{0}")]
    Damaged(Damage),
    /// The start is already trimmed away.
    #[error("batch {from} is trimmed; replay starts after {floor}")]
    Trimmed {
        /// What was asked for.
        from: Sequence,
        /// The last trimmed batch.
        floor: Sequence,
    },
    /// The end is not committed yet.
    #[error("batch {to} does not exist; the head is {head}")]
    BeyondHead {
        /// What was asked for.
        to: Sequence,
        /// The last committed batch.
        head: Sequence,
    },
    /// The journal is poisoned: what it holds in memory proves nothing. Open it again first.
    #[error("the journal must be opened again before it can be asked: {0}")]
    ReopenFirst(Poison),
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
    /// The machinery failed.
    #[error("reading the journal failed")]
    Engine(#[from] EngineError),
}

/// Why a snapshot could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is not of a committed batch.
    #[error("a snapshot at {at} is impossible; batches {floor} to {head} may have one")]
    OutOfRange {
        /// What was asked for.
        at: Sequence,
        /// The last trimmed batch.
        floor: Sequence,
        /// The last committed batch.
        head: Sequence,
    },
    /// A snapshot at or after it exists.
    #[error("a snapshot at {newest} exists already")]
    NotNewer {
        /// The newest one.
        newest: Sequence,
    },
    /// What was read back is not what was written, or a kept one is broken.
    #[error("{0}")]
    Damaged(Damage),
    /// The machinery failed.
    #[error("the snapshot could not be stored or read")]
    Engine(#[from] EngineError),
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
}

/// Why nothing was trimmed.
#[derive(Debug, thiserror::Error)]
pub enum TrimError {
    /// Too few verified snapshots at or above it.
    #[error("trim up to {upto} needs two verified snapshots at or above it, found {found}")]
    NoSnapshot {
        /// What was asked for.
        upto: Sequence,
        /// How many there are.
        found: usize,
    },
    /// This handle does not lead, or is poisoned.
    #[error("{0}")]
    Refused(crate::Refusal),
    /// Trimming failed on the way; the journal is poisoned.
    #[error("trimming stopped: {0}")]
    Stopped(Poison),
}

/// Why a campaign or a resignation failed; the journal is poisoned.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Poisoned before or by this call.
    #[error("no term can begin: {0}")]
    Stopped(Poison),
}

/// Why a journal could not be closed in order. Everything committed is durable all the same.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// It was poisoned, so the stop counts as unclean.
    #[error("closed after a failure: {0}")]
    Poisoned(Poison),
    /// The machinery failed.
    #[error("closing failed")]
    Engine(#[from] EngineError),
}
