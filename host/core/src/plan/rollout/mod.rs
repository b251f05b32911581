//! Rollouts: what each active one does next (03-jobs.md, section 5).
//!
//! `view` reads a run off the state, `turn` moves the rollout between its states, `moves` chooses the
//! tasks that go next, `change` how one task gets to the target. Verbs of people are in
//! `decide::rollout`. A rollout that only waits is not looked at before its time.

mod change;
mod ends;
mod foresee;
mod moves;
mod turn;
mod view;

use super::Planner;
use alloc::vec::Vec;
use pliant_types::{Incarnation, JobUid, Time};

pub(crate) use foresee::{Foreseen, foresee, stopped};
pub(super) use turn::count_failure;

/// Steps of one rollout in one plan at most: turns between its states and moves of its tasks.
const PASSES: usize = 8;

/// Rollouts of services and daemons, before anything is placed.
pub(super) fn go_on(planner: &mut Planner) {
    for (job, run) in due(planner, false) {
        if !one(planner, job, run) {
            return;
        }
    }
}

/// Rollouts of batch and ops runs, after what can be placed was placed: their clock depends on it.
pub(super) fn go_on_ends(planner: &mut Planner) {
    for (uid, incarnation) in due(planner, true) {
        let state = planner.state.clone();
        let Some(job) = state.jobs.get(&uid) else { continue };
        let Some(rollout) = state.active_rollout(uid, incarnation) else { continue };
        if !ends::turn(planner, job, rollout) {
            return;
        }
    }
    let next = planner.state.index.rollouts().map(|(at, _)| at).find(|at| *at > planner.now);
    if let Some(at) = next {
        planner.wake(at);
    }
}

/// The runs whose rollout must be looked at now.
fn due(planner: &Planner, ends: bool) -> Vec<(JobUid, Incarnation)> {
    let due = planner.state.index.rollouts().take_while(|(at, _)| *at <= planner.now);
    due.map(|(_, run)| run)
        .filter(|(job, _)| planner.state.jobs.get(job).is_some_and(|job| job.kind.ends() == ends))
        .collect()
}

/// Brings one rollout as far as it gets now: what it takes can be what the next state waits for.
/// `false` when the plan is full.
fn one(planner: &mut Planner, uid: JobUid, incarnation: Incarnation) -> bool {
    for _ in 0..PASSES {
        let before = planner.plan.facts.len();
        let state = planner.state.clone();
        let Some(job) = state.jobs.get(&uid) else { return true };
        let Some(rollout) = state.active_rollout(uid, incarnation) else { return true };
        let Some(view) = view::View::new(&state, job, rollout, planner.now) else { return true };
        if !turn::turn(planner, &view) {
            return false;
        }
        if planner.plan.facts.len() == before {
            planner.plan.report.waits.remove(&uid);
            if !moves::next(planner, &view) {
                return false;
            }
        }
        if planner.plan.facts.len() == before {
            return true;
        }
    }
    planner.plan.more = true;
    true
}

/// The earliest of some times, if there is any.
fn earliest(times: impl IntoIterator<Item = Option<Time>>) -> Option<Time> {
    times.into_iter().flatten().min()
}
