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

    /// The facts after a revision, at most `limit`; nothing when they are no longer kept.
    #[must_use]
    pub fn facts_after(&self, revision: Revision, limit: usize) -> Option<Vec<(Revision, Fact)>> {
        let present = self.newest.borrow().state.revision();
        let facts = self.lock();
        match facts.front() {
            Some((oldest, _)) if oldest.get() <= revision.get() + 1 => {
                let skip = facts.partition_point(|(r, _)| *r <= revision);
                Some(facts.iter().skip(skip).take(limit).cloned().collect())
            }
            _ if revision >= present => Some(Vec::new()),
            _ => None,
        }
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
