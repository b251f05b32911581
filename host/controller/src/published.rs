//! What readers see: immutable snapshots of the durable state, and the newest facts.

use pliant_core::{Fact, PlanReport, Release, State};
use pliant_types::Revision;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// Facts that a watch can go back; older ones answer `reset`.
pub const KEPT_FACTS: usize = 16_384;

/// One published state with the planner's newest report.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// The state.
    pub state: Arc<State>,
    /// Why anything waits.
    pub report: Arc<PlanReport>,
}

/// Publishes to any number of readers; there is no lock round the state.
#[derive(Clone, Debug)]
pub struct Board {
    newest: Arc<watch::Sender<Published>>,
    facts: Arc<Mutex<VecDeque<(Revision, Fact)>>>,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            newest: Arc::new(watch::Sender::new(Published::default())),
            facts: Arc::new(Mutex::new(VecDeque::new())),
        }
    }
}

impl Board {
    /// Starts over with a state that was read from the journal.
    pub fn reset(&self, state: State) {
        self.lock().clear();
        let report = Arc::clone(&self.newest.borrow().report);
        self.newest.send_replace(Published { state: Arc::new(state), report });
    }

    /// Publishes a durable batch.
    pub fn publish(&self, release: &mut Release) {
        let mut facts = self.lock();
        facts.extend(release.facts.drain(..));
        let surplus = facts.len().saturating_sub(KEPT_FACTS);
        facts.drain(..surplus);
        drop(facts);
        let state = Arc::clone(&release.state);
        let report = release.report.take().map(Arc::new);
        self.newest.send_modify(|newest| {
            newest.state = state;
            if let Some(report) = report {
                newest.report = report;
            }
        });
    }

    /// The newest published state.
    #[must_use]
    pub fn newest(&self) -> Published {
        self.newest.borrow().clone()
    }

    /// Follows the published states.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Published> {
        self.newest.subscribe()
    }

    /// The facts after a revision up to that of a published state, at most `limit`, so that a
    /// reader never sees a fact that its state does not have. Nothing when they are no longer kept,
    /// or when the reader has seen a revision that this state never had.
    #[must_use]
    pub fn facts_after(
        &self,
        seen: Revision,
        state: &State,
        limit: usize,
    ) -> Option<Vec<(Revision, Fact)>> {
        let present = state.revision();
        if seen >= present {
            return (seen == present).then(Vec::new);
        }
        let facts = self.lock();
        let (oldest, _) = facts.front()?;
        if oldest.get() > seen.get() + 1 {
            return None;
        }
        let skip = facts.partition_point(|(revision, _)| *revision <= seen);
        let upto = facts.iter().skip(skip).take_while(|(revision, _)| *revision <= present);
        Some(upto.take(limit).cloned().collect())
    }

    /// Every fact that is kept.
    #[must_use]
    pub fn kept_facts(&self) -> Option<Vec<(Revision, Fact)>> {
        Some(self.lock().iter().cloned().collect())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(Revision, Fact)>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
