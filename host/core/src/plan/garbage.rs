//! What history no longer keeps: answers of old requests, runs beyond the limit.

use super::Planner;
use crate::{fact::FactKind, limits, state::IncarnationKey};
use alloc::vec::Vec;
use pliant_types::{Incarnation, Millis, Time};

/// Old answers that one plan forgets at most, so that garbage never crowds out work.
const PER_PLAN: usize = 32;

pub(super) fn forget(planner: &mut Planner) {
    forget_runs(planner);
    forget_requests(planner);
}

fn forget_runs(planner: &mut Planner) {
    let open: Vec<_> = planner.state.index.open_jobs().collect();
    for uid in open {
        let from = IncarnationKey { job: uid, incarnation: Incarnation::new(0) };
        let to = IncarnationKey { job: uid, incarnation: Incarnation::new(u32::MAX) };
        let runs: Vec<_> = planner.state.incarnations.range(from..=to).map(|(k, _)| *k).collect();
        let surplus = runs.len().saturating_sub(limits::KEPT_INCARNATIONS + 1);
        for run in runs.iter().take(surplus) {
            let live = planner.state.index.tally(uid, run.incarnation).live;
            let fact = FactKind::IncarnationForgotten { job: uid, incarnation: run.incarnation };
            if live == 0 && !planner.propose(fact) {
                return;
            }
        }
    }
}

/// Answers older than a day, and the oldest beyond the limit.
fn forget_requests(planner: &mut Planner) {
    let over = planner.state.requests.len().saturating_sub(limits::REMEMBERED_REQUESTS);
    let now = planner.now;
    let due = |at: Time| now.since(at).get() > limits::REMEMBERED_MILLIS;
    let oldest: Vec<_> = planner.state.index.requests().take(PER_PLAN).cloned().collect();
    for (index, (at, (principal, key))) in oldest.into_iter().enumerate() {
        if !due(at) && index >= over {
            planner.wake(at.after(Millis::new(limits::REMEMBERED_MILLIS + 1)));
            return;
        }
        if !planner.propose(FactKind::RequestForgotten { principal, key }) {
            return;
        }
        if index + 1 == PER_PLAN {
            planner.plan.more = true;
        }
    }
}
