//! Tasks that the indexes name, sorted into explicit buckets before anything acts on them.

use super::Planner;
use crate::state::{Execution, Job, StopCause, Task, TaskKey, Version, VersionKey};
use alloc::vec::Vec;
use pliant_types::{ExecutionId, Millis, Version as VersionNumber};

/// What is to be done with tasks.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// Executions that nobody wants any more.
    pub(super) stop: Vec<(ExecutionId, StopCause, Millis)>,
    /// Executions of an older version of equal template.
    pub(super) relabel: Vec<(ExecutionId, VersionNumber)>,
    /// Executions of an older version whose template differs, by job and task.
    pub(super) replace: Vec<(TaskKey, ExecutionId, Millis)>,
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
        match planner.state.live_execution(task) {
            Some(execution) => sort_live(planner, &mut buckets, Place { job, task, execution }),
            None if !task.wanted => buckets.forget.push(key),
            None if planner.state.task_wanted(task) && task.end.is_none() => {
                buckets.place.push(key);
            }
            None => {}
        }
    }
    buckets
}

#[derive(Clone, Copy)]
struct Place<'a> {
    job: &'a Job,
    task: &'a Task,
    execution: &'a Execution,
}

fn sort_live(planner: &Planner, buckets: &mut Buckets, place: Place<'_>) {
    let Place { job, task, execution } = place;
    if !execution.is_wanted() {
        return;
    }
    let key = VersionKey { job: job.uid, version: execution.version };
    let own = planner.state.versions.get(&key);
    let kill = own.map_or(Millis::from_secs(10), |version| version.effective.kill_timeout());
    if !planner.state.task_wanted(task) {
        buckets.stop.push((execution.id, planner.state.stop_cause(job, task.key), kill));
        return;
    }
    let equal =
        |own: &Version, target: &Version| own.record.template_hash == target.record.template_hash;
    match own.zip(planner.state.target_version(job, task.key.incarnation)) {
        Some((own, target)) if own.record.number == target.record.number => {}
        Some((own, target)) if equal(own, target) => {
            buckets.relabel.push((execution.id, target.record.number));
        }
        _ => buckets.replace.push((task.key, execution.id, kill)),
    }
}
