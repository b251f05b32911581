//! Which tasks of a rollout go next, within its budget; why the others wait.

use super::{
    change::{self, Budget, Way},
    turn::next_look,
    view::{TaskView, View},
};
use crate::{
    fact::FactKind,
    plan::{Planner, report::Wait},
    state::{Execution, RolloutState, StopCause},
};
use alloc::{format, string::String, vec::Vec};
use pliant_types::{Kind, Time, codes::WaitCode, spec::RolloutStrategy};

/// Takes the next steps of a rollout; `false` when the plan is full.
pub(super) fn next(planner: &mut Planner, view: &View<'_>) -> bool {
    if let Some(at) = next_look(view) {
        planner.wake(at);
    }
    let progress = &view.rollout.progress;
    if progress.state == RolloutState::Paused {
        let words = format!("rollout {} is paused", view.rollout.id);
        note(planner, view, view.tasks.iter(), (WaitCode::RolloutPaused, words, None));
        return true;
    }
    if !retire_members(planner, view) || !stop_old(planner, view) {
        return false;
    }
    match progress.state {
        RolloutState::AwaitingPromotion => {
            let words = format!("rollout {} waits for `promote` or `abort`", view.rollout.id);
            let wait = (WaitCode::AwaitingPromotion, words, progress.until);
            note(planner, view, view.tasks.iter(), wait);
            true
        }
        RolloutState::Progressing => {
            if view.target.effective.rollout_strategy() == RolloutStrategy::Recreate {
                recreate(planner, view)
            } else {
                one_by_one(planner, view)
            }
        }
        _ => true,
    }
}

/// A daemon's tasks on hosts that its new version does not match are no longer wanted.
fn retire_members(planner: &mut Planner, view: &View<'_>) -> bool {
    if view.job.kind != Kind::Daemon {
        return true;
    }
    for task in &view.tasks {
        let host = task.task.host.and_then(|host| view.state.hosts.get(&host));
        let matches =
            host.is_none_or(|host| crate::place::eligible(&view.target.effective, host).is_ok());
        if !matches && !planner.propose(FactKind::TaskRetired { task: task.task.key }) {
            return false;
        }
    }
    true
}

/// Stops what another execution has taken over from, and successors of a superseded rollout.
fn stop_old(planner: &mut Planner, view: &View<'_>) -> bool {
    for task in &view.tasks {
        let over: Vec<_> = if view.is_settled(task) && may_retire(planner, view, task) {
            task.old_ids()
        } else {
            let serving = task.others.iter().find(|e| e.is_ready()).or(task.others.first());
            let serving = serving.map(|e| e.id);
            task.old_ids().into_iter().filter(|id| Some(*id) != serving).collect()
        };
        for execution in over {
            let kill = view.kill_of(execution);
            let fact =
                FactKind::ExecutionStopRequested { execution, cause: StopCause::Update, kill };
            if !planner.propose(fact) {
                return false;
            }
        }
    }
    true
}

/// Whether what a task has beside its execution at the target may go. Canaries keep it until they
/// are promoted; the old set of blue/green stays a while longer, as an instant way back.
fn may_retire(planner: &mut Planner, view: &View<'_>, task: &TaskView<'_>) -> bool {
    let progress = &view.rollout.progress;
    if task.others.is_empty() || view.rollout.cause.is_rollback() {
        return true;
    }
    if view.is_canary(task) {
        return progress.promoted;
    }
    if view.target.effective.rollout_strategy() != RolloutStrategy::BlueGreen {
        return true;
    }
    match progress.until {
        Some(until) if progress.promoted && until > view.now => {
            let words = format!(
                "the old set is kept until version {} has served for {}",
                progress.version,
                view.target.effective.retire_after()
            );
            note(planner, view, [task], (WaitCode::Retiring, words, Some(until)));
            false
        }
        _ => progress.promoted,
    }
}

/// Everything old down, then everything up; placement waits for the last of the old.
fn recreate(planner: &mut Planner, view: &View<'_>) -> bool {
    for task in view.tasks.iter().filter(|task| task.at.is_none()) {
        for execution in task.old_ids() {
            let kill = view.kill_of(execution);
            let fact =
                FactKind::ExecutionStopRequested { execution, cause: StopCause::Update, kill };
            if !planner.propose(fact) {
                return false;
            }
        }
    }
    true
}

fn one_by_one(planner: &mut Planner, view: &View<'_>) -> bool {
    let mut candidates: Vec<_> =
        view.tasks.iter().filter(|task| task.at.is_none() && !task.others.is_empty()).collect();
    candidates.sort_by_key(|task| order(view, task));
    let progress = &view.rollout.progress;
    let tries = !progress.promoted && !progress.canaries.is_empty();
    let mut budget = Budget::new(view, tries);
    let mut mover = change::Mover::new(planner, view);
    for task in candidates {
        if tries && !view.is_canary(task) {
            let words = format!(
                "{} canaries of rollout {} go first",
                progress.canaries.len(),
                view.rollout.id
            );
            note(planner, view, [task], (WaitCode::ReplaceTurn, words, None));
            continue;
        }
        if let Some(reason) = hold(view, task, &budget) {
            note(planner, view, [task], reason);
            continue;
        }
        match mover.way(planner, &mut budget, task) {
            Way::Go(facts) => {
                if !planner.propose_all(facts.clone()) {
                    return false;
                }
                mover.proposed(planner, &facts);
            }
            Way::Wait(reason) => note(planner, view, [task], reason),
        }
    }
    true
}

/// Unhealthy tasks of other versions first, then what a superseded rollout left behind, then by
/// number (03-jobs.md, section 5; 14-decisions.md, 18).
fn order(view: &View<'_>, task: &TaskView<'_>) -> (bool, bool, bool, u32) {
    let proven = task.old().is_some_and(|old| view.state.is_proven(view.job.uid, old.runs()));
    (task.is_ready(), proven, !view.is_canary(task), task.task.key.number.get())
}

/// A reason to wait: its word, its sentence, its end.
pub(super) type Reason = (WaitCode, String, Option<Time>);

/// Why a task may not move yet, whatever its own way would be.
fn hold(view: &View<'_>, task: &TaskView<'_>, budget: &Budget) -> Option<Reason> {
    if let Some(sick) = view.sick().filter(|_| task.is_ready()) {
        let words = format!(
            "task {} is not healthy at version {}",
            sick.task.key.number, view.rollout.progress.version
        );
        return Some((WaitCode::RolloutUnhealthy, words, None));
    }
    if view.is_fresh(task) {
        let words = "it was just placed again at its own version".into();
        return Some((WaitCode::ReplaceTurn, words, None));
    }
    if view.target.effective.exclusive() && task.live > 1 {
        let words = "it becomes exclusive when what runs beside it has ended".into();
        return Some((WaitCode::StopUnconfirmed, words, None));
    }
    if let Some(at) = task.task.retry_at.filter(|at| *at > view.now) {
        let words = format!("it failed {} times in a row", task.task.failures);
        return Some((WaitCode::BackOff, words, Some(at)));
    }
    if task.old().is_some_and(|old| old.refused.is_some()) {
        let words = "its host cannot change it in place; another way is taken".into();
        return Some((WaitCode::ReplaceTurn, words, None));
    }
    (budget.parallel == 0).then(|| {
        let words = format!(
            "{} of {} tasks are moving or missing, {} may at once",
            view.in_motion(),
            view.count(),
            view.target.effective.max_parallel()
        );
        (WaitCode::ReplaceTurn, words, None)
    })
}

fn note<'a>(
    planner: &mut Planner,
    view: &View<'_>,
    tasks: impl IntoIterator<Item = &'a TaskView<'a>>,
    (code, sentence, until): Reason,
) {
    if let Some(until) = until {
        planner.wake(until);
    }
    for task in tasks.into_iter().filter(|task| !task.others.is_empty()) {
        let incarnation = view.rollout.incarnation;
        let sentence = sentence.clone();
        let wait = Wait { incarnation, tasks: Vec::new(), code, sentence, until };
        planner.plan.report.add(view.job.uid, task.task.key.number, wait);
    }
}

impl View<'_> {
    /// The time that an execution has between being asked to stop and being ended.
    pub(super) fn kill_of(&self, id: pliant_types::ExecutionId) -> pliant_types::Millis {
        let version = self.state.executions.get(&id).map(Execution::runs);
        let own = version.and_then(|version| self.state.version(self.job.uid, version));
        own.unwrap_or(self.target).effective.kill_timeout()
    }
}
