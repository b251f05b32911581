//! Rollouts of batch and ops runs: successful when every task has started once (14-decisions.md, 5).
//!
//! The clock runs only while a task is placed and has not started; nothing goes back by itself.

use crate::{
    decide::rollout::failed,
    fact::FactKind,
    plan::Planner,
    state::{Job, Progress, Rollout, RolloutReason, RolloutState},
};
use alloc::{boxed::Box, format};

pub(super) fn turn(planner: &mut Planner, job: &Job, rollout: &Rollout) -> bool {
    let progress = &rollout.progress;
    let Some(version) = planner.state.version(job.uid, progress.version) else { return true };
    let limit = version.effective.progress_deadline();
    let tally = planner.state.index.tally(job.uid, rollout.incarnation);
    let members = job.kind != pliant_types::Kind::Ops
        || planner.state.run(job.uid, rollout.incarnation).is_some_and(|run| run.members_fixed);
    let mut next = Progress { state: RolloutState::Progressing, ..progress.clone() };
    if tally.started >= tally.wanted && members {
        next.state = RolloutState::Successful;
        next.deadline = None;
        next.ended_at = Some(planner.now);
        return propose(planner, job, rollout, next);
    }
    let begins = tally.live.min(tally.wanted).saturating_sub(tally.started.min(tally.live)) > 0;
    next.deadline = match progress.deadline {
        _ if !begins => None,
        Some(deadline) if tally.started <= progress.best => Some(deadline),
        _ => Some(planner.now.after(limit)),
    };
    next.best = progress.best.max(tally.started);
    if let Some(deadline) = next.deadline {
        if deadline <= planner.now {
            let words = format!(
                "no task started for {limit}: {} of {} tasks have started",
                tally.started, tally.wanted
            );
            let reason = (RolloutReason::ProgressDeadline, words);
            let facts = failed(&planner.state, job, rollout, reason, planner.now);
            return planner.propose_all(facts);
        }
        planner.wake(deadline);
    }
    if next == *progress { true } else { propose(planner, job, rollout, next) }
}

fn propose(planner: &mut Planner, job: &Job, rollout: &Rollout, progress: Progress) -> bool {
    planner.propose(FactKind::RolloutChanged {
        job: job.uid,
        rollout: rollout.id,
        progress: Box::new(progress),
        asked: false,
    })
}
