//! How a rollout of a service or daemon gets from one state to the next: the table of 03-jobs.md,
//! section 5, with the notes of 14-decisions.md, 18.

use super::{earliest, view::View};
use crate::{
    decide::rollout::{failed, promoted},
    fact::FactKind,
    plan::Planner,
    state::{Execution, Progress, RolloutReason, RolloutState, StopCause},
};
use alloc::{boxed::Box, format, string::String, vec, vec::Vec};
use pliant_types::{Phase, Time, spec::RolloutStrategy};

/// Takes the next step between states, if one is due; `false` when the plan is full.
pub(super) fn turn(planner: &mut Planner, view: &View<'_>) -> bool {
    if let Some(facts) = failure(planner, view) {
        return planner.propose_all(facts);
    }
    let progress = &view.rollout.progress;
    let next = match progress.state {
        RolloutState::Pending => Some(begun(view)),
        RolloutState::Progressing => progressing(view),
        RolloutState::AwaitingPromotion => awaiting(view),
        RolloutState::Verifying => return verifying(planner, view),
        _ => None,
    };
    match next {
        Some(next) if next != *progress => planner.propose(changed(view, next)),
        _ => true,
    }
}

fn changed(view: &View<'_>, progress: Progress) -> FactKind {
    FactKind::RolloutChanged {
        job: view.job.uid,
        rollout: view.rollout.id,
        progress: Box::new(progress),
        asked: false,
    }
}

/// The facts of a rollout that has failed by now.
fn failure(planner: &mut Planner, view: &View<'_>) -> Option<Vec<FactKind>> {
    let effective = &view.target.effective;
    let progress = &view.rollout.progress;
    let fail = |reason, words: String| {
        Some(failed(view.state, view.job, view.rollout, (reason, words), view.now))
    };
    if progress.failures > effective.max_failures() {
        let last = progress.message.clone().unwrap_or_default();
        let words = match effective.max_failures() {
            0 => last,
            allowed => format!("{} tasks failed, {allowed} may; {last}", progress.failures),
        };
        return fail(RolloutReason::TaskFailed, words);
    }
    if matches!(progress.state, RolloutState::Paused) {
        return None;
    }
    if let Some(late) = late(planner, view) {
        let words = format!(
            "task {} on host {} was not healthy within {}",
            late.task.number,
            late.host,
            effective.healthy_deadline()
        );
        // One that still serves what it was is not stopped for what it did not become.
        if progress.failures + 1 > effective.max_failures() || late.is_ready() {
            return fail(RolloutReason::HealthyDeadline, words);
        }
        return Some(give_up(view, late, words));
    } else if let Some(deadline) = progress.deadline
        && progress.state != RolloutState::Verifying
    {
        if deadline <= view.now {
            let words = format!(
                "nothing got better for {}: {} of {} tasks are healthy at version {}",
                effective.progress_deadline(),
                view.settled(),
                view.count(),
                progress.version
            );
            return fail(RolloutReason::ProgressDeadline, words);
        }
        planner.wake(deadline);
    }
    None
}

/// The first task at the target that was not healthy in its time. Notes when the next would be late.
fn late<'a>(planner: &mut Planner, view: &View<'a>) -> Option<&'a Execution> {
    let limit = view.target.effective.healthy_deadline();
    let waiting = view.tasks.iter().filter_map(|task| task.at);
    let waiting = waiting.filter(|at| at.good_since().is_none());
    let due = |at: &Execution| {
        let since = [Some(at.asked_at()), at.dipped_at, view.rollout.progress.resumed_at];
        let since = since.into_iter().flatten().max().unwrap_or_default();
        since.max(view.rollout.started_at).after(limit)
    };
    let first = waiting.map(|at| (due(at), at.id, at)).min_by_key(|(due, id, _)| (*due, *id))?;
    if first.0 <= view.now {
        return Some(first.2);
    }
    planner.wake(first.0);
    None
}

/// A task that was late counts as failed; it is stopped and placed again.
fn give_up(view: &View<'_>, late: &Execution, words: String) -> Vec<FactKind> {
    let progress = &view.rollout.progress;
    let counted =
        Progress { failures: progress.failures + 1, message: Some(words), ..progress.clone() };
    let stop = FactKind::ExecutionStopRequested {
        execution: late.id,
        cause: StopCause::HealthyDeadline,
        kill: view.target.effective.kill_timeout(),
    };
    vec![changed(view, counted), stop]
}

/// The first plan, even if nothing is placeable: canaries are chosen where there is something to
/// compare them with; a rollback has none.
fn begun(view: &View<'_>) -> Progress {
    let effective = &view.target.effective;
    let canaries = if view.rollout.cause.is_rollback() || !is_rolling(view) {
        0
    } else {
        effective.canary() as usize
    };
    let candidates = view.tasks.iter().filter(|task| task.at.is_none() && !task.others.is_empty());
    Progress {
        state: RolloutState::Progressing,
        canaries: candidates.take(canaries).map(|task| task.task.key.number).collect(),
        ..view.rollout.progress.clone()
    }
}

fn is_rolling(view: &View<'_>) -> bool {
    view.target.effective.rollout_strategy() == RolloutStrategy::Rolling
}

fn progressing(view: &View<'_>) -> Option<Progress> {
    let progress = &view.rollout.progress;
    let effective = &view.target.effective;
    let settled = view.settled();
    let mut next = progress.clone();
    if settled > progress.best {
        next.best = settled;
        next.deadline = Some(view.now.after(effective.progress_deadline()));
    }
    if view.is_complete() {
        next.state = RolloutState::Verifying;
        next.until = Some(view.now.after(effective.verification()));
    } else if !progress.promoted && waits_for_a_word(view) {
        next.state = RolloutState::AwaitingPromotion;
        next.deadline = None;
        next.until = effective.auto_promote().then(|| view.now.after(effective.bake()));
    }
    Some(next)
}

/// Whether all canaries, or the whole green set beside the old one, are healthy.
fn waits_for_a_word(view: &View<'_>) -> bool {
    let green = view.target.effective.rollout_strategy() == RolloutStrategy::BlueGreen;
    if green {
        return !view.rollout.cause.is_rollback()
            && view.has_others()
            && view.settled() == view.count();
    }
    let mut canaries = view.tasks.iter().filter(|task| view.is_canary(task)).peekable();
    canaries.peek().is_some() && canaries.all(|task| view.is_settled(task))
}

fn awaiting(view: &View<'_>) -> Option<Progress> {
    let progress = &view.rollout.progress;
    let over = progress.until.is_some_and(|until| until <= view.now);
    over.then(|| promoted(progress, view.target, view.now))
}

/// A dip leads back without a new clock; a whole wait without one proves the version.
fn verifying(planner: &mut Planner, view: &View<'_>) -> bool {
    let progress = &view.rollout.progress;
    if !view.is_complete() {
        let next = Progress { state: RolloutState::Progressing, until: None, ..progress.clone() };
        return planner.propose(changed(view, next));
    }
    match progress.until {
        Some(until) if until > view.now => {
            planner.wake(until);
            true
        }
        _ => {
            let facts = successful(view);
            planner.propose_all(facts)
        }
    }
}

fn successful(view: &View<'_>) -> Vec<FactKind> {
    let progress = Progress {
        state: RolloutState::Successful,
        deadline: None,
        until: None,
        message: None,
        ended_at: Some(view.now),
        ..view.rollout.progress.clone()
    };
    let mut facts = vec![changed(view, progress)];
    let version = view.rollout.progress.version;
    let proven = view.state.marks(view.job.uid, version).proven_at.is_some();
    if !proven && view.count() > 0 {
        facts.push(FactKind::VersionProven { job: view.job.uid, version });
    }
    facts
}

/// When a rollout must be looked at although nothing happens.
pub(super) fn next_look(view: &View<'_>) -> Option<Time> {
    let settles = view.tasks.iter().map(|task| view.settles_at(task));
    let later = settles.chain([view.rollout.progress.until]);
    earliest(later.map(|at| at.filter(|at| *at > view.now)))
}

/// What the failure of an execution means for the rollout that it belongs to: one more failure of
/// the target, with its words. Batch and ops jobs count their failures themselves.
pub(in crate::plan) fn count_failure(planner: &Planner, execution: &Execution) -> Option<FactKind> {
    let uid = execution.task.job;
    let job = planner.state.jobs.get(&uid).filter(|job| !job.kind.ends())?;
    let rollout = planner.state.active_rollout(uid, execution.task.incarnation)?;
    let at_target = planner.state.equal_templates(uid, execution.version, rollout.progress.version);
    let failed = matches!(execution.phase, Phase::Failed | Phase::Completed);
    if !failed || !at_target || execution.stop.is_some() {
        return None;
    }
    let words = execution.exit.as_ref().map_or_else(String::new, |exit| format!(": {exit}"));
    let progress = Progress {
        failures: rollout.progress.failures + 1,
        message: Some(format!(
            "task {} failed on host {}{words}",
            execution.task.number, execution.host
        )),
        ..rollout.progress.clone()
    };
    Some(FactKind::RolloutChanged {
        job: job.uid,
        rollout: rollout.id,
        progress: Box::new(progress),
        asked: false,
    })
}
