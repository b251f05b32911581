//! A handle that injects what its place's script says.

use std::{ops::RangeInclusive, sync::Arc};

use super::{Fault, FaultyStore};
use crate::{
    Append, BatchId, CampaignError, CloseError, Damage, Draft, Epoch, Journal, Leadership,
    NEW_WORK_FREE_PERMILLE, Poison, Refusal, Replay, ReplayError, Resolution, Sequence, Snapshots,
    Stats, Tail, TrimError, Trimmed, limits::MAX_PAYLOAD_BYTES,
};

pub(super) struct FaultyJournal {
    inner: Box<dyn Journal>,
    place: FaultyStore,
    poison: Option<Poison>,
    refusals: u64,
}

impl FaultyJournal {
    pub(super) fn new(inner: Box<dyn Journal>, place: FaultyStore) -> Self {
        Self { inner, place, poison: None, refusals: 0 }
    }

    fn refuse(&mut self, refusal: Refusal) -> Append {
        self.refusals += 1;
        Append::Refused(refusal)
    }

    /// Whether the journal below would take this draft, space aside. Only then is there something
    /// that can go wrong.
    fn is_acceptable(&self, draft: &Draft<'_>, expected: Sequence) -> bool {
        matches!(self.inner.leadership(), Leadership::Leader(_))
            && draft.payload.len() <= MAX_PAYLOAD_BYTES
            && expected == self.inner.stats().head.next()
    }

    /// Another writer led for a moment.
    fn fence(&mut self) -> Append {
        let epoch = match self.inner.campaign() {
            Ok(epoch) => epoch,
            Err(CampaignError::Stopped(poison)) => {
                return self.refuse(Refusal::ReadOnly(poison));
            }
        };
        self.inner.resign();
        self.refuse(Refusal::Fenced { epoch })
    }

    /// The batch becomes durable, but nobody hears of it.
    fn lose_answer(&mut self, draft: &Draft<'_>, expected: Sequence, poison: Poison) -> Append {
        match self.inner.append(draft, expected) {
            Append::Refused(refusal) => self.refuse(refusal),
            Append::Committed(_) | Append::Unknown(_) => self.stop(poison),
        }
    }

    fn stop(&mut self, poison: Poison) -> Append {
        self.poison = Some(poison.clone());
        Append::Unknown(poison)
    }
}

impl Journal for FaultyJournal {
    fn append(&mut self, draft: &Draft<'_>, expected: Sequence) -> Append {
        if let Some(poison) = &self.poison {
            let refusal = Refusal::ReadOnly(poison.clone());
            return self.refuse(refusal);
        }
        let acceptable = self.is_acceptable(draft, expected);
        let fault = if acceptable { self.place.next_fault() } else { None };
        match fault {
            None => self.inner.append(draft, expected),
            Some(Fault::Fenced) => self.fence(),
            Some(Fault::NoSpace) => self.refuse(Refusal::NoSpace {
                free_permille: 0,
                needed_permille: NEW_WORK_FREE_PERMILLE,
            }),
            Some(Fault::UnknownPresent) => self.lose_answer(draft, expected, Poison::AnswerLost),
            Some(Fault::UnknownAbsent) => self.stop(Poison::AnswerLost),
            Some(Fault::CrashPresent) => self.lose_answer(draft, expected, Poison::Crashed),
            Some(Fault::CrashAbsent) => self.stop(Poison::Crashed),
        }
    }

    fn resolve(&mut self, sequence: Sequence, id: BatchId) -> Result<Resolution, ReplayError> {
        match &self.poison {
            Some(poison) => Err(ReplayError::ReopenFirst(poison.clone())),
            None => self.inner.resolve(sequence, id),
        }
    }

    fn replay(&self, range: RangeInclusive<Sequence>) -> Replay {
        self.inner.replay(range)
    }

    fn tail(&self, from: Sequence) -> Box<dyn Tail> {
        self.inner.tail(from)
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        self.inner.snapshots()
    }

    fn trim(&mut self, upto: Sequence) -> Result<Trimmed, TrimError> {
        match &self.poison {
            Some(poison) => Err(TrimError::Refused(Refusal::ReadOnly(poison.clone()))),
            None => self.inner.trim(upto),
        }
    }

    fn leadership(&self) -> Leadership {
        self.inner.leadership()
    }

    fn campaign(&mut self) -> Result<Epoch, CampaignError> {
        match &self.poison {
            Some(poison) => Err(CampaignError::Stopped(poison.clone())),
            None => self.inner.campaign(),
        }
    }

    fn resign(&mut self) {
        self.inner.resign();
    }

    fn stats(&self) -> Stats {
        let inner = self.inner.stats();
        Stats {
            refusals: inner.refusals + self.refusals,
            poison: self.poison.clone().or(inner.poison),
            ..inner
        }
    }

    fn check(&self) -> Vec<Damage> {
        self.inner.check()
    }

    fn close(self: Box<Self>) -> Result<(), CloseError> {
        match self.poison {
            // The journal below is dropped without closing: an unclean stop.
            Some(poison) => Err(CloseError::Poisoned(poison)),
            None => self.inner.close(),
        }
    }
}
