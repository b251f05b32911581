//! The end of jobs: batch and ops runs that are over, deleted jobs that hold nothing any more.

use super::Planner;
use crate::{
    fact::FactKind,
    state::{IncarnationKey, Job, JobEnd, TaskEnd, Wanted},
};
use alloc::{format, string::String, vec::Vec};
use pliant_types::{Kind, Millis};

pub(super) fn jobs(planner: &mut Planner) {
    let open: Vec<_> = planner.state.index.open_jobs().collect();
    for uid in open {
        let Some(job) = planner.state.jobs.get(&uid).cloned() else { continue };
        let fact = if job.wanted == Wanted::Deleted {
            let held = planner.state.index.job_live(uid);
            (held == 0).then_some(FactKind::JobForgotten { job: uid })
        } else {
            run_end(planner, &job).map(|end| FactKind::JobEnded { job: uid, end })
        };
        if let Some(fact) = fact
            && !planner.propose(fact)
        {
            return;
        }
    }
}

/// How the newest run of a batch or ops job has ended, if it has. Done means: batch, every task
/// completed; ops, every task on the hosts chosen at the start completed.
fn run_end(planner: &mut Planner, job: &Job) -> Option<JobEnd> {
    if !job.kind.ends() || job.ended.is_some() || job.wanted != Wanted::Running {
        return None;
    }
    let run = planner
        .state
        .incarnations
        .get(&IncarnationKey { job: job.uid, incarnation: job.incarnation })
        .cloned()?;
    let tally = planner.state.index.tally(job.uid, job.incarnation);
    let end = |success, reason| Some(JobEnd { success, reason, at: planner.now });
    if tally.failed > 0 {
        return end(false, failure(planner, job));
    }
    let members_known = job.kind != Kind::Ops || run.members_fixed;
    if members_known && tally.completed >= tally.wanted {
        return end(true, format!("{} of {} tasks completed", tally.completed, tally.wanted));
    }
    let limit = planner.state.current_version(job)?.effective.queue_timeout();
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

fn failure(planner: &Planner, job: &Job) -> String {
    planner
        .state
        .tasks_of(job.uid, job.incarnation)
        .find_map(|task| match &task.end {
            Some(TaskEnd::Failed(reason)) => Some(format!("task {} {reason}", task.key.number)),
            _ => None,
        })
        .unwrap_or_default()
}
