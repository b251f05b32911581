//! The assignment as far as it was obeyed: takes wholes and changes, refuses what is older than
//! what was seen, says when a change does not fit. Runs nothing.

use std::collections::BTreeMap;

use pliant_types::{
    Epoch, ExecutionId, Generation,
    assignment::{AssignedExecution, Assignment, AssignmentDelta},
    report::Obeyed,
};

/// What came down the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Everything.
    Whole(Assignment),
    /// What changed.
    Delta(AssignmentDelta),
}

impl Offer {
    /// What it leads to.
    #[must_use]
    pub const fn leads_to(&self) -> Obeyed {
        let (epoch, generation): (Epoch, Generation) = match self {
            Self::Whole(whole) => (whole.epoch, whole.generation),
            Self::Delta(delta) => (delta.epoch, delta.generation),
        };
        Obeyed { epoch, generation }
    }
}

/// What became of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Obey: these are listed as they are now, those are no longer listed.
    Obey {
        /// New or changed.
        put: Vec<AssignedExecution>,
        /// Gone.
        gone: Vec<ExecutionId>,
    },
    /// Older than what was seen, or nothing new.
    Stale,
    /// The change is of another base: the whole is needed.
    AskWhole,
}

/// The newest assignment that was obeyed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeper {
    obeyed: Option<Obeyed>,
    listed: BTreeMap<ExecutionId, AssignedExecution>,
}

impl Keeper {
    /// As it was before a restart of the agent.
    #[must_use]
    pub fn resumed(obeyed: Option<Obeyed>, listed: Vec<AssignedExecution>) -> Self {
        Self { obeyed, listed: listed.into_iter().map(|one| (one.execution, one)).collect() }
    }

    /// The highest (epoch, generation) that was obeyed.
    #[must_use]
    pub const fn obeyed(&self) -> Option<Obeyed> {
        self.obeyed
    }

    /// Whether an execution is listed.
    #[must_use]
    pub fn lists(&self, execution: ExecutionId) -> bool {
        self.listed.contains_key(&execution)
    }

    /// Takes an offer. A whole of the same number is taken again: it says the same.
    pub fn take(&mut self, offer: Offer) -> Verdict {
        let next = offer.leads_to();
        if self.obeyed.is_some_and(|obeyed| next < obeyed) {
            return Verdict::Stale;
        }
        match offer {
            Offer::Whole(whole) => {
                self.obeyed = Some(next);
                self.take_whole(whole.executions)
            }
            Offer::Delta(_) if self.obeyed == Some(next) => Verdict::Stale,
            Offer::Delta(delta) => {
                let base = Obeyed { epoch: delta.epoch, generation: delta.base };
                if self.obeyed != Some(base) {
                    return Verdict::AskWhole;
                }
                self.obeyed = Some(next);
                self.take_delta(delta)
            }
        }
    }

    fn take_whole(&mut self, executions: Vec<AssignedExecution>) -> Verdict {
        let new: BTreeMap<_, _> = executions.into_iter().map(|one| (one.execution, one)).collect();
        let gone = self.listed.keys().filter(|id| !new.contains_key(id)).copied().collect();
        let changed = new.iter().filter(|(id, one)| self.listed.get(id) != Some(one));
        let put = changed.map(|(_, one)| one.clone()).collect();
        self.listed = new;
        Verdict::Obey { put, gone }
    }

    fn take_delta(&mut self, delta: AssignmentDelta) -> Verdict {
        for one in &delta.put {
            self.listed.insert(one.execution, one.clone());
        }
        for id in &delta.remove {
            self.listed.remove(id);
        }
        Verdict::Obey { put: delta.put, gone: delta.remove }
    }
}
