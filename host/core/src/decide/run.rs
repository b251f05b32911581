//! Runs of batch and ops jobs by hand: run again, stop those of one version.

use super::{
    Decided, job,
    rollout::{self, Begin},
    submit::first_size,
};
use crate::{
    Answer, Rejection, State,
    command::RerunJob,
    fact::FactKind,
    state::{Job, RolloutCause, RolloutReason, RolloutState, RunState, StopCause, Wanted},
};
use alloc::{format, vec, vec::Vec};
use pliant_types::{Effective, Time, Version as VersionNumber, codes::Code, spec::OnResubmit};

/// The next run of the current version. What a busy job does is `onResubmit`, except that nothing
/// running is thrown away: `replace` asks the user to stop it first.
pub(super) fn rerun(state: &State, asked: &RerunJob, now: Time) -> Result<Decided, Rejection> {
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
    let mut facts = new_run(state, job, (number, &version.effective, busy), now);
    facts.push(FactKind::JobWanted { job: job.uid, wanted: Wanted::Running });
    Ok(answered(state, job, facts))
}

/// The facts of the next run of a batch or ops job with its rollout; without `beside`, the rollouts
/// of the runs that it replaces are superseded.
pub(crate) fn new_run(
    state: &State,
    job: &Job,
    (version, effective, beside): (VersionNumber, &Effective, bool),
    now: Time,
) -> Vec<FactKind> {
    let incarnation = job.incarnation.next();
    let mut facts = Vec::new();
    if !beside {
        let replaced = state.active_runs(job.uid).map(|(number, _)| number);
        for rollout in replaced.filter_map(|number| state.active_rollout(job.uid, number)) {
            let reason = (RolloutReason::Superseded, format!("run {incarnation} took over"));
            facts.push(rollout::end(job, rollout, RolloutState::Superseded, reason, now));
        }
    }
    let size = first_size(effective);
    facts.push(FactKind::IncarnationStarted { job: job.uid, incarnation, version, size, beside });
    let begin =
        Begin { incarnation, version, cause: RolloutCause::Created, from: None, undoes: None };
    facts.extend(rollout::begin(state, job, effective, (begin, now)));
    facts
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
    now: Time,
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
    let runs = state.active_runs(job.uid).map(|(number, _)| number);
    let mut facts = Vec::new();
    for incarnation in runs.filter(|number| state.target_number(job, *number) == version) {
        let reason = (RolloutReason::JobStopped, "the run was stopped");
        facts.extend(rollout::cancelled(state, job, Some(incarnation), reason, now));
        let cause = StopCause::JobStopped;
        facts.push(FactKind::IncarnationHalted { job: job.uid, incarnation, cause });
    }
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
