//! Facts about runs of jobs.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{Incarnation, IncarnationKey, StopCause, Task, TaskKey},
};
use alloc::vec::Vec;
use pliant_types::{JobUid, TaskNumber};

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::IncarnationStarted { job, incarnation, version, size, beside } => {
            if !beside {
                halt_active(state, *job);
            }
            let run = Incarnation {
                version: *version,
                started_at: fact.at,
                first_up_at: None,
                members_fixed: false,
                ended: None,
                halted: None,
                rollout: None,
            };
            start(state, IncarnationKey { job: *job, incarnation: *incarnation }, run, *size);
        }
        FactKind::IncarnationMoved { job, incarnation, version } => {
            change(state, *job, *incarnation, |run| run.version = *version);
            state.touch_job(*job);
        }
        FactKind::IncarnationHalted { job, incarnation, cause } => {
            change(state, *job, *incarnation, |run| run.halted = Some(*cause));
            super::job::mark_wanted(state, *job, fact.at);
            state.touch_job(*job);
        }
        FactKind::JobEnded { job, end, incarnation } => {
            change(state, *job, *incarnation, |run| run.ended = Some(end.clone()));
            let newest = state.jobs.get(job).is_some_and(|j| j.incarnation == *incarnation);
            if newest {
                state.jobs.change(job, |j| j.ended = Some(end.clone()));
            }
            state.touch_job(*job);
        }
        FactKind::RunQueued { job, version } => {
            state.jobs.change(job, |j| j.queued = *version);
            super::job::mark_wanted(state, *job, fact.at);
            state.touch_open(*job);
        }
        FactKind::MembersFixed { job, incarnation } => {
            change(state, *job, *incarnation, |run| run.members_fixed = true);
            state.touch_open(*job);
        }
        FactKind::IncarnationForgotten { job, incarnation } => {
            forget(state, IncarnationKey { job: *job, incarnation: *incarnation });
        }
        _ => {}
    }
}

fn change(
    state: &mut State,
    job: JobUid,
    incarnation: pliant_types::Incarnation,
    change: impl FnOnce(&mut Incarnation),
) {
    state.incarnations.change(&IncarnationKey { job, incarnation }, change);
}

fn halt_active(state: &mut State, job: JobUid) {
    let active: Vec<_> = state.active_runs(job).map(|(number, _)| number).collect();
    for number in active {
        change(state, job, number, |run| run.halted = Some(StopCause::Superseded));
    }
}

/// A job that is wanted again goes on with its newest run, if somebody ended that run.
pub(super) fn resume(state: &mut State, job: JobUid) {
    if state.active_runs(job).next().is_none()
        && let Some(newest) = state.jobs.get(&job).map(|j| j.incarnation)
    {
        change(state, job, newest, |run| run.halted = None);
    }
}

fn start(state: &mut State, key: IncarnationKey, run: Incarnation, size: u32) {
    let version = run.version;
    state.incarnations.insert(key, run);
    state.jobs.change(&key.job, |job| {
        job.incarnation = key.incarnation;
        job.size = size;
        job.ended = None;
        job.queued = job.queued.filter(|queued| *queued > version);
    });
    super::job::mark(state, key.job, version, |marks| marks.failed = None);
    for number in 0..size {
        let key = task_key(key, number);
        state.tasks.insert(key, Task::new(key, None));
    }
    state.touch_job(key.job);
}

/// The key of a member of a run.
pub(super) const fn task_key(run: IncarnationKey, number: u32) -> TaskKey {
    TaskKey { job: run.job, incarnation: run.incarnation, number: TaskNumber::new(number) }
}

/// Removes a run with its tasks and their executions.
pub(super) fn forget(state: &mut State, run: IncarnationKey) {
    let tasks: Vec<_> = state.tasks_of(run.job, run.incarnation).map(|t| t.key).collect();
    for key in tasks {
        super::task::remove(state, key);
    }
    state.incarnations.remove(&run);
    state.touch_open(run.job);
}
