//! What a new version does to the runs of its job: nothing, a resize, a rollout, a new run now, or
//! one later.

use super::Existing;
use crate::{
    Rejection, State,
    decide::{
        rollout::{self, Begin},
        run::new_run,
    },
    fact::FactKind,
    limits,
    place::eligible,
    state::{Job, RolloutCause, RolloutState, VersionRecord, Wanted},
};
use alloc::{boxed::Box, format, vec::Vec};
use pliant_types::{Effective, Time, codes::Code, spec::OnResubmit};

/// The facts by which runs follow a new version of their job.
pub(super) fn follow(
    state: &State,
    existing: Existing<'_>,
    effective: &Effective,
    (record, cause, now): (&VersionRecord, RolloutCause, Time),
) -> Result<Vec<FactKind>, Rejection> {
    let Existing { job, .. } = existing;
    let mut facts = Vec::new();
    if job.kind.ends() {
        facts = ending(state, existing, effective, (record, now))?;
    } else {
        facts.extend(moving(state, existing, effective, (record, cause, now)));
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

/// How a service or daemon gets to a new version: by a rollout where a task must change, else by the
/// rollout that is under way to an equal template, else at once.
fn moving(
    state: &State,
    Existing { job, current }: Existing<'_>,
    effective: &Effective,
    (record, cause, now): (&VersionRecord, RolloutCause, Time),
) -> Vec<FactKind> {
    let same = record.template_hash == current.record.template_hash;
    let active = state.active_rollout(job.uid, job.incarnation);
    let constrained =
        current.effective.placement().constraints != effective.placement().constraints;
    let must_move = lies_failed(state, job) || (constrained && misplaced(state, job, effective));
    if same && job.wanted == Wanted::Running && !must_move {
        let retarget = active.map(|rollout| {
            let mut progress = Box::new(rollout.progress.clone());
            progress.version = record.number;
            FactKind::RolloutChanged { job: job.uid, rollout: rollout.id, progress, asked: false }
        });
        return retarget.into_iter().collect();
    }
    let begin = Begin {
        incarnation: job.incarnation,
        version: record.number,
        cause,
        from: Some(job.current),
        undoes: None,
    };
    rollout::begin(state, job, effective, (begin, now))
}

/// Whether the newest rollout of a service or daemon has failed and nothing has followed it.
pub(super) fn lies_failed(state: &State, job: &Job) -> bool {
    let newest = state.rollouts_of(job.uid).next_back();
    !job.kind.ends() && newest.is_some_and(|rollout| rollout.progress.state == RolloutState::Failed)
}

/// Whether a task runs where the new version does not allow it.
fn misplaced(state: &State, job: &Job, effective: &Effective) -> bool {
    state
        .tasks_of(job.uid, job.incarnation)
        .filter(|task| task.wanted)
        .flat_map(|task| state.executions_of(task))
        .filter(|execution| execution.is_wanted())
        .filter_map(|execution| state.hosts.get(&execution.host))
        .any(|host| eligible(effective, host).is_err())
}

fn ending(
    state: &State,
    existing: Existing<'_>,
    effective: &Effective,
    (record, now): (&VersionRecord, Time),
) -> Result<Vec<FactKind>, Rejection> {
    let Existing { job, current } = existing;
    let active: Vec<_> = state.active_runs(job.uid).collect();
    let fresh = |beside| new_run(state, job, (record.number, effective, beside), now);
    let later = FactKind::RunQueued { job: job.uid, version: Some(record.number) };
    if record.template_hash == current.record.template_hash {
        let mut facts: Vec<_> = moved(state, job, record).collect();
        if job.queued.is_some() {
            facts.push(later);
        } else if active.is_empty() && current.effective.count() != effective.count() {
            facts.extend(fresh(false));
        }
        return Ok(facts);
    }
    if active.is_empty() || job.wanted != Wanted::Running {
        return Ok(fresh(false));
    }
    match effective.on_resubmit() {
        OnResubmit::Reject => {
            let message = format!("job {} runs and its onResubmit is reject", job.name);
            Err(Rejection::new(Code::ResubmitRejected, message))
        }
        OnResubmit::Replace => Ok(fresh(false)),
        OnResubmit::FinishFirst => Ok(Vec::from([later])),
        OnResubmit::Parallel => {
            check_parallel(job, active.len())?;
            Ok(fresh(true))
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

/// Runs whose tasks the new version equals go on at it, without a restart; so do their rollouts.
fn moved<'a>(
    state: &'a State,
    job: &'a Job,
    record: &'a VersionRecord,
) -> impl Iterator<Item = FactKind> + 'a {
    let equal = state.active_runs(job.uid).filter(move |(incarnation, _)| {
        state
            .target_version(job, *incarnation)
            .is_some_and(|own| own.record.template_hash == record.template_hash)
    });
    equal.flat_map(move |(incarnation, _)| {
        let retarget = state.active_rollout(job.uid, incarnation).map(|rollout| {
            let mut progress = Box::new(rollout.progress.clone());
            progress.version = record.number;
            FactKind::RolloutChanged { job: job.uid, rollout: rollout.id, progress, asked: false }
        });
        let run = FactKind::IncarnationMoved { job: job.uid, incarnation, version: record.number };
        core::iter::once(run).chain(retarget)
    })
}
