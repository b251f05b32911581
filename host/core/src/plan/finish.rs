//! The end of jobs and runs, and the run that waited for it.

use super::{Planner, report::Wait};
use crate::{
    fact::FactKind,
    state::{Job, JobEnd, RolloutReason, RolloutState, TaskEnd, Wanted},
};
use alloc::{format, string::String, vec::Vec};
use pliant_types::{Incarnation, JobUid, Kind, Millis, codes::WaitCode};

pub(super) fn jobs(planner: &mut Planner) {
    let open: Vec<_> = planner.state.index.open_jobs().collect();
    for uid in open {
        let Some(job) = planner.state.jobs.get(&uid).cloned() else { continue };
        let went_on = if job.wanted == Wanted::Deleted {
            let held = planner.state.index.job_live(uid);
            held > 0 || planner.propose(FactKind::JobForgotten { job: uid })
        } else {
            end_runs(planner, &job)
                && start_queued(planner, uid)
                && (job.queued.is_none() || end_runs(planner, &job))
        };
        if !went_on {
            return;
        }
    }
}

/// Ends every run that is over; `false` when the limit is reached.
fn end_runs(planner: &mut Planner, job: &Job) -> bool {
    if !job.kind.ends() || job.wanted != Wanted::Running {
        return true;
    }
    let active: Vec<_> = planner.state.active_runs(job.uid).map(|(number, _)| number).collect();
    for incarnation in active {
        let Some(end) = run_end(planner, job, incarnation) else { continue };
        let version = planner.state.target_number(job, incarnation);
        let marks = planner.state.marks(job.uid, version);
        let mark = match (end.success, marks.proven_at) {
            (true, None) => Some(FactKind::VersionProven { job: job.uid, version }),
            (false, None) => {
                let reason = end.reason.clone();
                Some(FactKind::VersionFailed { job: job.uid, version, reason })
            }
            (_, Some(_)) => None,
        };
        let over = rollout_over(planner, job, incarnation, &end);
        let ended = FactKind::JobEnded { job: job.uid, end, incarnation };
        if !planner.propose_all(over.into_iter().chain([ended]).chain(mark).collect()) {
            return false;
        }
    }
    true
}

/// A run that is over ends its rollout, if that has not ended by itself.
fn rollout_over(
    planner: &Planner,
    job: &Job,
    incarnation: Incarnation,
    end: &JobEnd,
) -> Option<FactKind> {
    let rollout = planner.state.active_rollout(job.uid, incarnation)?;
    let state = if end.success { RolloutState::Successful } else { RolloutState::Failed };
    let reason = (RolloutReason::RunEnded, end.reason.clone());
    Some(crate::decide::rollout::end(job, rollout, state, reason, planner.now))
}

/// Starts the version that waited for the end of the run before it (`finish-first`).
fn start_queued(planner: &mut Planner, uid: JobUid) -> bool {
    let Some(job) = planner.state.jobs.get(&uid) else { return true };
    let Some(version) = job.queued.filter(|_| job.wanted == Wanted::Running) else { return true };
    if let Some((running, _)) = planner.state.active_runs(uid).next_back() {
        let at = planner.state.target_number(job, running);
        let sentence =
            format!("version {version} waits for the end of run {running} at version {at}");
        let wait = Wait {
            incarnation: running,
            tasks: Vec::new(),
            code: WaitCode::RunQueued,
            sentence,
            until: None,
        };
        planner.plan.report.note(uid, wait);
        return true;
    }
    let Some(known) = planner.state.version(uid, version).cloned() else {
        return planner.propose(FactKind::RunQueued { job: uid, version: None });
    };
    let asked = (version, known.effective.as_ref(), false);
    let facts = crate::decide::new_run(&planner.state, job, asked, planner.now);
    planner.propose_all(facts)
}

/// How a run of a batch or ops job has ended, if it has. Done means: batch, every task completed;
/// ops, every task on the hosts chosen at the start completed.
fn run_end(planner: &mut Planner, job: &Job, incarnation: Incarnation) -> Option<JobEnd> {
    let run = planner.state.run(job.uid, incarnation).cloned()?;
    let tally = planner.state.index.tally(job.uid, incarnation);
    let end = |success, reason| Some(JobEnd { success, reason, at: planner.now });
    if tally.failed > 0 {
        return end(false, failure(planner, job, incarnation));
    }
    let members_known = job.kind != Kind::Ops || run.members_fixed;
    if members_known && tally.completed >= tally.wanted {
        return end(true, format!("{} of {} tasks completed", tally.completed, tally.wanted));
    }
    let limit = planner.state.target_version(job, incarnation)?.effective.queue_timeout();
    if limit == Millis::ZERO || run.first_up_at.is_some() {
        return None;
    }
    let deadline = run.started_at.after(limit);
    if planner.now >= deadline {
        return end(false, format!("no task could start within timeouts.queue of {limit}"));
    }
    planner.wake(deadline);
    None
}

fn failure(planner: &Planner, job: &Job, incarnation: Incarnation) -> String {
    planner
        .state
        .tasks_of(job.uid, incarnation)
        .find_map(|task| match &task.end {
            Some(TaskEnd::Failed(reason)) => Some(format!("task {} {reason}", task.key.number)),
            _ => None,
        })
        .unwrap_or_default()
}
