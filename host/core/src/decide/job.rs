//! Verbs on a job: stop, start, scale, delete; and how a job is found.

use super::{
    Decided,
    rollout::{self, Begin},
};
use crate::{
    Answer, Expect, JobRef, Rejection, State,
    command::{DeleteJob, ScaleJob, ScaleTo, StartJob, StopJob},
    fact::FactKind,
    state::{Job, RolloutCause, RolloutReason, RunState, Wanted},
};
use alloc::{format, vec, vec::Vec};
use pliant_types::{Time, codes::Code, validate::MAX_COUNT};

/// Finds a job by its exact name, or by its uid within the namespace (N1, N2, N11).
pub(super) fn find<'a>(state: &'a State, job: &JobRef) -> Result<&'a Job, Rejection> {
    let found = match job {
        JobRef::Name(namespace, name) => state.index.job(namespace, name),
        JobRef::Uid(_, uid) => Some(*uid),
    };
    found
        .and_then(|uid| state.jobs.get(&uid))
        .filter(|found| found.namespace == *job.namespace() && found.wanted != Wanted::Deleted)
        .ok_or_else(|| {
            let message = format!("there is no job {job} in namespace {}", job.namespace());
            Rejection::new(Code::JobNotFound, message)
        })
}

/// Compares a precondition with a job's spec revision.
pub(super) fn check_expect(job: Option<&Job>, expect: Expect) -> Result<(), Rejection> {
    let current = job.map(|j| j.spec_revision);
    let ok = match expect {
        Expect::Anything => true,
        Expect::Absent => job.is_none(),
        Expect::Revision(wanted) => current == Some(wanted),
    };
    if ok {
        return Ok(());
    }
    let is = match job {
        Some(job) => format!("it is at revision {} (version {})", job.spec_revision, job.current),
        None => "it does not exist".into(),
    };
    let message = match expect {
        Expect::Absent => format!("the job must not exist, but {is}"),
        Expect::Revision(wanted) => format!("the job must be at revision {wanted}, but {is}"),
        Expect::Anything => is,
    };
    let mut rejection = Rejection::new(Code::RevisionMismatch, message);
    rejection.current = current;
    Err(rejection)
}

pub(super) fn stop(state: &State, stop: &StopJob, now: Time) -> Result<Decided, Rejection> {
    let job = find(state, &stop.job)?;
    check_expect(Some(job), stop.expect)?;
    match stop.version {
        Some(version) => super::run::stop_version(state, job, version, now),
        None if is_over(state, job) => Ok(answered(state, job, Vec::new())),
        None => Ok(want(state, job, Wanted::Stopped, now)),
    }
}

/// Whether a job has ended by itself and nothing of it runs or waits: a stop would only hide how.
fn is_over(state: &State, job: &Job) -> bool {
    job.ended.is_some()
        && job.wanted == Wanted::Running
        && job.queued.is_none()
        && state.active_runs(job.uid).next().is_none()
}

pub(super) fn start(state: &State, start: &StartJob, now: Time) -> Result<Decided, Rejection> {
    let job = find(state, &start.job)?;
    check_expect(Some(job), start.expect)?;
    if super::run::stands_still(state, job) {
        return Ok(answered(state, job, started(state, job, now)));
    }
    if let (Wanted::Running, Some(end)) = (job.wanted, &job.ended) {
        let word = if end.success { RunState::Completed } else { RunState::Failed };
        let message = format!("job {} is {}: {}", job.name, word.as_str(), end.reason);
        return Err(Rejection::new(Code::WrongState, message)
            .hint(format!("run it again with `pliant job rerun {}`", job.name)));
    }
    if job.wanted == Wanted::Running {
        return Ok(answered(state, job, Vec::new()));
    }
    Ok(answered(state, job, started(state, job, now)))
}

/// The facts of a job that is wanted again: its newest run goes on, by a rollout of the version that
/// it was at (03-jobs.md, section 3).
pub(super) fn started(state: &State, job: &Job, now: Time) -> Vec<FactKind> {
    let mut facts = vec![FactKind::JobWanted { job: job.uid, wanted: Wanted::Running }];
    let over = state.run(job.uid, job.incarnation).is_none_or(|run| run.ended.is_some());
    if !over && let Some(version) = state.target_version(job, job.incarnation) {
        let begin = Begin {
            incarnation: job.incarnation,
            version: version.record.number,
            cause: RolloutCause::Started,
            from: None,
            undoes: None,
        };
        facts.extend(rollout::begin(state, job, &version.effective, (begin, now)));
    }
    facts
}

/// Another number of tasks, as the owner's own word: it makes no version and stays when the same
/// file is submitted again (S1).
pub(super) fn scale(state: &State, scale: &ScaleJob) -> Result<Decided, Rejection> {
    let job = find(state, &scale.job)?;
    check_expect(Some(job), scale.expect)?;
    let refuse = |message: alloc::string::String| Rejection::new(Code::WrongState, message);
    if job.kind.follows_hosts() {
        let message = format!("job {} is a {} and has one task on each host", job.name, job.kind);
        return Err(refuse(message).hint("narrow its hosts with placement.constraints"));
    }
    if let Some(end) = &job.ended {
        let message = format!("the run of job {} is over: {}", job.name, end.reason);
        return Err(
            refuse(message).hint(format!("run it again with `pliant job rerun {}`", job.name))
        );
    }
    let size = match scale.to {
        ScaleTo::Exactly(size) => i64::from(size),
        ScaleTo::By(by) => i64::from(job.size) + i64::from(by),
    };
    let size = u32::try_from(size).ok().filter(|size| *size <= MAX_COUNT).ok_or_else(|| {
        let message =
            format!("job {} would have {size} tasks; 0 to {MAX_COUNT} are possible", job.name);
        Rejection::new(Code::SpecInvalid, message)
    })?;
    let facts: Vec<_> = (size != job.size)
        .then_some(FactKind::JobSized { job: job.uid, size })
        .into_iter()
        .collect();
    Ok(answered(state, job, facts))
}

pub(super) fn delete(state: &State, delete: &DeleteJob, now: Time) -> Result<Decided, Rejection> {
    let job = find(state, &delete.job)?;
    check_expect(Some(job), delete.expect)?;
    Ok(want(state, job, Wanted::Deleted, now))
}

/// A job that is stopped or deleted; its rollouts are cancelled with it.
fn want(state: &State, job: &Job, wanted: Wanted, now: Time) -> Decided {
    if job.wanted == wanted {
        return answered(state, job, Vec::new());
    }
    let reason = match wanted {
        Wanted::Deleted => (RolloutReason::JobDeleted, "the job was deleted"),
        _ => (RolloutReason::JobStopped, "the job was stopped"),
    };
    let mut facts = rollout::cancelled(state, job, None, reason, now);
    facts.push(FactKind::JobWanted { job: job.uid, wanted });
    answered(state, job, facts)
}

fn answered(state: &State, job: &Job, facts: Vec<FactKind>) -> Decided {
    let spec_revision = super::revision_after(state, &facts, job.spec_revision);
    Decided { facts, answer: Answer::Job { uid: job.uid, spec_revision } }
}
