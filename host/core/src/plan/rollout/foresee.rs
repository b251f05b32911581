//! What a rollout would do to each task if every host obeyed at once: for the answer of `plan`.
//!
//! The same [`Mover`] chooses; only the budget is whole for each task, since the turns before it are
//! over by then. The state that is passed in goes along.

use super::{
    change::{Budget, Mover, Way},
    view::View,
};
use crate::{
    FactKind, State,
    plan::{Plan, Planner},
    state::TaskKey,
};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use pliant_types::{
    ExecutionId, ExitReason, ExitStatus, Health, JobUid, Phase, Time, assignment::InPlace,
    phase::AttemptState, report::Observation,
};

/// What happens to a task that is at another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Foreseen {
    /// It gets another size where it is.
    Resized,
    /// It is restarted where it is.
    Restarted,
    /// It ends and another execution takes its place.
    Replaced,
    /// It must move and cannot yet.
    Waits(String),
}

/// Carries a job's rollout out on `state`, as far as there is room.
pub(crate) fn foresee(state: &mut State, uid: JobUid, now: Time) -> BTreeMap<TaskKey, Foreseen> {
    let mut seen = BTreeMap::new();
    let before = state.clone();
    let Some(job) = before.jobs.get(&uid).filter(|job| !job.kind.ends()) else { return seen };
    let Some(rollout) = before.active_rollout(uid, job.incarnation) else { return seen };
    let Some(view) = View::new(&before, job, rollout, now) else { return seen };
    let mut planner = Planner { state: before.clone(), now, plan: Plan::default() };
    let whole = Budget::whole(&view);
    let mut mover = Mover::new(&planner, &view);
    for task in view.tasks.iter().filter(|task| task.at.is_none() && !task.others.is_empty()) {
        let mut budget = whole;
        let way = mover.way(&planner, &mut budget, task);
        let (facts, what) = match way {
            Way::Wait((_, words, _)) => {
                seen.insert(task.task.key, Foreseen::Waits(words));
                continue;
            }
            Way::Go(facts) => {
                let what = kind_of(&facts);
                (facts, what)
            }
        };
        let over = if what == Foreseen::Replaced { task.old_ids() } else { Vec::new() };
        planner.propose_all(facts.clone());
        let ends: Vec<_> = over.iter().filter_map(|id| stopped(&planner.state, *id)).collect();
        planner.propose_all(ends);
        planner.plan.facts.clear();
        mover.proposed(&planner, &facts);
        if let Some(host) = task.old().map(|old| old.host) {
            mover.refresh(&planner, host);
        }
        seen.insert(task.task.key, what);
    }
    *state = planner.state;
    seen
}

fn kind_of(facts: &[FactKind]) -> Foreseen {
    let changed = facts.iter().find_map(|fact| match fact {
        FactKind::ExecutionChanged { in_place, .. } => Some(*in_place),
        _ => None,
    });
    match changed {
        Some(InPlace::Live) => Foreseen::Resized,
        Some(InPlace::Restart) => Foreseen::Restarted,
        None => Foreseen::Replaced,
    }
}

/// The fact by which a host says that an execution has stopped.
pub(crate) fn stopped(state: &State, id: ExecutionId) -> Option<FactKind> {
    let execution = state.executions.get(&id).filter(|execution| execution.is_live())?;
    let observation = Observation {
        execution: execution.id,
        job: execution.task.job,
        incarnation: execution.task.incarnation,
        fence: execution.fence,
        phase: Phase::Stopped,
        attempt: execution.attempt,
        attempt_state: AttemptState::Ended,
        health: Health::Unknown,
        ports: BTreeMap::new(),
        exit: Some(ExitStatus::of(ExitReason::Stopped)),
        results: None,
        detail: None,
        version: execution.obeys,
        refused: None,
    };
    Some(FactKind::ExecutionObserved { observation })
}
