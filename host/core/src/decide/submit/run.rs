//! What a new version does to the runs of its job: nothing, a resize, a new run now, or one later.

use super::{Existing, first_size};
use crate::{
    Rejection, State,
    fact::FactKind,
    limits,
    state::{Job, VersionRecord, Wanted},
};
use alloc::{format, vec::Vec};
use pliant_types::{Effective, codes::Code, spec::OnResubmit};

/// The facts by which runs follow a new version of their job.
pub(super) fn follow(
    state: &State,
    existing: Existing<'_>,
    effective: &Effective,
    record: &VersionRecord,
) -> Result<Vec<FactKind>, Rejection> {
    let Existing { job, current } = existing;
    let same_template = record.template_hash == current.record.template_hash;
    let mut facts = Vec::new();
    if job.kind.ends() {
        ending(state, existing, effective, (record, same_template), &mut facts)?;
    }
    let starts = facts.iter().any(|fact| matches!(fact, FactKind::IncarnationStarted { .. }));
    let queues = facts.iter().any(|fact| matches!(fact, FactKind::RunQueued { .. }));
    if !starts && !queues {
        facts.extend(resized(existing, effective));
    }
    if job.wanted == Wanted::Stopped {
        facts.push(FactKind::JobWanted { job: job.uid, wanted: Wanted::Running });
    }
    Ok(facts)
}

/// A changed count resizes the live run; an unchanged one keeps the live size (S1, E37).
fn resized(Existing { job, current }: Existing<'_>, effective: &Effective) -> Option<FactKind> {
    let count_changed = current.effective.count() != effective.count();
    let resize = count_changed && !job.kind.follows_hosts() && job.size != effective.count();
    (resize && job.ended.is_none())
        .then(|| FactKind::JobSized { job: job.uid, size: effective.count() })
}

fn ending(
    state: &State,
    existing: Existing<'_>,
    effective: &Effective,
    (record, same_template): (&VersionRecord, bool),
    facts: &mut Vec<FactKind>,
) -> Result<(), Rejection> {
    let Existing { job, current } = existing;
    let active: Vec<_> = state.active_runs(job.uid).collect();
    if same_template {
        facts.extend(moved(state, job, record));
        if job.queued.is_some() {
            facts.push(FactKind::RunQueued { job: job.uid, version: Some(record.number) });
        } else if active.is_empty() && current.effective.count() != effective.count() {
            facts.push(new_run(job, effective, record, false));
        }
        return Ok(());
    }
    if active.is_empty() || job.wanted != Wanted::Running {
        facts.push(new_run(job, effective, record, false));
        return Ok(());
    }
    match effective.on_resubmit() {
        OnResubmit::Reject => {
            let message = format!("job {} runs and its onResubmit is reject", job.name);
            Err(Rejection::new(Code::ResubmitRejected, message))
        }
        OnResubmit::Replace => {
            facts.push(new_run(job, effective, record, false));
            Ok(())
        }
        OnResubmit::FinishFirst => {
            facts.push(FactKind::RunQueued { job: job.uid, version: Some(record.number) });
            Ok(())
        }
        OnResubmit::Parallel => {
            check_parallel(job, active.len())?;
            facts.push(new_run(job, effective, record, true));
            Ok(())
        }
    }
}

/// At most 16 runs of a job live beside each other (14-decisions.md, 8).
pub(in crate::decide) fn check_parallel(job: &Job, active: usize) -> Result<(), Rejection> {
    if active < limits::PARALLEL_RUNS {
        return Ok(());
    }
    let message =
        format!("{active} runs of job {} live, at most {}", job.name, limits::PARALLEL_RUNS);
    Err(Rejection::new(Code::ResubmitRejected, message)
        .hint("wait for one to end, or stop one with `pliant stop JOB --version N`"))
}

fn new_run(job: &Job, effective: &Effective, record: &VersionRecord, beside: bool) -> FactKind {
    FactKind::IncarnationStarted {
        job: job.uid,
        incarnation: job.incarnation.next(),
        version: record.number,
        size: first_size(effective),
        beside,
    }
}

/// Runs whose tasks the new version equals go on at it, without a restart.
fn moved<'a>(
    state: &'a State,
    job: &'a Job,
    record: &'a VersionRecord,
) -> impl Iterator<Item = FactKind> + 'a {
    state.active_runs(job.uid).filter_map(move |(incarnation, _)| {
        let own = state.target_version(job, incarnation)?;
        (own.record.template_hash == record.template_hash).then_some(FactKind::IncarnationMoved {
            job: job.uid,
            incarnation,
            version: record.number,
        })
    })
}
