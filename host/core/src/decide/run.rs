//! Runs of batch and ops jobs by hand: run again, stop those of one version.

use super::{Decided, job, submit::first_size};
use crate::{
    Answer, Rejection, State,
    command::RerunJob,
    fact::FactKind,
    state::{Job, RunState, StopCause, Wanted},
};
use alloc::{format, vec, vec::Vec};
use pliant_types::{Version as VersionNumber, codes::Code, spec::OnResubmit};

/// The next run of the current version. What a busy job does is `onResubmit`, except that nothing
/// running is thrown away: `replace` asks the user to stop it first.
pub(super) fn rerun(state: &State, asked: &RerunJob) -> Result<Decided, Rejection> {
    let job = job::find(state, &asked.job)?;
    job::check_expect(Some(job), asked.expect)?;
    must_end(job, "is never run again")?;
    let version = state.current_version(job).ok_or_else(|| {
        Rejection::new(Code::Internal, format!("job {} has no current version", job.uid))
    })?;
    let active = state.active_runs(job.uid).count();
    let busy = job.wanted == Wanted::Running && active > 0;
    let mode = version.effective.on_resubmit();
    let number = version.record.number;
    if busy && mode == OnResubmit::FinishFirst {
        let facts = vec![FactKind::RunQueued { job: job.uid, version: Some(number) }];
        return Ok(answered(state, job, facts));
    }
    if busy && mode != OnResubmit::Parallel {
        let message = format!(
            "job {} is {} at run {}",
            job.name,
            state.run_state(job).as_str(),
            job.incarnation
        );
        return Err(Rejection::new(Code::WrongState, message).hint(format!(
            "wait for its end with `pliant job wait {0}`, or `pliant stop {0}` first",
            job.name
        )));
    }
    if busy {
        super::submit::check_parallel(job, active)?;
    }
    let started = FactKind::IncarnationStarted {
        job: job.uid,
        incarnation: job.incarnation.next(),
        version: number,
        size: first_size(&version.effective),
        beside: busy,
    };
    let wanted = FactKind::JobWanted { job: job.uid, wanted: Wanted::Running };
    Ok(answered(state, job, vec![started, wanted]))
}

fn answered(state: &State, job: &Job, facts: Vec<FactKind>) -> Decided {
    let spec_revision = super::revision_after(state, &facts, job.spec_revision);
    Decided { facts, answer: Answer::Job { uid: job.uid, spec_revision } }
}

/// Ends the runs of one version; the job's other runs go on (14-decisions.md, 8).
pub(super) fn stop_version(
    state: &State,
    job: &Job,
    version: VersionNumber,
) -> Result<Decided, Rejection> {
    if !job.kind.ends() {
        let message = format!(
            "job {} is a {}: its versions replace each other and cannot be stopped by themselves",
            job.name, job.kind
        );
        return Err(Rejection::new(Code::WrongState, message).hint(format!(
            "go back with `pliant rollback {0}`, or stop the whole job with `pliant stop {0}`",
            job.name
        )));
    }
    let mut facts: Vec<_> = state
        .active_runs(job.uid)
        .filter(|(number, _)| state.target_number(job, *number) == version)
        .map(|(incarnation, _)| FactKind::IncarnationHalted {
            job: job.uid,
            incarnation,
            cause: StopCause::JobStopped,
        })
        .collect();
    if job.queued == Some(version) {
        facts.push(FactKind::RunQueued { job: job.uid, version: None });
    }
    if facts.is_empty() && version > job.current {
        let message = format!("job {} has versions up to {}, not {version}", job.name, job.current);
        return Err(Rejection::new(Code::VersionNotFound, message));
    }
    Ok(answered(state, job, facts))
}

/// Refuses what only batch and ops jobs have.
fn must_end(job: &Job, what: &str) -> Result<(), Rejection> {
    if job.kind.ends() {
        return Ok(());
    }
    let message = format!("job {} is a {}, which {what}", job.name, job.kind);
    let hint = match job.wanted {
        Wanted::Stopped => format!("start it with `pliant start {}`", job.name),
        _ => "submit it with `pliant run FILE --force` to restart every task".into(),
    };
    Err(Rejection::new(Code::WrongState, message).hint(hint))
}

/// Whether a job that somebody wants running stands still because its runs were ended by hand.
pub(super) fn stands_still(state: &State, job: &Job) -> bool {
    job.wanted == Wanted::Running
        && matches!(state.run_state(job), RunState::Stopped | RunState::Stopping)
}
