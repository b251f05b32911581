//! Stops of what nobody wants, relabels, and moves to the current version one task at a time.

use super::{Planner, bucket::Buckets, report::Wait};
use crate::{
    fact::FactKind,
    state::{StopCause, TaskKey},
};
use alloc::{collections::BTreeMap, format, vec::Vec};
use pliant_types::{ExecutionId, JobUid, Millis, codes::WaitCode};

pub(super) fn stop_and_move(planner: &mut Planner, buckets: &Buckets) {
    for (execution, cause, kill) in &buckets.stop {
        let fact =
            FactKind::ExecutionStopRequested { execution: *execution, cause: *cause, kill: *kill };
        if !planner.propose(fact) {
            return;
        }
    }
    for (execution, version) in &buckets.relabel {
        let fact = FactKind::ExecutionRelabelled { execution: *execution, version: *version };
        if !planner.propose(fact) {
            return;
        }
    }
    let mut by_job: BTreeMap<JobUid, Vec<_>> = BTreeMap::new();
    for candidate in &buckets.replace {
        by_job.entry(candidate.0.job).or_default().push(*candidate);
    }
    for candidates in by_job.values() {
        if !replace(planner, candidates) {
            return;
        }
    }
    for task in &buckets.forget {
        if !planner.propose(FactKind::TaskForgotten { task: *task }) {
            return;
        }
    }
}

/// Stops one task of an older version when every other task is up; one that is not up itself goes
/// at once, since it serves nobody.
fn replace(planner: &mut Planner, candidates: &[(TaskKey, ExecutionId, Millis)]) -> bool {
    for (task, execution, kill) in candidates {
        let tally = planner.state.index.tally(task.job, task.incarnation);
        let own_up = planner.state.executions.get(execution).is_some_and(|e| e.is_up());
        let others_up = tally.wanted.saturating_sub(tally.up);
        if !own_up || others_up == 0 {
            let cause = StopCause::Update;
            let fact =
                FactKind::ExecutionStopRequested { execution: *execution, cause, kill: *kill };
            if !planner.propose(fact) {
                return false;
            }
            continue;
        }
        let wait = Wait {
            incarnation: task.incarnation,
            tasks: Vec::new(),
            code: WaitCode::ReplaceTurn,
            sentence: format!(
                "{others_up} of {} tasks are not up; one task at a time moves to the current version",
                tally.wanted
            ),
            until: None,
        };
        planner.plan.report.add(task.job, task.number, wait);
    }
    true
}
