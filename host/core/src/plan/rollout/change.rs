//! How one task gets to a rollout's version: changed where it runs, by a successor beside it, or
//! stopped first (03-jobs.md, sections 4 and 5; 14-decisions.md, 7).

use super::{
    moves::Reason,
    view::{TaskView, View},
};
use crate::{
    fact::FactKind,
    limits,
    place::{self, Placer, Refused},
    plan::{Planner, placing::placed},
    state::{Execution, Progress, StopCause},
};
use alloc::{boxed::Box, format, string::String, vec, vec::Vec};
use pliant_types::{
    ChangeClass, HostId, Millis,
    assignment::InPlace,
    codes::WaitCode,
    spec::{Order, RolloutStrategy},
};

/// What a rollout may still spend in this plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Tasks that may begin to move.
    pub(super) parallel: u32,
    /// Tasks that serve.
    ready: u32,
    /// Tasks that must serve.
    needed: u32,
    /// The same when stop-first is forced: one task may be missing.
    needed_forced: u32,
    /// Live executions.
    live: u32,
    /// Live executions that there may be.
    most: u32,
    /// Whether successors beside tasks are allowed at all.
    surges: bool,
}

impl Budget {
    /// `tries`: canaries move now, beside the budget for surge and all at once.
    pub(super) fn new(view: &View<'_>, tries: bool) -> Self {
        let effective = &view.target.effective;
        let count = view.count();
        let green = effective.rollout_strategy() == RolloutStrategy::BlueGreen;
        let canaries = u32::try_from(view.rollout.progress.canaries.len()).unwrap_or(u32::MAX);
        let unavailable = effective.max_unavailable(count);
        let surge = if green { count } else { effective.max_surge(count).saturating_add(canaries) };
        let parallel = match (green, tries) {
            (true, _) => count,
            (_, true) => effective.max_parallel().max(canaries),
            _ => effective.max_parallel(),
        };
        Self {
            parallel: parallel.saturating_sub(view.in_motion()),
            ready: view.ready(),
            needed: count.saturating_sub(unavailable),
            needed_forced: count.saturating_sub(unavailable.max(1)),
            live: view.live(),
            most: count.saturating_add(surge),
            surges: surge > 0,
        }
    }

    /// As if nothing moved and every task served: what the budget is when a task's turn comes.
    pub(super) fn whole(view: &View<'_>) -> Self {
        let count = view.count();
        let whole = Self::new(view, false);
        Self { parallel: 1, ready: count, live: count, ..whole }
    }

    /// Whether a task may stop serving, and whether only because there is no other way.
    const fn spare(&self, ready: bool) -> Option<Forced> {
        if !ready || self.ready > self.needed {
            Some(Forced::No)
        } else if self.ready > self.needed_forced {
            Some(Forced::Yes)
        } else {
            None
        }
    }

    fn spend(&mut self, ready: bool) {
        self.parallel = self.parallel.saturating_sub(1);
        self.ready = self.ready.saturating_sub(u32::from(ready));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forced {
    No,
    Yes,
}

/// What becomes of one task now.
#[derive(Debug)]
pub(super) enum Way {
    /// It goes; all facts or none.
    Go(Vec<FactKind>),
    /// It waits.
    Wait(Reason),
}

/// Why there can be no successor beside a task.
enum NoSuccessor {
    /// Not now; it may be later.
    Later(Reason),
    /// Not as things are: stop-first is the only way.
    Never(Reason),
}

/// Chooses ways for the tasks of one rollout; hosts are looked at once.
pub(super) struct Mover<'a> {
    view: &'a View<'a>,
    placer: Placer,
    progress: Progress,
}

impl<'a> Mover<'a> {
    pub(super) fn new(planner: &Planner, view: &'a View<'a>) -> Self {
        let placer = Placer::new(&planner.state, view.job, &view.target.effective, 1);
        Self { view, placer, progress: view.rollout.progress.clone() }
    }

    /// Takes note of what was proposed; the planner's state has it already.
    pub(super) fn proposed(&mut self, planner: &Planner, facts: &[FactKind]) {
        for fact in facts {
            match fact {
                FactKind::ExecutionPlaced { host, .. } => self.placer.placed(&planner.state, *host),
                FactKind::ExecutionChanged { execution, .. } => {
                    if let Some(changed) = planner.state.executions.get(execution) {
                        self.placer.refresh(&planner.state, changed.host);
                    }
                }
                _ => {}
            }
        }
    }

    /// Looks at a host again, after something on it has ended.
    pub(super) fn refresh(&mut self, planner: &Planner, host: HostId) {
        self.placer.refresh(&planner.state, host);
    }

    /// The way of one task whose turn it is.
    pub(super) fn way(
        &mut self,
        planner: &Planner,
        budget: &mut Budget,
        task: &TaskView<'_>,
    ) -> Way {
        let Some(old) = task.old() else { return Way::Go(Vec::new()) };
        let class = self.view.class(old);
        let green = self.view.target.effective.rollout_strategy() == RolloutStrategy::BlueGreen;
        let beside = green || self.view.is_canary(task);
        match class {
            ChangeClass::Resize if !green => self.resize(planner, budget, task, old),
            ChangeClass::Swap | ChangeClass::Restart if !beside => {
                self.restart(planner, budget, task, old)
            }
            _ => self.replace(planner, budget, task, old),
        }
    }

    /// Live, where the host has room; it has a minute to get some, then the task is replaced.
    fn resize(
        &mut self,
        planner: &Planner,
        budget: &mut Budget,
        task: &TaskView<'_>,
        old: &Execution,
    ) -> Way {
        let effective = &self.view.target.effective;
        let Err(words) = place::grows(&planner.state, effective, old) else {
            budget.spend(false);
            return Way::Go(vec![self.changed(old, InPlace::Live)]);
        };
        let until = self.view.rollout.started_at.after(Millis::new(limits::RESIZE_PATIENCE_MILLIS));
        if until > self.view.now {
            return Way::Wait((WaitCode::ResizeDeferred, words, Some(until)));
        }
        self.replace(planner, budget, task, old)
    }

    /// Where it is, if it may be away meanwhile; else a successor on the same host if that has room,
    /// else elsewhere; else where it is, one task at a time.
    fn restart(
        &mut self,
        planner: &Planner,
        budget: &mut Budget,
        task: &TaskView<'_>,
        old: &Execution,
    ) -> Way {
        let effective = &self.view.target.effective;
        let fits = place::grows(&planner.state, effective, old).is_ok();
        let spare = budget.spare(task.is_ready()).filter(|_| fits);
        let first = effective.order() == Order::StopFirst;
        if spare == Some(Forced::No) || (first && spare.is_some()) {
            return self.stop_where_it_is(budget, task, old, spare);
        }
        match self.successor(planner, budget, task, old) {
            Ok(facts) => Way::Go(facts),
            Err(NoSuccessor::Later(reason)) => Way::Wait(reason),
            Err(NoSuccessor::Never(reason)) if effective.order() == Order::StartFirst => {
                Way::Wait(reason)
            }
            Err(NoSuccessor::Never(_)) if spare.is_some() => {
                self.stop_where_it_is(budget, task, old, spare)
            }
            Err(NoSuccessor::Never(reason)) if fits => Way::Wait(turn(budget, &reason)),
            Err(NoSuccessor::Never(_)) => self.stop_first(planner, budget, task, old),
        }
    }

    fn stop_where_it_is(
        &mut self,
        budget: &mut Budget,
        task: &TaskView<'_>,
        old: &Execution,
        spare: Option<Forced>,
    ) -> Way {
        let mut facts = self.forced(spare);
        facts.push(self.changed(old, InPlace::Restart));
        budget.spend(task.is_ready());
        Way::Go(facts)
    }

    fn replace(
        &mut self,
        planner: &Planner,
        budget: &mut Budget,
        task: &TaskView<'_>,
        old: &Execution,
    ) -> Way {
        let order = self.view.target.effective.order();
        if order == Order::StopFirst {
            return self.stop_first(planner, budget, task, old);
        }
        match self.successor(planner, budget, task, old) {
            Ok(facts) => Way::Go(facts),
            Err(NoSuccessor::Later(reason)) => Way::Wait(reason),
            Err(NoSuccessor::Never(reason)) if order == Order::StartFirst => Way::Wait(reason),
            Err(NoSuccessor::Never(reason)) if self.must_stand_beside(task) => Way::Wait(reason),
            Err(NoSuccessor::Never(_)) => self.stop_first(planner, budget, task, old),
        }
    }

    /// A green set without the old one beside it would be no way back.
    fn must_stand_beside(&self, task: &TaskView<'_>) -> bool {
        task.is_ready()
            && self.view.target.effective.rollout_strategy() == RolloutStrategy::BlueGreen
    }

    /// A successor beside a task: reserve, start, and only later stop the old.
    fn successor(
        &mut self,
        planner: &Planner,
        budget: &mut Budget,
        task: &TaskView<'_>,
        old: &Execution,
    ) -> Result<Vec<FactKind>, NoSuccessor> {
        let never = |words: String| NoSuccessor::Never((WaitCode::ReplaceTurn, words, None));
        let exclusive = |version| {
            let own = self.view.state.version(self.view.job.uid, version);
            own.is_some_and(|version| version.effective.exclusive())
        };
        let target = self.view.target.record.number;
        if [target, old.version, old.runs()].into_iter().any(exclusive) {
            return Err(never("it is exclusive, so no successor may run beside it".into()));
        }
        if !budget.surges {
            return Err(never("maxSurge is 0, so no successor may run beside it".into()));
        }
        if budget.live >= budget.most {
            let words = format!(
                "{} executions are live, {} may be with maxSurge",
                budget.live, budget.most
            );
            return Err(NoSuccessor::Later((WaitCode::ReplaceTurn, words, None)));
        }
        let place = place::Want { pinned: task.task.host, beside: Some(old.host) };
        match self.placer.choose(&planner.state, place) {
            Ok(chosen) => {
                let fact = placed(planner, task.task.key, self.view.target, &chosen);
                budget.spend(false);
                budget.live += 1;
                Ok(vec![fact])
            }
            Err(Refused { code, sentence }) => {
                Err(NoSuccessor::Never((code, format!("no successor fits: {sentence}"), None)))
            }
        }
    }

    /// Stops a task before its successor starts; only with a place for the successor in hand.
    fn stop_first(
        &mut self,
        planner: &Planner,
        budget: &mut Budget,
        task: &TaskView<'_>,
        old: &Execution,
    ) -> Way {
        let effective = &self.view.target.effective;
        let place = place::Want { pinned: task.task.host, beside: Some(old.host) };
        let reserved = place::fits_instead(&planner.state, effective, old).or_else(|(_, words)| {
            match self.placer.choose(&planner.state, place) {
                Ok(_) => Ok(()),
                Err(refused) => Err((refused.code, format!("{}; {words}", refused.sentence))),
            }
        });
        if let Err((code, words)) = reserved {
            return Way::Wait((code, words, None));
        }
        let Some(spare) = budget.spare(task.is_ready()) else {
            let words = "its successor can only start after it has stopped".into();
            return Way::Wait(turn(budget, &(WaitCode::ReplaceTurn, words, None)));
        };
        let mut facts = self.forced(Some(spare));
        facts.push(FactKind::ExecutionStopRequested {
            execution: old.id,
            cause: StopCause::Update,
            kill: self.view.kill_of(old.id),
        });
        budget.spend(task.is_ready());
        Way::Go(facts)
    }

    fn changed(&self, old: &Execution, in_place: InPlace) -> FactKind {
        let effective = &self.view.target.effective;
        FactKind::ExecutionChanged {
            execution: old.id,
            version: self.view.target.record.number,
            in_place,
            cpu: effective.cpu().max(old.cpu),
            memory: effective.memory().max(old.memory),
        }
    }

    /// Says once that a task had to be stopped first (condition `StopFirstForced`).
    fn forced(&mut self, spare: Option<Forced>) -> Vec<FactKind> {
        if spare != Some(Forced::Yes) || self.progress.forced {
            return Vec::new();
        }
        self.progress.forced = true;
        vec![FactKind::RolloutChanged {
            job: self.view.job.uid,
            rollout: self.view.rollout.id,
            progress: Box::new(self.progress.clone()),
            asked: false,
        }]
    }
}

/// A task that could go if another served.
fn turn(budget: &Budget, (_, why, _): &Reason) -> Reason {
    let words = format!("{why}; {} tasks serve and {} must", budget.ready, budget.needed_forced);
    (WaitCode::ReplaceTurn, words, None)
}
