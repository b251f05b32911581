//! Verification of batch after batch: dense, of one cluster, chained by hash, epochs never back.

use super::{
    envelope::{self, Label},
    frame::FrameError,
};
use crate::{Batch, BatchId, ClusterId, Damage, Digest, Epoch, Place, Sequence};

/// The end of a verified chain; accepts only what fits behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    cluster: ClusterId,
    head: Sequence,
    hash: Digest,
    epoch: Epoch,
}

impl Chain {
    /// A chain whose last verified batch is `head` with this hash.
    pub(crate) const fn from(cluster: ClusterId, head: Sequence, hash: Digest) -> Self {
        Self { cluster, head, hash, epoch: Epoch::ZERO }
    }

    /// The last batch.
    pub(crate) const fn head(&self) -> Sequence {
        self.head
    }

    /// Its hash.
    pub(crate) const fn hash(&self) -> Digest {
        self.hash
    }

    /// Its epoch, as far as this chain has seen.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The envelope of a batch behind the head, and the chain with it at its end.
    pub(crate) fn extend(&self, epoch: Epoch, id: BatchId, payload: &[u8]) -> (Vec<u8>, Self) {
        let sequence = self.head.next();
        let label = Label { cluster: self.cluster, epoch, sequence, id, previous: self.hash };
        let (bytes, hash) = envelope::encode(&label, payload);
        (bytes, Self { cluster: self.cluster, head: sequence, hash, epoch })
    }

    /// Verifies the next envelope and moves behind it.
    pub(crate) fn accept(&mut self, bytes: &[u8]) -> Result<Batch, FrameError> {
        let (label, payload) = envelope::decode(bytes)?;
        self.judge(&label).map_err(FrameError::Broken)?;
        let hash = envelope::hash(bytes);
        *self = Self { cluster: self.cluster, head: label.sequence, hash, epoch: label.epoch };
        Ok(Batch {
            sequence: label.sequence,
            epoch: label.epoch,
            id: label.id,
            hash,
            payload: payload.to_vec(),
        })
    }

    /// As [`Chain::accept`], with the place in the failure.
    pub(crate) fn accept_at(&mut self, bytes: &[u8]) -> Result<Batch, Damage> {
        let at = Place::Batch(self.head.next());
        self.accept(bytes).map_err(|error| error.damage(at))
    }

    fn judge(&self, label: &Label) -> Result<(), String> {
        if label.cluster != self.cluster {
            return Err(format!("it belongs to cluster {}", label.cluster));
        }
        if label.sequence != self.head.next() {
            return Err(format!("it says that it is batch {}", label.sequence));
        }
        if label.previous != self.hash {
            return Err(format!("it follows {}, but {} precedes it", label.previous, self.hash));
        }
        if label.epoch < self.epoch {
            return Err(format!("its epoch {} is below {}", label.epoch, self.epoch));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Chain {
        Chain::from(ClusterId([1; 16]), Sequence::ZERO, Digest::GENESIS)
    }

    fn refusal(chain: &mut Chain, bytes: &[u8]) -> String {
        chain.accept_at(bytes).unwrap_err().to_string()
    }

    #[test]
    fn accepts_its_own_extension() {
        let mut chain = empty();
        let (bytes, after) = chain.extend(Epoch(1), BatchId::from_number(1), b"one");
        let batch = chain.accept(&bytes).unwrap();
        assert_eq!((batch.payload.as_slice(), chain), (&b"one"[..], after));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let (first, after_first) = empty().extend(Epoch(5), BatchId::from_number(1), b"one");
        let (second, _) = after_first.extend(Epoch(5), BatchId::from_number(2), b"two");
        let (older, _) = after_first.extend(Epoch(4), BatchId::from_number(2), b"two");
        assert!(refusal(&mut empty(), &second).contains("says that it is batch 2"));

        let mut chain = empty();
        chain.accept(&first).unwrap();
        assert!(refusal(&mut chain, &first).contains("batch 1"));
        assert!(refusal(&mut chain, &older).contains("epoch 4 is below 5"));

        let mut other_past = chain;
        other_past.hash = Digest([3; 32]);
        assert!(refusal(&mut other_past, &second).contains("precedes it"));

        let mut other_cluster = chain;
        other_cluster.cluster = ClusterId([2; 16]);
        assert!(refusal(&mut other_cluster, &second).contains("belongs to cluster"));
        chain.accept(&second).unwrap();
    }
}
