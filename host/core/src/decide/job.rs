//! Verbs on a job: stop, start, scale, delete; and how a job is found.

use super::Decided;
use crate::{
    Answer, Expect, JobRef, Rejection, State,
    command::{DeleteJob, ScaleJob, ScaleTo, StartJob, StopJob},
    fact::FactKind,
    state::{Job, RunState, Wanted},
};
use alloc::{format, vec, vec::Vec};
use pliant_types::{codes::Code, validate::MAX_COUNT};

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

pub(super) fn stop(state: &State, stop: &StopJob) -> Result<Decided, Rejection> {
    let job = find(state, &stop.job)?;
    check_expect(Some(job), stop.expect)?;
    match stop.version {
        Some(version) => super::run::stop_version(state, job, version),
        None if is_over(state, job) => Ok(answered(state, job, Vec::new())),
        None => Ok(want(state, job, Wanted::Stopped)),
    }
}

/// Whether a job has ended by itself and nothing of it runs or waits: a stop would only hide how.
fn is_over(state: &State, job: &Job) -> bool {
    job.ended.is_some()
        && job.wanted == Wanted::Running
        && job.queued.is_none()
        && state.active_runs(job.uid).next().is_none()
}

pub(super) fn start(state: &State, start: &StartJob) -> Result<Decided, Rejection> {
    let job = find(state, &start.job)?;
    check_expect(Some(job), start.expect)?;
    if super::run::stands_still(state, job) {
        let facts = vec![FactKind::JobWanted { job: job.uid, wanted: Wanted::Running }];
        return Ok(answered(state, job, facts));
    }
    if let (Wanted::Running, Some(end)) = (job.wanted, &job.ended) {
        let word = if end.success { RunState::Completed } else { RunState::Failed };
        let message = format!("job {} is {}: {}", job.name, word.as_str(), end.reason);
        return Err(Rejection::new(Code::WrongState, message)
            .hint(format!("run it again with `pliant job rerun {}`", job.name)));
    }
    Ok(want(state, job, Wanted::Running))
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

pub(super) fn delete(state: &State, delete: &DeleteJob) -> Result<Decided, Rejection> {
    let job = find(state, &delete.job)?;
    check_expect(Some(job), delete.expect)?;
    Ok(want(state, job, Wanted::Deleted))
}

fn want(state: &State, job: &Job, wanted: Wanted) -> Decided {
    let facts: Vec<_> = if job.wanted == wanted {
        Vec::new()
    } else {
        vec![FactKind::JobWanted { job: job.uid, wanted }]
    };
    answered(state, job, facts)
}

fn answered(state: &State, job: &Job, facts: Vec<FactKind>) -> Decided {
    let spec_revision = super::revision_after(state, &facts, job.spec_revision);
    Decided { facts, answer: Answer::Job { uid: job.uid, spec_revision } }
}
