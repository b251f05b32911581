//! Facts about jobs, versions and runs.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{
        Incarnation, IncarnationKey, Job, Task, TaskKey, Version, VersionKey, VersionRecord, Wanted,
    },
};
use alloc::vec::Vec;
use pliant_types::{
    Incarnation as IncarnationNumber, JobUid, TaskNumber, Time, Version as VersionNumber,
};

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::JobCreated { job, .. } => create(state, *job, fact),
        FactKind::VersionAdded { job, record } => add_version(state, *job, record, fact.at),
        FactKind::IncarnationStarted { job, incarnation, version, size } => {
            let run = Incarnation {
                version: *version,
                started_at: fact.at,
                first_up_at: None,
                members_fixed: false,
            };
            start_run(state, IncarnationKey { job: *job, incarnation: *incarnation }, run, *size);
        }
        FactKind::JobSized { job, size } => {
            resize(state, *job, *size);
            mark_wanted(state, *job, fact.at);
        }
        FactKind::JobWanted { job, wanted } => set_wanted(state, *job, *wanted, fact.at),
        FactKind::JobEnded { job, end } => {
            state.jobs.change(job, |j| j.ended = Some(end.clone()));
            state.touch_job(*job);
        }
        FactKind::JobForgotten { job } => forget(state, *job),
        FactKind::VersionForgotten { job, version } => {
            state.versions.remove(&VersionKey { job: *job, version: *version });
        }
        FactKind::IncarnationForgotten { job, incarnation } => {
            forget_run(state, IncarnationKey { job: *job, incarnation: *incarnation });
        }
        FactKind::MembersFixed { job, incarnation } => {
            let key = IncarnationKey { job: *job, incarnation: *incarnation };
            state.incarnations.change(&key, |run| run.members_fixed = true);
            state.touch_open(*job);
        }
        _ => {}
    }
}

fn create(state: &mut State, uid: JobUid, fact: &Fact) {
    let FactKind::JobCreated { namespace, name, kind, .. } = &fact.kind else { return };
    let job = Job {
        uid,
        namespace: namespace.clone(),
        name: name.clone(),
        kind: *kind,
        current: VersionNumber::new(0),
        incarnation: IncarnationNumber::new(0),
        size: 0,
        wanted: Wanted::Running,
        ended: None,
        created_at: fact.at,
        updated_at: fact.at,
        spec_revision: state.revision(),
    };
    state.counters.job = state.counters.job.max(uid.get());
    state.index.set_name(&job);
    state.jobs.insert(uid, job);
}

/// Notes that what is wanted of the job has changed (14-decisions.md, 2).
fn mark_wanted(state: &mut State, uid: JobUid, at: Time) {
    let revision = state.revision();
    state.jobs.change(&uid, |job| {
        job.spec_revision = revision;
        job.updated_at = at;
    });
}

fn add_version(state: &mut State, uid: JobUid, record: &VersionRecord, at: Time) {
    let key = VersionKey { job: uid, version: record.number };
    state.versions.insert(key, Version::new(record.clone()));
    state.jobs.change(&uid, |job| job.current = record.number);
    mark_wanted(state, uid, at);
    state.touch_job(uid);
}

fn start_run(state: &mut State, key: IncarnationKey, run: Incarnation, size: u32) {
    state.incarnations.insert(key, run);
    state.jobs.change(&key.job, |job| {
        job.incarnation = key.incarnation;
        job.size = size;
        job.ended = None;
    });
    for number in 0..size {
        let key = task_key(key, number);
        state.tasks.insert(key, Task::new(key, None));
    }
    state.touch_job(key.job);
}

const fn task_key(run: IncarnationKey, number: u32) -> TaskKey {
    TaskKey { job: run.job, incarnation: run.incarnation, number: TaskNumber::new(number) }
}

/// Grows from the lowest free number, shrinks from the highest (02-architecture.md, "Settled").
fn resize(state: &mut State, uid: JobUid, size: u32) {
    let Some(job) = state.jobs.get(&uid) else { return };
    let run = IncarnationKey { job: uid, incarnation: job.incarnation };
    let wanted: Vec<_> =
        state.tasks_of(uid, job.incarnation).filter(|t| t.wanted).map(|t| t.key).collect();
    let have = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
    for key in wanted.iter().rev().take(have.saturating_sub(size) as usize) {
        state.tasks.change(key, |task| task.wanted = false);
        state.touch_task(*key);
    }
    let mut missing = size.saturating_sub(have);
    let mut number = 0;
    while missing > 0 {
        let key = task_key(run, number);
        if state.tasks.get(&key).is_none_or(|task| !task.wanted) {
            if state.tasks.contains(&key) {
                state.tasks.change(&key, |task| task.wanted = true);
            } else {
                state.tasks.insert(key, Task::new(key, None));
            }
            state.touch_task(key);
            missing -= 1;
        }
        number += 1;
    }
    state.jobs.change(&uid, |job| job.size = size);
    state.touch_open(uid);
}

fn set_wanted(state: &mut State, uid: JobUid, wanted: Wanted, at: Time) {
    state.jobs.change(&uid, |job| job.wanted = wanted);
    mark_wanted(state, uid, at);
    if wanted == Wanted::Deleted
        && let Some(job) = state.jobs.get(&uid).cloned()
    {
        state.index.free_name(&job);
    }
    state.touch_job(uid);
}

fn forget(state: &mut State, uid: JobUid) {
    let runs: Vec<_> = runs_of(state, uid).collect();
    runs.into_iter().for_each(|key| forget_run(state, key));
    let from = VersionKey { job: uid, version: VersionNumber::new(0) };
    let to = VersionKey { job: uid, version: VersionNumber::new(u32::MAX) };
    let versions: Vec<_> = state.versions.range(from..=to).map(|(key, _)| *key).collect();
    versions.iter().for_each(|key| state.versions.remove(key));
    if let Some(job) = state.jobs.get(&uid).cloned() {
        state.index.free_name(&job);
    }
    state.jobs.remove(&uid);
    state.touch_open(uid);
}

fn runs_of(state: &State, uid: JobUid) -> impl Iterator<Item = IncarnationKey> {
    let from = IncarnationKey { job: uid, incarnation: IncarnationNumber::new(0) };
    let to = IncarnationKey { job: uid, incarnation: IncarnationNumber::new(u32::MAX) };
    state.incarnations.range(from..=to).map(|(key, _)| *key)
}

fn forget_run(state: &mut State, run: IncarnationKey) {
    let tasks: Vec<_> = state.tasks_of(run.job, run.incarnation).map(|t| t.key).collect();
    for key in tasks {
        super::task::remove(state, key);
    }
    state.incarnations.remove(&run);
    state.touch_open(run.job);
}
