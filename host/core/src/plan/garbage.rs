//! What history no longer keeps: answers of old requests, runs beyond the limit.

use super::Planner;
use crate::{fact::FactKind, limits};
use alloc::vec::Vec;
use pliant_types::{Millis, Time};

/// Old answers that one plan forgets at most, so that garbage never crowds out work.
const PER_PLAN: usize = 32;

pub(super) fn forget(planner: &mut Planner) {
    forget_runs(planner);
    forget_requests(planner);
}

fn forget_runs(planner: &mut Planner) {
    let open: Vec<_> = planner.state.index.open_jobs().collect();
    for job in open {
        let surplus: Vec<_> = planner.state.surplus_runs(job).collect();
        for incarnation in surplus {
            if !planner.propose(FactKind::IncarnationForgotten { job, incarnation }) {
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
