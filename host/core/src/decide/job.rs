//! Verbs on a job: stop, start, delete; and how a job is found.

use super::Decided;
use crate::{
    Answer, Expect, JobRef, Rejection, State,
    command::{DeleteJob, StartJob, StopJob},
    fact::FactKind,
    state::{Job, RunState, Wanted},
};
use alloc::{format, vec, vec::Vec};
use pliant_types::{Revision, codes::Code};

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
    Ok(want(state, job, Wanted::Stopped))
}

pub(super) fn start(state: &State, start: &StartJob) -> Result<Decided, Rejection> {
    let job = find(state, &start.job)?;
    check_expect(Some(job), start.expect)?;
    if let (Wanted::Running, Some(end)) = (job.wanted, &job.ended) {
        let word = if end.success { RunState::Completed } else { RunState::Failed };
        let message = format!("job {} is {}: {}", job.name, word.as_str(), end.reason);
        return Err(Rejection::new(Code::WrongState, message).hint(format!(
            "run it again with `pliant run FILE --force`; {} is its name",
            job.name
        )));
    }
    Ok(want(state, job, Wanted::Running))
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
    let spec_revision = if facts.is_empty() { job.spec_revision } else { next(state) };
    Decided { facts, answer: Answer::Job { uid: job.uid, spec_revision } }
}

/// The revision of the next fact.
pub(super) const fn next(state: &State) -> Revision {
    state.revision().next()
}
