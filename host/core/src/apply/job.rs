//! Facts about jobs and versions.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{IncarnationKey, Job, Marks, Task, Version, VersionKey, VersionRecord, Wanted},
};
use alloc::vec::Vec;
use pliant_types::{Incarnation as IncarnationNumber, JobUid, Tag, Time, Version as VersionNumber};

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::JobCreated { job, .. } => create(state, *job, fact),
        FactKind::VersionAdded { job, record } => add_version(state, *job, record, fact.at),
        FactKind::IncarnationStarted { .. }
        | FactKind::IncarnationMoved { .. }
        | FactKind::IncarnationHalted { .. }
        | FactKind::JobEnded { .. }
        | FactKind::RunQueued { .. }
        | FactKind::MembersFixed { .. }
        | FactKind::IncarnationForgotten { .. } => super::run::apply(state, fact),
        FactKind::JobSized { job, size } => {
            resize(state, *job, *size);
            mark_wanted(state, *job, fact.at);
        }
        FactKind::JobWanted { job, wanted } => set_wanted(state, *job, *wanted, fact.at),
        FactKind::JobForgotten { job } => forget(state, *job),
        FactKind::VersionForgotten { job, version } => {
            let key = VersionKey { job: *job, version: *version };
            state.versions.remove(&key);
            state.marks.remove(&key);
        }
        FactKind::VersionProven { job, version } => {
            mark(state, *job, *version, |marks| {
                marks.proven_at.get_or_insert(fact.at);
                marks.failed = None;
            });
            state.touch_open(*job);
        }
        FactKind::VersionFailed { job, version, reason } => {
            mark(state, *job, *version, |marks| marks.failed = Some(reason.clone()));
        }
        FactKind::VersionTagged { job, version, tag } => {
            untag(state, *job, tag);
            mark(state, *job, *version, |marks| {
                marks.tags.insert(tag.clone());
            });
            mark_wanted(state, *job, fact.at);
        }
        FactKind::VersionUntagged { job, tag } => {
            untag(state, *job, tag);
            mark_wanted(state, *job, fact.at);
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
        queued: None,
    };
    state.counters.job = state.counters.job.max(uid.get());
    state.index.set_name(&job);
    state.jobs.insert(uid, job);
}

/// Notes that what is wanted of the job has changed (14-decisions.md, 2).
pub(super) fn mark_wanted(state: &mut State, uid: JobUid, at: Time) {
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

/// Changes what became of a version that is kept.
pub(super) fn mark(
    state: &mut State,
    job: JobUid,
    version: VersionNumber,
    change: impl FnOnce(&mut Marks),
) {
    let key = VersionKey { job, version };
    if state.versions.contains(&key) {
        let mut marks = state.marks(job, version);
        change(&mut marks);
        state.marks.insert(key, marks);
    }
}

fn untag(state: &mut State, job: JobUid, tag: &Tag) {
    let holders: Vec<_> = state
        .versions_of(job)
        .map(|version| version.record.number)
        .filter(|number| state.marks(job, *number).tags.contains(tag))
        .collect();
    for number in holders {
        mark(state, job, number, |marks| {
            marks.tags.remove(tag);
        });
    }
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
        let key = super::run::task_key(run, number);
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
    if wanted == Wanted::Running {
        super::run::resume(state, uid);
    }
    if wanted == Wanted::Deleted
        && let Some(job) = state.jobs.get(&uid).cloned()
    {
        state.index.free_name(&job);
    }
    state.touch_job(uid);
}

fn forget(state: &mut State, uid: JobUid) {
    let runs: Vec<_> = state.runs_of(uid).map(|(number, _)| number).collect();
    for incarnation in runs {
        super::run::forget(state, IncarnationKey { job: uid, incarnation });
    }
    let versions: Vec<_> = state.versions_of(uid).map(|v| v.record.number).collect();
    for version in versions {
        let key = VersionKey { job: uid, version };
        state.versions.remove(&key);
        state.marks.remove(&key);
    }
    if let Some(job) = state.jobs.get(&uid).cloned() {
        state.index.free_name(&job);
    }
    state.jobs.remove(&uid);
    state.touch_open(uid);
}
