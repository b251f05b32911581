//! Tasks that the indexes name, sorted into explicit buckets before anything acts on them.
//!
//! Not the moves between versions: those are the rollouts' (`rollout`).

use super::Planner;
use crate::state::{Execution, Job, StopCause, Task, TaskKey};
use alloc::vec::Vec;
use pliant_types::{ExecutionId, Millis, Version as VersionNumber};

/// What is to be done with tasks.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// Executions that nobody wants any more.
    pub(super) stop: Vec<(ExecutionId, StopCause, Millis)>,
    /// Executions of an older version of equal template.
    pub(super) relabel: Vec<(ExecutionId, VersionNumber)>,
    /// Tasks without an execution, by job and number.
    pub(super) place: Vec<TaskKey>,
    /// Tasks that the job no longer has.
    pub(super) forget: Vec<TaskKey>,
}

pub(super) fn sort(planner: &Planner) -> Buckets {
    let mut buckets = Buckets::default();
    for key in planner.state.index.attention() {
        let Some(task) = planner.state.tasks.get(&key) else { continue };
        let Some(job) = planner.state.jobs.get(&key.job) else { continue };
        let live: Vec<_> = planner.state.executions_of(task).filter(|e| e.is_live()).collect();
        if !live.is_empty() {
            let asked: Vec<_> = live.into_iter().filter(|e| e.is_wanted()).collect();
            sort_live(planner, &mut buckets, (job, task), &asked);
        } else if !task.wanted {
            buckets.forget.push(key);
        } else if planner.state.task_wanted(task) && task.end.is_none() {
            buckets.place.push(key);
        }
    }
    buckets
}

fn sort_live(
    planner: &Planner,
    buckets: &mut Buckets,
    (job, task): (&Job, &Task),
    asked: &[&Execution],
) {
    let state = &planner.state;
    let kill = |execution: &Execution| {
        let own = state.version(job.uid, execution.runs());
        own.map_or(Millis::from_secs(10), |version| version.effective.kill_timeout())
    };
    if !state.task_wanted(task) {
        let cause = state.stop_cause(job, task.key);
        buckets.stop.extend(asked.iter().map(|e| (e.id, cause, kill(e))));
        return;
    }
    if state.active_rollout(job.uid, task.key.incarnation).is_none() {
        let serving = asked.iter().find(|e| e.is_ready()).or(asked.first()).map(|e| e.id);
        let beside = asked.iter().filter(|e| Some(e.id) != serving);
        buckets.stop.extend(beside.map(|e| (e.id, StopCause::RolloutEnded, kill(e))));
    }
    for execution in asked {
        if !state.must_revert(execution)
            && let Some(version) = state.relabel_of(task.key, execution)
        {
            buckets.relabel.push((execution.id, version));
        }
    }
}
