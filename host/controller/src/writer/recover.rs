//! From a journal to a state: newest snapshot, then every batch after it, `apply` only (law 4).

use pliant_core::{CodecError, Engine, State, decode_batch, decode_snapshot};
use pliant_journal::{OpenError, Opened, Opener, ReplayError, Sequence, SnapshotError};

/// A journal that was opened and read.
#[derive(Debug)]
pub struct OpenedState {
    /// The journal.
    pub opened: Opened,
    /// The state after its last batch.
    pub state: State,
    /// Facts that were replayed after the snapshot.
    pub replayed_facts: u64,
}

/// Why a journal does not give a state.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be opened.
    #[error("the journal cannot be opened")]
    Open(#[from] OpenError),
    /// A batch cannot be read.
    #[error("the journal cannot be replayed")]
    Replay(#[from] ReplayError),
    /// No snapshot can be read.
    #[error("the journal's snapshot cannot be read")]
    Snapshot(#[from] SnapshotError),
    /// The writer's thread cannot be started.
    #[error("the writer's thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The bytes of a batch or snapshot are not this release's.
    #[error("batch {at} of the journal is not readable by this release")]
    Codec {
        /// Which.
        at: u64,
        /// Why.
        source: CodecError,
    },
    /// The facts give another state than the one that was written.
    #[error("batch {at} gives the state {found:032x}, but {written:032x} was written with it")]
    Hash {
        /// Which.
        at: u64,
        /// What came out.
        found: u128,
        /// What was written.
        written: u128,
    },
}

/// Opens a journal and reads its state.
///
/// # Errors
/// [`ReadError`]: nothing was changed.
pub fn open_state(opener: &dyn Opener) -> Result<OpenedState, ReadError> {
    let opened = opener.open()?;
    let (mut state, from) = match opened.journal.latest_snapshot()? {
        Some(snapshot) => {
            let at = snapshot.reference.at;
            let state = decode_snapshot(&snapshot.bytes)
                .map_err(|source| ReadError::Codec { at: at.0, source })?;
            (state, at.next())
        }
        None => (State::default(), Sequence(1)),
    };
    let mut replayed_facts = 0;
    for batch in opened.journal.replay(from..=opened.head) {
        let batch = batch?;
        let at = batch.sequence.0;
        let decoded =
            decode_batch(&batch.payload).map_err(|source| ReadError::Codec { at, source })?;
        let before = state.revision().get();
        Engine::replay(&mut state, &decoded);
        replayed_facts += state.revision().get() - before;
        if state.hash() != decoded.hash {
            return Err(ReadError::Hash { at, found: state.hash(), written: decoded.hash });
        }
    }
    Ok(OpenedState { opened, state, replayed_facts })
}
