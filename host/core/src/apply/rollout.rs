//! Facts about rollouts.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{IncarnationKey, RolloutKey},
};
use alloc::vec::Vec;
use pliant_types::{Millis, Time};

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::RolloutStarted { job, rollout } => {
            let key = RolloutKey { job: *job, rollout: rollout.id };
            let run = IncarnationKey { job: *job, incarnation: rollout.incarnation };
            state.counters.rollout = state.counters.rollout.max(rollout.id.get());
            state.rollouts.insert(key, rollout.as_ref().clone());
            state.incarnations.change(&run, |run| run.rollout = Some(rollout.id));
            super::job::mark(state, *job, rollout.progress.version, |marks| marks.failed = None);
            super::job::mark_wanted(state, *job, fact.at);
            state.touch_job(*job);
        }
        FactKind::RolloutChanged { job, rollout, progress, asked } => {
            if *asked {
                super::job::mark_wanted(state, *job, fact.at);
            }
            let key = RolloutKey { job: *job, rollout: *rollout };
            state.rollouts.change(&key, |known| known.progress = progress.as_ref().clone());
            let Some(incarnation) = state.rollouts.get(&key).map(|known| known.incarnation) else {
                return;
            };
            let run = IncarnationKey { job: *job, incarnation };
            if progress.state.is_final() {
                state.incarnations.change(&run, |run| {
                    run.rollout = run.rollout.filter(|active| active != rollout);
                });
                state.touch_job(*job);
            }
            state.touch_rollout(*job, incarnation);
        }
        FactKind::RolloutForgotten { job, rollout } => {
            state.rollouts.remove(&RolloutKey { job: *job, rollout: *rollout });
        }
        _ => {}
    }
}

/// Moves the clocks of every active rollout by a gap in which nobody could write.
pub(super) fn shift(state: &mut State, gap: Millis, at: Time) {
    let active: Vec<_> =
        state.rollouts.iter().filter(|(_, r)| r.is_active()).map(|(key, _)| *key).collect();
    for key in active {
        state.rollouts.change(&key, |rollout| {
            let progress = &mut rollout.progress;
            progress.deadline = progress.deadline.map(|time| time.after(gap));
            progress.until = progress.until.map(|time| time.after(gap));
            progress.resumed_at = Some(at);
        });
        if let Some(run) = state.rollouts.get(&key).map(|rollout| rollout.incarnation) {
            state.touch_rollout(key.job, run);
        }
    }
}
