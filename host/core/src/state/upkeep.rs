//! Keeping the indexes in step with the tables after each fact, and making them again from nothing.

use super::{Execution, Indexes, Job, State, Tally, Task, TaskEnd, TaskKey, VersionKey, Wanted};
use pliant_types::{HostId, Incarnation, JobUid, Phase, Time};

impl State {
    /// Brings the indexes of one task up to date; called after every change of it, of its live
    /// execution or of its job.
    pub(crate) fn touch_task(&mut self, key: TaskKey) {
        let Some(task) = self.tasks.get(&key) else {
            self.index.count(key, None);
            self.index.set_since(key, None);
            self.index.attention.remove_mut(&key);
            self.touch_open(key.job);
            return;
        };
        let live = self.live_execution(task);
        let now = Tally {
            wanted: u32::from(task.wanted),
            live: u32::from(live.is_some()),
            up: u32::from(live.is_some_and(|e| e.phase == Phase::Running)),
            completed: u32::from(task.end == Some(TaskEnd::Completed)),
            failed: u32::from(matches!(task.end, Some(TaskEnd::Failed(_)))),
            healthy: u32::from(task.wanted && live.is_some_and(|e| e.healthy_since.is_some())),
        };
        let since = live.and_then(|e| e.healthy_since).filter(|_| task.wanted);
        let attention = self.needs_attention(task, live);
        self.index.count(key, Some(now));
        self.index.set_since(key, since);
        if attention {
            self.index.attention.insert_mut(key);
        } else {
            self.index.attention.remove_mut(&key);
        }
        self.touch_open(key.job);
    }

    /// Brings the list of jobs that need the planner as a whole up to date.
    pub(crate) fn touch_open(&mut self, uid: JobUid) {
        let (open, proof) = match self.jobs.get(&uid) {
            Some(job) => (self.is_open(job), self.proof_of(job)),
            None => (false, None),
        };
        self.index.set_proof(uid, proof);
        if open {
            self.index.open_jobs.insert_mut(uid);
        } else {
            self.index.open_jobs.remove_mut(&uid);
        }
    }

    /// When the current version of a service or daemon will have proven itself, if nothing dips:
    /// every task runs it and has been healthy for `minHealthyTime` (03-jobs.md, section 6).
    fn proof_of(&self, job: &Job) -> Option<Time> {
        if job.kind.ends() || job.wanted != Wanted::Running {
            return None;
        }
        let tally = self.index.tally(job.uid, job.incarnation);
        let whole = tally.wanted > 0 && tally.healthy == tally.wanted;
        if !whole || !self.index.run_at_rest(job.uid, job.incarnation) {
            return None;
        }
        let key = VersionKey { job: job.uid, version: job.current };
        if self.marks.get(&key).is_some_and(|marks| marks.proven_at.is_some()) {
            return None;
        }
        let last = self.index.last_healthy(job.uid, job.incarnation)?;
        Some(last.after(self.versions.get(&key)?.effective.min_healthy_time()))
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

    fn needs_attention(&self, task: &Task, live: Option<&Execution>) -> bool {
        let wanted = self.task_wanted(task);
        match live {
            Some(execution) if !execution.is_wanted() => false,
            Some(execution) => {
                let job = self.jobs.get(&task.key.job);
                let target = job.map(|job| self.target_number(job, task.key.incarnation));
                !wanted || target != Some(execution.version)
            }
            None => {
                let unjudged = task.executions.last().copied() != task.judged;
                unjudged || !task.wanted || (wanted && task.end.is_none())
            }
        }
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
            && kept.healthy_since == made.healthy_since
            && kept.since == made.since
            && kept.prove_at == made.prove_at
            && kept.proofs == made.proofs
            && self.hosts.iter().all(|(id, _)| kept.load(*id) == made.load(*id))
    }
}
