//! Keeping the indexes in step with the tables after each fact, and making them again from nothing.

use super::{
    Execution, Indexes, Job, RolloutState, State, Tally, Task, TaskEnd, TaskKey, VersionKey, Wanted,
};
use pliant_types::{HostId, Incarnation, JobUid, Phase, Time, Version as VersionNumber};

impl State {
    /// Brings the indexes of one task up to date; called after every change of it, of its
    /// executions or of its job.
    pub(crate) fn touch_task(&mut self, key: TaskKey) {
        let now =
            self.tasks.get(&key).map(|task| (self.tally_of(task), self.needs_attention(task)));
        self.index.count(key, now.map(|(tally, _)| tally));
        if now.is_some_and(|(_, attention)| attention) {
            self.index.attention.insert_mut(key);
        } else {
            self.index.attention.remove_mut(&key);
        }
        self.touch_open(key.job);
        self.touch_rollout(key.job, key.incarnation);
    }

    fn tally_of(&self, task: &Task) -> Tally {
        let mut tally = Tally {
            wanted: u32::from(task.wanted),
            completed: u32::from(task.end == Some(TaskEnd::Completed)),
            failed: u32::from(matches!(task.end, Some(TaskEnd::Failed(_)))),
            started: u32::from(task.started && task.wanted),
            ..Tally::default()
        };
        for execution in self.executions_of(task).filter(|e| e.is_live()) {
            tally.live += 1;
            tally.up |= u32::from(execution.phase == Phase::Running);
            let healthy = task.wanted && execution.is_wanted() && execution.healthy_since.is_some();
            tally.healthy |= u32::from(healthy);
        }
        tally
    }

    /// Brings the list of jobs that need the planner as a whole up to date.
    pub(crate) fn touch_open(&mut self, uid: JobUid) {
        if self.jobs.get(&uid).is_some_and(|job| self.is_open(job)) {
            self.index.open_jobs.insert_mut(uid);
        } else {
            self.index.open_jobs.remove_mut(&uid);
        }
    }

    /// Notes when the planner must look at the rollout of a run: always while it moves, only at the
    /// end of its wait while it is verified and nothing dips.
    pub(crate) fn touch_rollout(&mut self, job: JobUid, incarnation: Incarnation) {
        let at = self.rollout_due(job, incarnation);
        self.index.set_rollout((job, incarnation), at);
    }

    fn rollout_due(&self, job: JobUid, incarnation: Incarnation) -> Option<Time> {
        let rollout = self.active_rollout(job, incarnation)?;
        let tally = self.index.tally(job, incarnation);
        let quiet = rollout.progress.state == RolloutState::Verifying
            && tally.healthy == tally.wanted
            && self.index.run_at_rest(job, incarnation);
        Some(rollout.progress.until.filter(|_| quiet).unwrap_or_default())
    }

    fn is_open(&self, job: &Job) -> bool {
        if job.wanted == Wanted::Deleted {
            return self.index.job_live(job.uid) == 0;
        }
        let mut active = self.active_runs(job.uid).map(|(number, _)| number).peekable();
        let runs = job.wanted == Wanted::Running
            && (job.queued.is_some()
                || job.kind.follows_hosts() && active.peek().is_some()
                || job.kind.ends() && active.any(|number| self.may_end(job, number)));
        runs || self.has_surplus_run(job)
    }

    /// Whether history keeps more runs than it should and the oldest of them could go.
    pub(crate) fn has_surplus_run(&self, job: &Job) -> bool {
        job.incarnation.get() as usize > crate::limits::KEPT_INCARNATIONS
            && self.surplus_runs(job.uid).next().is_some()
    }

    /// Runs beyond the kept ones that hold nothing, oldest first.
    pub(crate) fn surplus_runs(&self, job: JobUid) -> impl Iterator<Item = Incarnation> {
        let surplus =
            self.runs_of(job).count().saturating_sub(crate::limits::KEPT_INCARNATIONS + 1);
        self.runs_of(job).take(surplus).filter_map(move |(number, run)| {
            let live = self.index.tally(job, number).live;
            (live == 0 && !run.is_active()).then_some(number)
        })
    }

    /// Whether a run of a batch or ops job is over, or has a deadline until its first start.
    fn may_end(&self, job: &Job, incarnation: Incarnation) -> bool {
        let tally = self.index.tally(job.uid, incarnation);
        let over = tally.failed > 0 || tally.completed >= tally.wanted;
        over || self
            .target_version(job, incarnation)
            .is_some_and(|version| version.effective.queue_timeout() != pliant_types::Millis::ZERO)
    }

    /// Brings the indexes of every task of a job up to date.
    pub(crate) fn touch_job(&mut self, uid: JobUid) {
        let keys: alloc::vec::Vec<_> = self.all_tasks_of(uid).map(|t| t.key).collect();
        for key in keys {
            self.touch_task(key);
        }
        self.touch_open(uid);
        let runs: alloc::vec::Vec<_> = self.runs_of(uid).map(|(number, _)| number).collect();
        runs.into_iter().for_each(|run| self.touch_rollout(uid, run));
    }

    /// Brings the list of fenced hosts up to date.
    pub(crate) fn touch_host(&mut self, id: HostId) {
        let fence = self.hosts.get(&id).map(|host| host.fence);
        let stale = self.live_on(id).next().is_some_and(|oldest| Some(oldest.fence) != fence);
        if stale {
            self.index.fenced.insert_mut(id);
        } else {
            self.index.fenced.remove_mut(&id);
        }
    }

    /// Whether a job still wants this task's execution to run.
    #[must_use]
    pub fn task_wanted(&self, task: &Task) -> bool {
        task.wanted
            && self
                .jobs
                .get(&task.key.job)
                .is_some_and(|job| self.run_wanted(job, task.key.incarnation))
    }

    /// Whether the planner must look at a task whatever becomes of its run's rollout.
    fn needs_attention(&self, task: &Task) -> bool {
        if self.executions_of(task).any(|e| !e.is_live() && !e.judged) {
            return true;
        }
        let mut live = self.executions_of(task).filter(|e| e.is_live()).peekable();
        let wanted = self.task_wanted(task);
        if live.peek().is_none() {
            return !task.wanted || (wanted && task.end.is_none());
        }
        let asked: alloc::vec::Vec<_> = live.filter(|e| e.is_wanted()).collect();
        if !wanted {
            return !asked.is_empty();
        }
        let surplus =
            asked.len() > 1 && self.active_rollout(task.key.job, task.key.incarnation).is_none();
        surplus
            || asked.iter().any(|e| {
                self.must_revert(e)
                    || self.relabel_of(task.key, e).is_some()
                    || self.holds_too_much(e)
            })
    }

    /// The version of equal template that an execution counts as from now on; an exclusive one only
    /// when nothing is left beside it.
    pub(crate) fn relabel_of(&self, task: TaskKey, execution: &Execution) -> Option<VersionNumber> {
        let job = self.jobs.get(&task.job)?;
        let target = self.target_version(job, task.incarnation)?;
        let number = target.record.number;
        let own = VersionKey { job: task.job, version: execution.version };
        let alone = || {
            let task = self.tasks.get(&task);
            task.is_none_or(|t| self.executions_of(t).filter(|e| e.is_live()).count() < 2)
        };
        if target.effective.exclusive() && !alone() {
            return None;
        }
        let equal = number != execution.version
            && self.versions.get(&own)?.record.template_hash == target.record.template_hash;
        equal.then_some(number)
    }

    /// Whether a change in place was refused and must be taken back.
    pub(crate) fn must_revert(&self, execution: &Execution) -> bool {
        let refused = execution.refused == Some(execution.version);
        refused && execution.obeys.is_some_and(|obeyed| obeyed != execution.version)
    }

    /// Whether an execution was made smaller, its host has obeyed, and the rest can be released.
    pub(crate) fn holds_too_much(&self, execution: &Execution) -> bool {
        let key = VersionKey { job: execution.task.job, version: execution.version };
        execution.changed_at.is_some()
            && execution.obeys == Some(execution.version)
            && self.versions.get(&key).is_some_and(|version| {
                version.effective.cpu() < execution.cpu
                    || version.effective.memory() < execution.memory
            })
    }

    /// Makes every index again from the tables, after a snapshot was read.
    pub(crate) fn rebuild_index(&mut self) {
        self.index = Indexes::default();
        let jobs: alloc::vec::Vec<_> = self.jobs.iter().map(|(_, job)| job.clone()).collect();
        for job in jobs.iter().filter(|job| job.wanted != Wanted::Deleted) {
            self.index.set_name(job);
        }
        let live: alloc::vec::Vec<_> =
            self.executions.iter().filter(|(_, e)| e.is_live()).map(|(_, e)| e.clone()).collect();
        live.iter().for_each(|execution| self.index.charge(execution));
        let keys: alloc::vec::Vec<_> = self.tasks.iter().map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.touch_task(key));
        jobs.iter().for_each(|job| self.touch_open(job.uid));
        let runs: alloc::vec::Vec<_> = self.incarnations.iter().map(|(key, _)| *key).collect();
        runs.iter().for_each(|run| self.touch_rollout(run.job, run.incarnation));
        let requests: alloc::vec::Vec<_> =
            self.requests.iter().map(|(key, kept)| (kept.at, key.clone())).collect();
        requests.into_iter().for_each(|(at, key)| self.index.add_request(at, key));
        let hosts: alloc::vec::Vec<_> =
            self.hosts.iter().map(|(id, host)| (*id, host.description.name.clone())).collect();
        for (id, name) in hosts {
            self.index.set_host_name(name, id);
            self.touch_host(id);
        }
    }

    /// Whether the indexes are what the tables say.
    pub(crate) fn index_is_exact(&self) -> bool {
        let mut again = self.clone();
        again.rebuild_index();
        let (kept, made) = (&self.index, &again.index);
        kept.names == made.names
            && kept.host_names == made.host_names
            && kept.by_host == made.by_host
            && kept.job_hosts == made.job_hosts
            && kept.job_live == made.job_live
            && kept.tally == made.tally
            && kept.counted == made.counted
            && kept.attention == made.attention
            && kept.fenced == made.fenced
            && kept.open_jobs == made.open_jobs
            && kept.request_times == made.request_times
            && kept.rollout_at == made.rollout_at
            && kept.rollouts == made.rollouts
            && self.hosts.iter().all(|(id, _)| kept.load(*id) == made.load(*id))
    }
}
