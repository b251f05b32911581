//! Replay, tail and resolve over anything that can hand out envelopes by number. Everything that
//! leaves here went through the chain; where the envelopes come from is not its business.

use std::{ops::RangeInclusive, time::Duration};

use crate::{
    Batch, BatchId, ClusterId, Damage, Digest, Place, Replay, ReplayError, Resolution, Sequence,
    Tail,
    format::{
        chain::Chain,
        envelope::{self},
    },
};

/// What is stored at this moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) cluster: ClusterId,
    pub(crate) floor: Sequence,
    pub(crate) floor_hash: Digest,
    pub(crate) head: Sequence,
}

/// Where envelopes come from.
pub(crate) trait Source: Send {
    /// What is stored; fails when the journal is closed.
    fn bounds(&self) -> Result<Bounds, ReplayError>;

    /// The raw envelope of a batch, unverified.
    fn envelope(&self, sequence: Sequence) -> Result<Option<Vec<u8>>, ReplayError>;

    /// Waits until the head is at least `sequence`, the journal is closed or `limit` is over.
    fn wait(&self, sequence: Sequence, limit: Duration);
}

/// The envelope of a batch that must exist.
fn existing(source: &impl Source, sequence: Sequence) -> Result<Vec<u8>, ReplayError> {
    if let Some(bytes) = source.envelope(sequence)? {
        return Ok(bytes);
    }
    let floor = source.bounds()?.floor;
    if sequence <= floor {
        return Err(ReplayError::Trimmed { from: sequence, floor });
    }
    Err(ReplayError::Damaged(Damage::new(Place::Batch(sequence), "it is missing")))
}

/// Hash of a batch at or above the floor.
pub(crate) fn hash_of(
    source: &impl Source,
    bounds: &Bounds,
    sequence: Sequence,
) -> Result<Digest, ReplayError> {
    if sequence == bounds.floor {
        return Ok(bounds.floor_hash);
    }
    Ok(envelope::hash(&existing(source, sequence)?))
}

/// The chain as it is before a batch.
fn chain_before(source: &impl Source, from: Sequence) -> Result<Chain, ReplayError> {
    let bounds = source.bounds()?;
    if from <= bounds.floor {
        return Err(ReplayError::Trimmed { from, floor: bounds.floor });
    }
    if from.previous() > bounds.head {
        return Err(ReplayError::BeyondHead { to: from, head: bounds.head });
    }
    let before = from.previous();
    Ok(Chain::from(bounds.cluster, before, hash_of(source, &bounds, before)?))
}

/// One handed-out batch, verified.
fn step(source: &impl Source, chain: &mut Chain) -> Result<Batch, ReplayError> {
    let bytes = existing(source, chain.head().next())?;
    chain.accept_at(&bytes).map_err(ReplayError::Damaged)
}

/// See [`crate::Journal::replay`].
pub(crate) fn replay(source: impl Source + 'static, range: RangeInclusive<Sequence>) -> Replay {
    if range.is_empty() {
        return Box::new(std::iter::empty());
    }
    Box::new(Replaying { source, next: *range.start(), to: *range.end(), chain: None, over: false })
}

struct Replaying<S> {
    source: S,
    next: Sequence,
    to: Sequence,
    chain: Option<Chain>,
    over: bool,
}

impl<S: Source> Replaying<S> {
    fn step(&mut self) -> Result<Batch, ReplayError> {
        let head = self.source.bounds()?.head;
        if self.next > head {
            return Err(ReplayError::BeyondHead { to: self.to, head });
        }
        let chain = match &mut self.chain {
            Some(chain) => chain,
            None => self.chain.insert(chain_before(&self.source, self.next)?),
        };
        let batch = step(&self.source, chain)?;
        self.next = self.next.next();
        Ok(batch)
    }
}

impl<S: Source> Iterator for Replaying<S> {
    type Item = Result<Batch, ReplayError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over || self.next > self.to {
            return None;
        }
        let item = self.step();
        self.over = item.is_err();
        Some(item)
    }
}

/// See [`crate::Journal::tail`].
pub(crate) struct Tailing<S> {
    source: S,
    next: Sequence,
    chain: Option<Chain>,
}

impl<S> Tailing<S> {
    /// A tail whose first batch is `from`.
    pub(crate) const fn new(source: S, from: Sequence) -> Self {
        Self { source, next: from, chain: None }
    }
}

impl<S: Source> Tail for Tailing<S> {
    fn try_next(&mut self) -> Result<Option<Batch>, ReplayError> {
        if self.next > self.source.bounds()?.head {
            return Ok(None);
        }
        let chain = match &mut self.chain {
            Some(chain) => chain,
            None => self.chain.insert(chain_before(&self.source, self.next)?),
        };
        let batch = step(&self.source, chain)?;
        self.next = self.next.next();
        Ok(Some(batch))
    }

    fn next(&mut self, limit: Duration) -> Result<Option<Batch>, ReplayError> {
        self.source.wait(self.next, limit);
        self.try_next()
    }
}

/// See [`crate::Journal::resolve`].
pub(crate) fn resolve(
    source: &impl Source,
    sequence: Sequence,
    id: BatchId,
) -> Result<Resolution, ReplayError> {
    let bounds = source.bounds()?;
    if sequence > bounds.head {
        return Ok(Resolution::Absent);
    }
    let mut chain = chain_before(source, sequence)?;
    let batch = step(source, &mut chain)?;
    Ok(if batch.id == id { Resolution::Present } else { Resolution::Other })
}
