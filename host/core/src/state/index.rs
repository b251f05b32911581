//! What follows from the tables and would be slow to search for: names, loads, what needs the planner.
//!
//! Never hashed and never written: `rebuild` makes all of it again, and `check` compares.

use super::{Execution, IncarnationKey, Job, RequestKey, State, Task, TaskEnd, TaskKey, Wanted};
use alloc::collections::BTreeSet;
use core::ops::Bound;
use pliant_types::{
    Cpu, ExecutionId, HostId, HostName, Incarnation, JobName, JobUid, Memory, Namespace, Phase,
    Time,
};
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

/// What a host's live executions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLoad {
    /// Sum of CPU.
    pub cpu: Cpu,
    /// Sum of memory.
    pub memory: Memory,
    /// Number of executions.
    pub executions: u32,
    /// Static ports.
    pub ports: BTreeSet<u16>,
}

/// Counts of a run's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks that the job still has.
    pub wanted: u32,
    /// Tasks with a live execution.
    pub live: u32,
    /// Tasks whose execution is in phase running and asked to run.
    pub up: u32,
    /// Tasks that ended with success.
    pub completed: u32,
    /// Tasks that ended without.
    pub failed: u32,
}

type Map<K, V> = RedBlackTreeMapSync<K, V>;
type Set<K> = RedBlackTreeSetSync<K>;

/// All indexes; cloning shares everything.
#[derive(Clone, Debug, Default)]
pub struct Indexes {
    names: Map<(Namespace, JobName), JobUid>,
    host_names: Map<HostName, HostId>,
    by_host: Set<(HostId, ExecutionId)>,
    load: Map<HostId, HostLoad>,
    job_hosts: Map<(JobUid, HostId), u32>,
    job_live: Map<JobUid, u32>,
    tally: Map<(JobUid, Incarnation), Tally>,
    counted: Map<TaskKey, Tally>,
    attention: Set<TaskKey>,
    fenced: Set<HostId>,
    open_jobs: Set<JobUid>,
    request_times: Set<(Time, RequestKey)>,
}

impl Indexes {
    /// The job of a name; a deleted job has none.
    #[must_use]
    pub fn job(&self, namespace: &Namespace, name: &JobName) -> Option<JobUid> {
        self.names.get(&(namespace.clone(), name.clone())).copied()
    }
    /// The host of a name.
    #[must_use]
    pub fn host(&self, name: &HostName) -> Option<HostId> {
        self.host_names.get(name).copied()
    }
    /// Live executions on a host, oldest first.
    pub fn live_on(&self, host: HostId) -> impl Iterator<Item = ExecutionId> {
        let from = (host, ExecutionId::new(0));
        let to = (host, ExecutionId::new(u64::MAX));
        self.by_host.range((Bound::Included(from), Bound::Included(to))).map(|(_, id)| *id)
    }
    /// What a host's executions hold.
    #[must_use]
    pub fn load(&self, host: HostId) -> HostLoad {
        self.load.get(&host).cloned().unwrap_or_default()
    }
    /// Live executions of a job on a host.
    #[must_use]
    pub fn job_on_host(&self, job: JobUid, host: HostId) -> u32 {
        self.job_hosts.get(&(job, host)).copied().unwrap_or(0)
    }
    /// Hosts with live executions of a job, with their number.
    pub fn hosts_of(&self, job: JobUid) -> impl Iterator<Item = (HostId, u32)> {
        let from = (job, HostId::new(0));
        let to = (job, HostId::new(u64::MAX));
        self.job_hosts
            .range((Bound::Included(from), Bound::Included(to)))
            .map(|((_, host), count)| (*host, *count))
    }
    /// Live executions of all runs of a job.
    #[must_use]
    pub fn job_live(&self, job: JobUid) -> u32 {
        self.job_live.get(&job).copied().unwrap_or(0)
    }
    /// Counts of a run's tasks.
    #[must_use]
    pub fn tally(&self, job: JobUid, incarnation: Incarnation) -> Tally {
        self.tally.get(&(job, incarnation)).copied().unwrap_or_default()
    }
    /// Tasks that the planner must look at, in order.
    pub fn attention(&self) -> impl Iterator<Item = TaskKey> {
        self.attention.iter().copied()
    }
    /// Hosts with live executions of an older fence.
    pub fn fenced(&self) -> impl Iterator<Item = HostId> {
        self.fenced.iter().copied()
    }

    /// Jobs that the planner must look at as a whole, in order.
    pub fn open_jobs(&self) -> impl Iterator<Item = JobUid> {
        self.open_jobs.iter().copied()
    }
    /// Remembered requests, oldest first.
    pub fn requests(&self) -> impl Iterator<Item = &(Time, RequestKey)> {
        self.request_times.iter()
    }

    pub(crate) fn add_request(&mut self, at: Time, key: RequestKey) {
        self.request_times.insert_mut((at, key));
    }
    pub(crate) fn remove_request(&mut self, at: Time, key: RequestKey) {
        self.request_times.remove_mut(&(at, key));
    }
    pub(crate) fn set_name(&mut self, job: &Job) {
        self.names.insert_mut((job.namespace.clone(), job.name.clone()), job.uid);
    }
    pub(crate) fn free_name(&mut self, job: &Job) {
        let key = (job.namespace.clone(), job.name.clone());
        if self.names.get(&key) == Some(&job.uid) {
            self.names.remove_mut(&key);
        }
    }
    pub(crate) fn set_host_name(&mut self, name: HostName, host: HostId) {
        self.host_names.insert_mut(name, host);
    }
    pub(crate) fn free_host_name(&mut self, name: &HostName) {
        self.host_names.remove_mut(name);
    }

    /// Charges a new live execution.
    pub(crate) fn charge(&mut self, execution: &Execution) {
        let host = execution.host;
        self.by_host.insert_mut((host, execution.id));
        let mut load = self.load(host);
        load.cpu = Cpu::from_millis(load.cpu.millis() + execution.cpu.millis());
        load.memory = Memory::from_bytes(load.memory.bytes() + execution.memory.bytes());
        load.executions += 1;
        load.ports.extend(execution.static_ports.iter().copied());
        self.load.insert_mut(host, load);
        let job = execution.task.job;
        add(&mut self.job_hosts, (job, host));
        add(&mut self.job_live, job);
    }

    /// Releases an execution that has just become final.
    pub(crate) fn release(&mut self, execution: &Execution) {
        let host = execution.host;
        self.by_host.remove_mut(&(host, execution.id));
        let mut load = self.load(host);
        load.cpu = Cpu::from_millis(load.cpu.millis() - execution.cpu.millis());
        load.memory = Memory::from_bytes(load.memory.bytes() - execution.memory.bytes());
        load.executions -= 1;
        for port in &execution.static_ports {
            load.ports.remove(port);
        }
        self.load.insert_mut(host, load);
        let job = execution.task.job;
        subtract(&mut self.job_hosts, (job, host));
        subtract(&mut self.job_live, job);
    }

    fn count(&mut self, key: TaskKey, now: Option<Tally>) {
        let run = (key.job, key.incarnation);
        let before = self.counted.get(&key).copied().unwrap_or_default();
        let mut tally = self.tally(key.job, key.incarnation);
        let after = now.unwrap_or_default();
        tally.wanted = tally.wanted - before.wanted + after.wanted;
        tally.live = tally.live - before.live + after.live;
        tally.up = tally.up - before.up + after.up;
        tally.completed = tally.completed - before.completed + after.completed;
        tally.failed = tally.failed - before.failed + after.failed;
        if tally == Tally::default() {
            self.tally.remove_mut(&run);
        } else {
            self.tally.insert_mut(run, tally);
        }
        match now {
            Some(now) => self.counted.insert_mut(key, now),
            None => {
                self.counted.remove_mut(&key);
            }
        }
    }
}

fn add<K: Ord + Clone>(map: &mut Map<K, u32>, key: K) {
    let count = map.get(&key).copied().unwrap_or(0);
    map.insert_mut(key, count + 1);
}

fn subtract<K: Ord + Clone>(map: &mut Map<K, u32>, key: K) {
    match map.get(&key).copied().unwrap_or(0) {
        0 | 1 => {
            map.remove_mut(&key);
        }
        count => map.insert_mut(key, count - 1),
    }
}

impl State {
    /// Brings the indexes of one task up to date; called after every change of it, of its live
    /// execution or of its job.
    pub(crate) fn touch_task(&mut self, key: TaskKey) {
        let Some(task) = self.tasks.get(&key) else {
            self.index.count(key, None);
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
        };
        let attention = self.needs_attention(task, live);
        self.index.count(key, Some(now));
        if attention {
            self.index.attention.insert_mut(key);
        } else {
            self.index.attention.remove_mut(&key);
        }
        self.touch_open(key.job);
    }

    /// Brings the list of jobs that need the planner as a whole up to date.
    pub(crate) fn touch_open(&mut self, uid: JobUid) {
        if self.jobs.get(&uid).is_some_and(|job| self.is_open(job)) {
            self.index.open_jobs.insert_mut(uid);
        } else {
            self.index.open_jobs.remove_mut(&uid);
        }
    }

    fn is_open(&self, job: &Job) -> bool {
        if job.wanted == Wanted::Deleted {
            return self.index.job_live(job.uid) == 0;
        }
        let kept = u32::try_from(crate::limits::KEPT_INCARNATIONS).unwrap_or(u32::MAX);
        let surplus = job.incarnation.get().checked_sub(kept + 1).map(Incarnation::new);
        let has_surplus = surplus.is_some_and(|incarnation| {
            self.incarnations.contains(&IncarnationKey { job: job.uid, incarnation })
        });
        let runs = job.wanted == Wanted::Running && job.ended.is_none();
        has_surplus || runs && (job.kind.follows_hosts() || job.kind.ends() && self.may_end(job))
    }

    /// Whether the run of a batch or ops job is over, or has a deadline until its first start.
    fn may_end(&self, job: &Job) -> bool {
        let tally = self.index.tally(job.uid, job.incarnation);
        let over = tally.failed > 0 || tally.completed >= tally.wanted;
        over || self
            .current_version(job)
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
        self.jobs.get(&task.key.job).is_some_and(|job| {
            job.wanted == Wanted::Running
                && job.ended.is_none()
                && job.incarnation == task.key.incarnation
                && task.wanted
        })
    }

    fn needs_attention(&self, task: &Task, live: Option<&Execution>) -> bool {
        let wanted = self.task_wanted(task);
        match live {
            Some(execution) if !execution.is_wanted() => false,
            Some(execution) => {
                let current = self.jobs.get(&task.key.job).map(|job| job.current);
                !wanted || current != Some(execution.version)
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
            && self.hosts.iter().all(|(id, _)| kept.load(*id) == made.load(*id))
    }
}
