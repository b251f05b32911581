//! A run under a rollout as the planner sees it: each task with what it has at the target and beside
//! it, and the counts from which the budget follows.
//!
//! Read off the state once per plan; decides nothing.

use crate::{
    State,
    place::eligible,
    state::{Execution, Job, Rollout, Task, Version},
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::cell::RefCell;
use pliant_types::{
    Attempt, ChangeClass, ExecutionId, Health, Time, Version as VersionNumber, assignment::InPlace,
};

/// A task under a rollout.
#[derive(Clone, Debug)]
pub(super) struct TaskView<'a> {
    pub(super) task: &'a Task,
    /// What runs, or begins to run, at the target.
    pub(super) at: Option<&'a Execution>,
    /// What is asked to run at other versions, oldest first.
    pub(super) others: Vec<&'a Execution>,
    /// Live executions, those that are being stopped included.
    pub(super) live: u32,
}

/// A run under a rollout.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    pub(super) state: &'a State,
    pub(super) job: &'a Job,
    pub(super) rollout: &'a Rollout,
    pub(super) target: &'a Version,
    pub(super) tasks: Vec<TaskView<'a>>,
    pub(super) now: Time,
    /// Classes from other versions to the target, worked out once each.
    classes: RefCell<BTreeMap<VersionNumber, ChangeClass>>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        state: &'a State,
        job: &'a Job,
        rollout: &'a Rollout,
        now: Time,
    ) -> Option<Self> {
        let target = state.version(job.uid, rollout.progress.version)?;
        let tasks = state.tasks_of(job.uid, rollout.incarnation).filter(|task| task.wanted);
        let mut view = Self {
            state,
            job,
            rollout,
            target,
            tasks: Vec::new(),
            now,
            classes: RefCell::default(),
        };
        view.tasks = tasks.map(|task| view.task(task)).collect();
        Some(view)
    }

    fn task(&self, task: &'a Task) -> TaskView<'a> {
        let live: Vec<_> = self.state.executions_of(task).filter(|e| e.is_live()).collect();
        let count = u32::try_from(live.len()).unwrap_or(u32::MAX);
        let (mut at, others): (Vec<_>, Vec<_>) =
            live.into_iter().filter(|e| e.is_wanted()).partition(|e| self.is_at_target(e));
        at.sort_by_key(|e| (e.good_since().is_none(), e.id));
        TaskView { task, at: at.first().copied(), others, live: count }
    }

    /// Whether an execution is at the target's template, or may still get there where it is.
    fn is_at_target(&self, execution: &Execution) -> bool {
        let fits = self
            .state
            .hosts
            .get(&execution.host)
            .is_some_and(|host| eligible(&self.target.effective, host).is_ok());
        fits && execution.refused != Some(execution.version)
            && self.state.equal_templates(
                self.job.uid,
                execution.version,
                self.target.record.number,
            )
    }

    /// Number of tasks that the run wants.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// Tasks that serve now.
    pub(super) fn ready(&self) -> u32 {
        let ready = self.tasks.iter().filter(|task| task.is_ready()).count();
        u32::try_from(ready).unwrap_or(u32::MAX)
    }

    /// Tasks whose execution at the target has been healthy for `minHealthyTime`.
    pub(super) fn settled(&self) -> u32 {
        let settled = self.tasks.iter().filter(|task| self.is_settled(task)).count();
        u32::try_from(settled).unwrap_or(u32::MAX)
    }

    /// Whether a task's execution at the target has been healthy for `minHealthyTime`.
    pub(super) fn is_settled(&self, task: &TaskView<'_>) -> bool {
        self.settles_at(task).is_some_and(|at| at <= self.now)
    }

    /// When it will have been, if nothing dips.
    pub(super) fn settles_at(&self, task: &TaskView<'_>) -> Option<Time> {
        let since = task.at?.good_since()?;
        Some(since.after(self.target.effective.min_healthy_time()))
    }

    /// Tasks that move now: at the target and not settled, without anything that is asked to run, or
    /// just placed again at their own proven version.
    pub(super) fn in_motion(&self) -> u32 {
        let moves = |task: &&TaskView<'_>| match task.at {
            Some(_) => !self.is_settled(task),
            None => task.others.is_empty() || self.is_fresh(task),
        };
        u32::try_from(self.tasks.iter().filter(moves).count()).unwrap_or(u32::MAX)
    }

    /// Whether a task was just placed again at its own proven version and has not had its chance.
    pub(super) fn is_fresh(&self, task: &TaskView<'_>) -> bool {
        task.old().is_some_and(|old| {
            let untried = old.healthy_since.is_none() && old.dipped_at.is_none();
            untried
                && old.attempt == Attempt::FIRST
                && old.health != Health::Unhealthy
                && self.state.is_proven(self.job.uid, old.runs())
        })
    }

    /// Live executions of the run.
    pub(super) fn live(&self) -> u32 {
        self.tasks.iter().map(|task| task.live).sum()
    }

    /// Whether anything serves at another version.
    pub(super) fn has_others(&self) -> bool {
        self.tasks.iter().any(|task| !task.others.is_empty())
    }

    /// Whether every task is at the target, healthy long enough, and nothing old serves.
    pub(super) fn is_complete(&self) -> bool {
        self.tasks.iter().all(|task| task.others.is_empty() && self.is_settled(task))
    }

    /// The task at the target that is not healthy although it should be: nothing else moves then.
    pub(super) fn sick(&self) -> Option<&TaskView<'a>> {
        self.tasks.iter().find(|task| {
            task.at.is_some_and(|at| {
                let fell = at.dipped_at.is_some() && at.healthy_since.is_none();
                at.health == Health::Unhealthy || fell
            })
        })
    }

    /// Whether a task is a canary of the rollout.
    pub(super) fn is_canary(&self, task: &TaskView<'_>) -> bool {
        self.rollout.progress.canaries.contains(&task.task.key.number)
    }

    /// The gentlest way to bring an execution to the target (03-jobs.md, section 4). What its host
    /// has refused live is tried by a restart, what it has refused at all is replaced.
    pub(super) fn class(&self, execution: &Execution) -> ChangeClass {
        let host = self.state.hosts.get(&execution.host);
        if host.is_none_or(|host| eligible(&self.target.effective, host).is_err()) {
            return ChangeClass::Replace;
        }
        let class = self.class_from(execution.runs());
        let refused = execution.cannot.is_some_and(|refused| {
            self.state.equal_templates(self.job.uid, refused, self.target.record.number)
        });
        match (refused, execution.in_place) {
            (false, _) => class,
            (true, InPlace::Live) => class.max(ChangeClass::Restart),
            (true, InPlace::Restart) => ChangeClass::Replace,
        }
    }

    fn class_from(&self, version: VersionNumber) -> ChangeClass {
        if let Some(known) = self.classes.borrow().get(&version) {
            return *known;
        }
        let own = self.state.version(self.job.uid, version);
        let strongest = own.map(|own| {
            let changes = crate::decide::differences(own, self.target);
            changes.iter().map(|change| change.class).max().unwrap_or(ChangeClass::Metadata)
        });
        let equal = self.state.equal_templates(self.job.uid, version, self.target.record.number);
        let class = match strongest {
            // What was asked of it was not done yet, and need not be any more.
            Some(_) if equal => ChangeClass::Resize,
            None => ChangeClass::Replace,
            Some(class) if class >= ChangeClass::Resize => class,
            // A forced version: nothing differs and every task changes all the same.
            Some(_) => ChangeClass::Restart,
        };
        self.classes.borrow_mut().insert(version, class);
        class
    }
}

impl TaskView<'_> {
    /// Whether it serves now.
    pub(super) fn is_ready(&self) -> bool {
        self.at.iter().chain(&self.others).any(|execution| execution.is_ready())
    }

    /// The execution that serves at another version.
    pub(super) fn old(&self) -> Option<&Execution> {
        self.others.first().copied()
    }

    /// The ids of what runs at other versions.
    pub(super) fn old_ids(&self) -> Vec<ExecutionId> {
        self.others.iter().map(|execution| execution.id).collect()
    }
}
